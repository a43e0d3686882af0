//! The audit log: who made each change, when, from where and why, and what changed.
//!
//! - `row`: one change
//! - `diff`: the differences between before and after (pure)
//! - `export`: everything that the filters find, as a file

mod diff;
mod export;
mod row;

use std::time::Duration;

use leptos::prelude::*;

use self::export::{Format, export};
use super::{
    cursors,
    filters::{Filters, use_filters},
    place,
};
use crate::{
    api::{self, AuditQuery},
    components::{AsyncView, Look, RowName, Table, button, live, pager},
    data::use_listing,
    model::{AuditEvent, Place},
    route::Route,
    state::{List, Range, use_every, use_notices, use_range, use_title},
};

const SIZE: usize = 50;
/// How often the audit log is polled, because there is no subscription for it.
const LOOK: Duration = Duration::from_secs(10);

const NAMES: [&str; 5] = ["kind", "action", "actor", "subject", "id"];

/// The action prefixes to filter by, with their labels.
const KINDS: [(&str, &str); 20] = [
    ("", "Everything"),
    ("schedule", "Schedules"),
    ("buffer", "Buffers"),
    ("run", "Runs"),
    ("backfill", "Backfills"),
    ("workflow", "Workflows"),
    ("calendar", "Calendars"),
    ("group", "Groups"),
    ("module", "Modules"),
    ("alert", "Alerts"),
    ("alert_rule", "Alert rules"),
    ("alert_channel", "Alert channels"),
    ("notification", "Notifications"),
    ("secret", "Secrets"),
    ("user", "People"),
    ("membership", "Roles"),
    ("token", "Tokens"),
    ("session", "Sessions"),
    ("namespace", "Namespaces"),
    ("feed", "Calendar feeds"),
];

/// The page of the audit log.
#[component]
pub(crate) fn Audit() -> impl IntoView {
    use_title(|| "Audit".to_owned());
    let filters = use_filters(Route::Audit, &NAMES);
    let range = use_range(&Route::Audit);
    let notices = use_notices();
    let query = move || query(filters, range);
    let events = use_listing(SIZE, move || api::audit_events(query(), SIZE));
    let loading = events.load.loading;
    use_every(LOOK, move || loading.refresh());
    let save = move |format| move || export(untrack(query), format, notices);
    let go = move |place: Place| {
        let [after, before] = cursors(&place);
        filters.address().go(&untrack(|| filters.href(&[after, before])));
    };
    let total = move || events.load.with(|page| page.total).flatten().map(count_words);
    view! {
        <header class="page-head">
            <h1>"Audit"</h1>
            <p class="muted" role="status" data-testid="audit-count">{move || total()}</p>
            <div class="actions">
                {button(Look::Plain, None, "Export CSV", save(Format::Csv))}
                {button(Look::Plain, None, "Export JSON", save(Format::Json))}
            </div>
        </header>
        <search class="filter-line" aria-label="Filters of the audit log">
            {kinds(filters)}
            {field(filters, "action", "Action", "schedule.pause")}
            {field(filters, "actor", "Actor", "ada")}
            {field(filters, "subject", "Subject", "nightly-report")}
            {live(move || if filters.is_narrowed() {
                view! { <a class="button button-quiet" href=filters.cleared()>"Clear filters"</a> }.into_any()
            } else {
                ().into_any()
            })}
        </search>
        <AsyncView
            loading=loading
            what="the audit log"
            is_empty=Signal::derive(move || events.list.is_empty())
            empty=move || view! {
                <p class="empty-title">"No change here"</p>
                <p>{if filters.is_narrowed() {
                    "No change fits the filters."
                } else if range.is_usual() {
                    "Every change to schedules, runs and people is recorded here."
                } else {
                    "Nothing was changed in this range of time."
                }}</p>
            }
        >
            {changes(events.list, filters)}
            {pager(events.beside(), "changes", go)}
        </AsyncView>
    }
}

fn changes(list: List, filters: Filters) -> AnyView {
    let name = |event: &AuditEvent| RowName {
        name: format!("{} of {}", event.action, event.subject),
        test: "audit-row",
        state: "",
    };
    let columns = row::columns(filters, untrack(|| filters.address().is_across()));
    Table::new("Changes", list, columns, name).view()
}

/// The query for the address; tracked.
fn query(filters: Filters, range: Range) -> AuditQuery {
    let (after, before) = range.bounds();
    AuditQuery {
        namespace: filters.address().namespace(),
        kind: filters.some("kind"),
        action: filters.some("action"),
        actor: filters.some("actor"),
        subject: filters.some("subject"),
        subject_id: filters.some("id"),
        after,
        before,
        place: place(filters.address()),
    }
}

fn kinds(filters: Filters) -> AnyView {
    let kind = move |(name, words): (&'static str, &'static str)| {
        view! { <option value=name prop:selected=move || filters.get("kind") == name>{words}</option> }
            .into_any()
    };
    view! {
        <select aria-label="Kind" on:change:target=move |event| filters.set(&[("kind", &event.target().value())])>
            {Vec::from(KINDS.map(kind))}
        </select>
    }
    .into_any()
}

/// A filter field. The filter applies once the user has finished typing.
fn field(
    filters: Filters,
    name: &'static str,
    label: &'static str,
    example: &'static str,
) -> AnyView {
    view! {
        <input
            type="search"
            class="filter-field"
            aria-label=label
            placeholder=format!("{label}: {example}")
            autocapitalize="off"
            spellcheck="false"
            prop:value=move || filters.get(name)
            on:change:target=move |event| filters.set(&[(name, event.target().value().trim())])
        />
    }
    .into_any()
}

/// The number of entries, in words. The server stops counting at ten thousand.
fn count_words(total: i64) -> String {
    match total {
        1 => "1 change".to_owned(),
        10_000 => "10000 changes or more".to_owned(),
        total => format!("{total} changes"),
    }
}

//! The audit log: who made each change, when, from where and why, and what changed.
//!
//! - `query`: what narrows the log
//! - `row`: one change
//! - `diff`: the differences between before and after (pure)
//! - `export`: everything that the filters find, as a file

mod diff;
mod export;
mod query;
mod row;

use std::time::Duration;

use leptos::prelude::*;

use self::export::{Format, export};
use super::{
    cursors,
    filters::{Filters, use_filters},
    narrowing::use_narrowing,
};
use crate::{
    api,
    components::{AsyncView, Look, RowName, Table, button, live, pager},
    data::use_listing,
    model::{AuditEvent, Place},
    route::Route,
    state::{List, use_every, use_notices, use_range, use_title},
};

const SIZE: usize = 50;
/// How often the audit log is polled, because there is no subscription for it.
const LOOK: Duration = Duration::from_secs(10);

/// The page of the audit log.
#[component]
pub(crate) fn Audit() -> impl IntoView {
    use_title(|| "Audit".to_owned());
    let filters = use_filters(Route::Audit, &query::NAMES);
    let range = use_range(&Route::Audit);
    let notices = use_notices();
    let narrowing = use_narrowing(move || query::text(filters), query::read);
    let wanted = move || narrowing.get().rows(filters, range);
    let events = use_listing(SIZE, move || api::audit_events(wanted(), SIZE));
    let loading = events.load.loading;
    use_every(LOOK, move || loading.refresh());
    // A query with a mistake finds nothing: a file of what another one finds would look like its answer.
    let save = move |format| {
        move || match untrack(|| narrowing.mistake()) {
            Some(mistake) => notices.failed(&mistake),
            None => export(untrack(wanted), format, notices),
        }
    };
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
                {live(move || if filters.is_narrowed() {
                    view! { <a class="button button-quiet" href=filters.cleared()>"Clear filters"</a> }.into_any()
                } else {
                    ().into_any()
                })}
                {button(Look::Plain, None, "Export CSV", save(Format::Csv))}
                {button(Look::Plain, None, "Export JSON", save(Format::Json))}
            </div>
        </header>
        {query::bar(events, filters, narrowing)}
        <AsyncView
            loading=narrowing.waiting(loading)
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

/// The server stops counting at ten thousand.
fn count_words(total: i64) -> String {
    match total {
        1 => "1 change".to_owned(),
        10_000 => "10000 changes or more".to_owned(),
        total => format!("{total} changes"),
    }
}

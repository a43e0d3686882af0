//! The ledger of all schedules: every expected fire with its outcome and the reason.
//!
//! - `totals`: the totals of the range
//! - `row`: one instant, or many that share one row
//! - `backfill`: backfills of lost fires

mod backfill;
mod row;
mod totals;

use std::time::Duration;

use leptos::prelude::*;

use self::backfill::{Backfilling, orders};
use super::{
    cursors,
    filters::{Filters, use_filters},
    place,
};
use crate::{
    api::{self, LedgerQuery, ScheduleQuery},
    components::{AsyncView, Look, Mark, RowName, SearchLine, Table, button, live, pager},
    data::{Feed, use_actor, use_feed, use_listing, use_load},
    model::{LedgerRow, Place, ReasonCode, Verdict},
    route::Route,
    state::{
        List, Range, Session, Throttle, use_address, use_every, use_range, use_session, use_title,
    },
};

const SIZE: usize = 50;
/// How often the ledger is polled, because fires without a run cause no events.
const LOOK: Duration = Duration::from_secs(10);
/// How often the totals are counted again while runs start and end.
const SLOW_MS: i64 = 5_000;
const NAMES: [&str; 3] = ["verdict", "reason", "q"];

/// The verdicts by their names in the address: groups first, named as in the totals.
const VERDICTS: [(&str, &str, &[Verdict]); 8] = [
    ("", "All verdicts", &[]),
    ("ran", "Ran", &[Verdict::Started]),
    ("skipped", "Skipped", &[Verdict::Skipped]),
    ("missed", "Lost", &[Verdict::Missed, Verdict::Collapsed, Verdict::Abandoned]),
    ("open", "Open", &[Verdict::Pending]),
    ("started", "Started", &[Verdict::Started]),
    ("collapsed", "Collapsed", &[Verdict::Collapsed]),
    ("abandoned", "Abandoned", &[Verdict::Abandoned]),
];

/// The page of the ledger.
#[component]
pub(crate) fn Ledger() -> impl IntoView {
    use_title(|| "Ledger".to_owned());
    let filters = use_filters(Route::Ledger, &NAMES);
    let range = use_range(&Route::Ledger);
    let session = use_session();
    let fires = use_listing(SIZE, move || api::ledger(query(filters, range), SIZE));
    let sums = use_load(move || Some(api::ledger_totals(all_of(filters, range))));
    let paused = use_load(move || Some(api::schedule_count(paused(filters))));
    let (loading, totals) = (fires.load.loading, sums.loading);
    // Counting costs the server more than reading a page, so it is throttled.
    let slow = Throttle::new(SLOW_MS);
    let refresh = move || {
        loading.refresh();
        slow.run(move || totals.refresh());
    };
    let address = filters.address();
    use_feed(move || Feed::runs(address.namespace(), None, None), move |_| refresh(), refresh);
    use_every(LOOK, refresh);
    let backfilling = Backfilling::new(use_actor(), loading);
    let go = move |place: Place| {
        let [after, before] = cursors(&place);
        filters.address().go(&untrack(|| filters.href(&[after, before])));
    };
    let lost = move || {
        let may = |row: &&LedgerRow| session.operates_in(&row.more.namespace);
        fires.load.with(|page| orders(page.rows.iter().map(AsRef::as_ref).filter(may)))
    };
    let backfill_all = move || {
        let orders = lost().unwrap_or_default();
        if orders.is_empty() {
            return ().into_any();
        }
        button(Look::Plain, None, "Backfill these", move || backfilling.ask(orders.clone()))
    };
    view! {
        <header class="page-head">
            <h1>"Ledger"</h1>
            <div class="actions">{live(backfill_all)}</div>
        </header>
        {sums.draw(move |sums| totals::totals(sums, filters))}
        {paused.draw(|count| paused_note(*count))}
        <search class="filter-line">
            <SearchLine
                label="Search schedules of the ledger"
                placeholder="tag:billing -zone:UTC"
                value=Signal::derive(move || filters.get("q"))
                loading=loading
                search=Callback::new(move |text: String| filters.set(&[("q", &text)]))
            />
            {verdicts(filters)}
            {reasons(filters)}
            {live(move || if filters.is_narrowed() {
                view! { <a class="button button-quiet" href=filters.cleared()>"Clear filters"</a> }.into_any()
            } else {
                ().into_any()
            })}
        </search>
        <AsyncView
            loading=loading
            what="the ledger"
            is_empty=Signal::derive(move || fires.list.is_empty())
            empty=move || view! {
                <p class="empty-title">"No fire here"</p>
                <p>{if filters.is_narrowed() {
                    "No expected fire fits the filters."
                } else if range.is_usual() {
                    "A row appears for every instant at which a schedule is due."
                } else {
                    "No schedule was due in this range of time."
                }}</p>
            }
        >
            {table(fires.list, session, backfilling)}
            {pager(fires.beside(), "fires", go)}
        </AsyncView>
        {backfilling.dialog()}
    }
}

/// A query for the paused schedules among those that the page shows. Fires that fall into a pause
/// have no rows before the pause ends.
fn paused(filters: Filters) -> ScheduleQuery {
    let search = filters.some("q").map(|search| format!("{search} "));
    ScheduleQuery {
        namespace: filters.address().namespace(),
        search: Some(format!("{}state:paused", search.unwrap_or_default())),
        favourites: false,
        sort: None,
        place: Place::First,
    }
}

fn paused_note(count: i64) -> AnyView {
    let words = match count {
        0 => return ().into_any(),
        1 => "1 schedule is paused".to_owned(),
        _ => format!("{count} schedules are paused"),
    };
    let href = Route::Schedules.narrowed(&[("q", "state:paused")]);
    view! {
        <p class="panel-note" data-testid="paused-note">
            <a href=href>{words}</a>": fires that fall into a pause get their rows when it ends; until then each schedule's page lists them."
        </p>
    }
    .into_any()
}

fn table(list: List, session: Session, backfilling: Backfilling) -> AnyView {
    let name = |row: &LedgerRow| RowName {
        name: row.more.schedule.as_ref().map(|schedule| schedule.name.clone()).unwrap_or_default(),
        test: "ledger-row",
        state: Mark::Verdict(row.row.verdict).state(),
    };
    let columns = row::columns(untrack(|| use_address().is_across()));
    Table::new("Ledger of all schedules", list, columns, name)
        .actions(move |row: &LedgerRow| {
            let may = session.operates_in(&row.more.namespace);
            row::actions(row, may.then_some(backfilling))
        })
        .view()
}

/// The query for the address; tracked.
fn query(filters: Filters, range: Range) -> LedgerQuery {
    let verdict = filters.get("verdict");
    let verdicts = VERDICTS.into_iter().find(|(name, ..)| *name == verdict);
    let reason = filters.get("reason");
    let reasons = ReasonCode::ALL.into_iter().filter(|(_, name, _)| *name == reason);
    LedgerQuery {
        verdicts: verdicts.map(|(.., verdicts)| verdicts.to_vec()).unwrap_or_default(),
        reasons: reasons.map(|(code, ..)| code).collect(),
        place: place(filters.address()),
        ..all_of(filters, range)
    }
}

/// The query for all verdicts, for the totals: they always add up, and link from one verdict to
/// another.
fn all_of(filters: Filters, range: Range) -> LedgerQuery {
    let (after, before) = range.bounds();
    LedgerQuery {
        namespace: filters.address().namespace(),
        search: filters.some("q"),
        after,
        before,
        ..LedgerQuery::default()
    }
}

fn verdicts(filters: Filters) -> AnyView {
    let option = move |(name, words, _): (&'static str, &'static str, _)| {
        view! { <option value=name prop:selected=move || filters.get("verdict") == name>{words}</option> }.into_any()
    };
    view! {
        <select aria-label="Verdict" on:change:target=move |event| filters.set(&[("verdict", &event.target().value()), ("reason", "")])>
            {Vec::from(VERDICTS.map(option))}
        </select>
    }
    .into_any()
}

fn reasons(filters: Filters) -> AnyView {
    let option = move |(name, words): (&'static str, &'static str)| {
        view! { <option value=name prop:selected=move || filters.get("reason") == name>{words}</option> }
            .into_any()
    };
    let known = ReasonCode::ALL.into_iter().map(|(_, name, words)| (name, words));
    let options: Vec<_> = std::iter::once(("", "All reasons")).chain(known).map(option).collect();
    view! {
        <select aria-label="Reason" on:change:target=move |event| filters.set(&[("reason", &event.target().value())])>{options}</select>
    }
    .into_any()
}

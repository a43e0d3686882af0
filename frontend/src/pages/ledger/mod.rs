//! The ledger of all schedules: every expected fire with its outcome and the reason.
//!
//! - `query`: what narrows the ledger
//! - `totals`: the totals of the range
//! - `row`: one instant, or many that share one row
//! - `backfill`: backfills of lost fires
//! - `linked`: the fire that a link names

pub(super) mod backfill;
mod linked;
mod query;
pub(super) mod row;
mod totals;

use std::time::Duration;

use leptos::prelude::*;

use self::backfill::{Backfilling, orders};
use super::{
    cursors, deferred,
    filters::{Filters, use_filters},
    kept,
    narrowing::use_narrowing,
    parts,
};
use crate::{
    api::{self, ScheduleQuery},
    components::{AsyncView, Look, Mark, RowName, Table, button, live, pager},
    data::{Feed, use_actor, use_feed, use_listing, use_load},
    model::{LedgerRow, Place},
    route::Route,
    state::{List, Session, Throttle, use_address, use_every, use_range, use_session, use_title},
};

/// The fires that figures and problems count as lost, in the search language of the ledger. Its own "lost" also has the
/// fires that a catch-up collapsed into one.
pub(super) const LOST_FIRES: &str = "verdict:missed,abandoned";
const SIZE: usize = 50;
/// How often the ledger is polled, because fires that wait for their due time or their hand-off cause no events.
const LOOK: Duration = Duration::from_secs(30);
/// How often the totals are counted again while runs start and end.
const SLOW_MS: i64 = 5_000;

/// The page of the ledger.
#[component]
pub(crate) fn Ledger() -> impl IntoView {
    use_title(|| "Ledger".to_owned());
    let filters = use_filters(Route::Ledger, &query::NAMES);
    let range = use_range(&Route::Ledger);
    let session = use_session();
    let narrowing = use_narrowing(move || query::text(filters), query::read);
    let narrowed = move || narrowing.get();
    let fires = use_listing(SIZE, move || api::ledger(narrowed().rows(filters, range), SIZE));
    let sums = use_load(move || Some(api::ledger_totals(narrowed().totals(filters, range))));
    let paused = use_load(move || Some(api::schedule_count(paused(filters))));
    let (loading, totals, pauses) = (fires.load.loading, sums.loading, paused.loading);
    // Counting costs the server more than reading a page, so it is throttled.
    let slow = Throttle::new(SLOW_MS);
    let refresh = move || {
        loading.refresh();
        slow.run(move || {
            totals.refresh();
            pauses.refresh();
        });
    };
    let address = filters.address();
    use_feed(move || Feed::fires(address.namespace()), move |_| refresh(), refresh);
    use_every(LOOK, refresh);
    let backfilling = Backfilling::new(use_actor(), loading);
    let (open, meant) = (RwSignal::new(false), RwSignal::new(None::<LedgerRow>));
    let explain = Callback::new(move |row: LedgerRow| {
        meant.set(Some(row));
        open.set(true);
    });
    let linked = linked::use_linked(address, open, meant);
    let explained = move || parts::explained_row(meant);
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
        {head(filters, live(backfill_all))}
        {sums.draw(move |sums| totals::totals(sums, filters))}
        {linked::gone(linked)}
        {paused.draw(move |count| paused_note(*count, &paused_search(filters)))}
        {query::bar(fires, filters, narrowing)}
        <AsyncView
            loading=narrowing.waiting(loading)
            what="the ledger"
            is_empty=Signal::derive(move || fires.list.is_empty())
            empty=move || view! {
                <p class="empty-title">"No fire here"</p>
                <p>{if query::is_narrowed(filters) {
                    "No expected fire fits the filters."
                } else if range.is_usual() {
                    "A row appears for every instant at which a schedule is due."
                } else {
                    "No schedule was due in this range of time."
                }}</p>
            }
        >
            {table(fires.list, session, explain, backfilling)}
            {pager(fires.beside(), "fires", go)}
        </AsyncView>
        {backfilling.dialog()}
        {deferred::dialog(open, "The outcome of this fire, and why", explained)}
    }
}

fn head(filters: Filters, backfill_all: AnyView) -> AnyView {
    view! {
        <header class="page-head">
            <h1>"Ledger"</h1>
            <div class="actions">
                {live(move || if query::is_narrowed(filters) {
                    view! { <a class="button button-quiet" href=query::cleared(filters)>"Clear filters"</a> }.into_any()
                } else {
                    ().into_any()
                })}
                {backfill_all}
            </div>
        </header>
    }
    .into_any()
}

/// A query for the paused schedules among those that the page shows. Fires that fall into a pause
/// have no rows before the pause ends.
fn paused(filters: Filters) -> ScheduleQuery {
    ScheduleQuery {
        namespace: filters.address().namespace(),
        search: Some(paused_search(filters)),
        favourites: false,
        sort: None,
        place: Place::First,
    }
}

/// The same as a search; tracked.
fn paused_search(filters: Filters) -> String {
    format!("{} state:paused", query::of_schedules(filters)).trim_start().to_owned()
}

fn paused_note(count: i64, search: &str) -> AnyView {
    let words = match count {
        0 => return ().into_any(),
        1 => "1 schedule is paused".to_owned(),
        _ => format!("{count} schedules are paused"),
    };
    let href = Route::Schedules.narrowed(&[("q", search)]);
    view! {
        <p class="panel-note" data-testid="paused-note">
            <a href=href>{words}</a>": fires that fall into a pause get their rows when it ends; until then each schedule's page lists them."
        </p>
    }
    .into_any()
}

fn table(
    list: List,
    session: Session,
    explain: Callback<LedgerRow>,
    backfilling: Backfilling,
) -> AnyView {
    let name = |row: &LedgerRow| RowName {
        name: row.more.schedule.as_ref().map(|schedule| schedule.name.clone()).unwrap_or_default(),
        test: "ledger-row",
        state: Mark::Verdict(row.row.verdict).state(),
    };
    let address = use_address();
    let columns = row::columns(untrack(|| address.is_across()));
    Table::new("Ledger of all schedules", list, columns, name)
        .choose_columns(kept(address, query::COLUMNS))
        .actions(move |row: &LedgerRow| {
            let may = session.operates_in(&row.more.namespace);
            row::actions(row, explain, may.then_some(backfilling))
        })
        .view()
}

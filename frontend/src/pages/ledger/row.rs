//! A row of the ledger: the outcome of an instant, and the reason.

use leptos::prelude::*;

use super::backfill::{Backfilling, is_lost, orders};
use crate::{
    api,
    components::{Column, Look, Mark, badge, button, fire_mark, reason_text, when, when_relative},
    data::use_load,
    model::LedgerRow,
    pages::schedule::{explain, rules},
    route::Route,
    time::duration,
};

/// The columns: expected time, schedule, outcome, reason and run; across all namespaces also the namespace.
pub(super) fn columns(is_across: bool) -> Vec<Column> {
    let mut columns = vec![
        Column::new("expected", "Expected", expected),
        Column::new("schedule", "Schedule", schedule).head(),
        Column::new("verdict", "Verdict", |row: &LedgerRow| badge(Mark::Verdict(row.row.verdict))),
        Column::new("why", "Why", |row: &LedgerRow| reason_text(&row.row.reason.text))
            .class("why-cell"),
        Column::new("run", "Run", run).class("nowrap"),
        Column::new("late", "Late", late).class("number wide").extra(),
        Column::new("claimed", "Claimed", |row: &LedgerRow| when(row.row.claimed_at, zone(row)))
            .class("wide")
            .extra(),
        Column::new("decided", "Decided", decided).class("wide").extra(),
        Column::new("node", "Node", |row: &LedgerRow| view! { {row.row.node.clone()} }.into_any())
            .class("wide")
            .extra(),
        Column::new("version", "Version", |row: &LedgerRow| row.row.schedule_version.into_any())
            .class("number wide")
            .extra(),
    ];
    if is_across {
        let namespace = |row: &LedgerRow| row.more.namespace.clone().into_any();
        columns.insert(2, Column::new("namespace", "Namespace", namespace));
    }
    columns
}

fn zone(row: &LedgerRow) -> Option<String> {
    row.more.schedule.as_ref().map(|schedule| schedule.timing.zone.clone())
}

fn expected(row: &LedgerRow) -> AnyView {
    let fire = &row.row;
    let last = (fire.count > 1).then(|| {
        let last = when(fire.last_scheduled_at, zone(row));
        view! { <span class="cell-note">{fire.count}" instants, the last "{last}</span> }.into_any()
    });
    view! { {when_relative(fire.scheduled_at, zone(row))}{fire_mark(fire.kind)}{last} }.into_any()
}

fn schedule(row: &LedgerRow) -> AnyView {
    match &row.more.schedule {
        Some(schedule) => {
            let href = Route::Schedule(schedule.id.clone()).path();
            view! { <a href=href>{schedule.name.clone()}</a> }.into_any()
        }
        None => view! { <span class="muted">"a deleted schedule"</span> }.into_any(),
    }
}

/// How late the run of a fire started.
fn late(row: &LedgerRow) -> AnyView {
    let late = row.row.run.as_ref().and_then(|run| run.lateness_ms);
    late.map_or_else(|| "–".to_owned(), duration).into_any()
}

fn decided(row: &LedgerRow) -> AnyView {
    match row.row.decided_at {
        Some(at) => when(at, zone(row)),
        None => view! { <span class="muted">"not yet"</span> }.into_any(),
    }
}

fn run(row: &LedgerRow) -> AnyView {
    let Some(run) = &row.row.run else { return ().into_any() };
    let mark = Mark::Run(run.state);
    let took = run.duration_ms.map(|millis| format!(" {}", duration(millis)));
    let name = format!("Run, {}", mark.word());
    let href = Route::Run(run.id.clone()).path();
    view! { <a class="cell-link" href=href aria-label=name>{badge(mark)}</a>{took} }.into_any()
}

/// The actions of a row: it is explained, and a lost fire can be backfilled.
pub(super) fn actions(
    row: &LedgerRow,
    explain: Callback<LedgerRow>,
    backfilling: Option<Backfilling>,
) -> AnyView {
    let meant = row.clone();
    let explain = button(Look::Plain, None, "Explain", move || explain.run(meant.clone()));
    let backfill = backfilling.filter(|_| is_lost(row) && row.more.schedule.is_some());
    let backfill = backfill.map(|backfilling| {
        let order = row.clone();
        let ask = move || backfilling.ask(orders(std::iter::once(&order)));
        button(Look::Plain, None, "Backfill", ask)
    });
    view! { {explain}{backfill} }.into_any()
}

/// The explanation of a fire, with the rules of its schedule, which are loaded now.
pub(in crate::pages) fn explained(meant: RwSignal<Option<LedgerRow>>) -> AnyView {
    let Some(row) = meant.get_untracked() else { return ().into_any() };
    let id = row.more.schedule.as_ref().map(|schedule| schedule.id.clone());
    let schedule = use_load(move || Some(api::schedule(id.clone()?)));
    let version = row.row.schedule_version;
    let rules = schedule.draw(move |schedule| rules(schedule, version));
    explain(&row.row, zone(&row), rules)
}

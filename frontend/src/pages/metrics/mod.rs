//! Figures over a range of time, for everything or for a tag or a schedule, or for each namespace. Dragging over a chart
//! lists the counted objects.
//!
//! - `charts`: runs that ended, instants without a run, durations, latenesses, queues
//! - `figures`: the sums of the range, and the current figures
//! - `week`: the runs of the last seven days by weekday and hour
//! - `schedules`: the schedules whose runs take longest
//! - `namespaces`: the namespaces beside each other

pub(super) mod charts;
mod figures;
mod namespaces;
mod schedules;
mod week;

use std::{sync::Arc, time::Duration};

use leptos::prelude::*;

use self::charts::Drawing;
use super::{
    filters::{Filters, use_filters},
    ledger::LOST_FIRES,
    steps, suggest,
    watch::watch,
};
use crate::{
    api::{self, SeriesQuery},
    components::{AsyncView, Tab, live, panel, tab_of, tabs, use_drag},
    data::{Load, use_load, use_namespaces},
    model::{Page, RunStats, ScheduleName},
    route::Route,
    state::{range_query, use_address, use_every, use_range, use_title, use_zone},
    time::Moment,
};

const NAMES: [&str; 2] = ["tag", "schedule"];
const LOOK: Duration = Duration::from_secs(10);
const NAMESPACES: &str = "namespaces";
const TABS: &[Tab] =
    &[Tab { name: "", words: "Over time" }, Tab { name: NAMESPACES, words: "By namespace" }];

/// The page of the metrics.
#[component]
pub(crate) fn Metrics() -> impl IntoView {
    use_title(|| "Metrics".to_owned());
    let address = use_address();
    let tab = Memo::new(move |_| tab_of(TABS, &address.query("tab")));
    view! {
        <header class="page-head">
            <h1>"Metrics"</h1>
        </header>
        {choice(tab)}
        {live(move || match tab.get() {
            NAMESPACES => namespaces::by_namespace(),
            _ => view! { <OverTime/> }.into_any(),
        })}
    }
}

/// The tabs. Someone who sees a single namespace has nothing to compare.
fn choice(tab: Memo<&'static str>) -> AnyView {
    let address = use_address();
    let known = use_namespaces();
    let has_choice = Memo::new(move |_| known.with(|known| known.len() > 1).unwrap_or_default());
    live(move || {
        if !has_choice.get() {
            return ().into_any();
        }
        let href = move |name: &'static str| address.href(&[("tab", name)]);
        tabs("Metrics", TABS, tab.into(), href)
    })
}

/// The charts.
#[component]
fn OverTime() -> impl IntoView {
    let filters = use_filters(Route::Metrics, &NAMES);
    let range = use_range(&Route::Metrics);
    let (address, zone) = (use_address(), use_zone());
    let schedule = use_schedule_id(filters);
    let series = move |from: Moment, until: Option<Moment>, step: i64| {
        let is_unknown = filters.some("schedule").is_some() && schedule.get().is_none();
        let query = SeriesQuery {
            namespace: address.namespace(),
            from,
            until,
            step,
            tag: filters.some("tag"),
            schedule: schedule.get(),
        };
        (!is_unknown).then(|| api::run_stats(query))
    };
    let stats = use_load(move || {
        let (from, until) = range.bounds();
        let end = until.unwrap_or_else(Moment::now);
        let from = from.unwrap_or_else(|| end.later(-86_400_000));
        series(from, until, steps::step(end.since(from)))
    });
    let step = Memo::new(move |_| week::step(&zone.get().zone(None), Moment::now()));
    let week = use_load(move || series(week::begin(Moment::now()), None, step.get()));
    let now = use_load(move || Some(api::metrics(address.namespace())));
    let figures = use_load(move || {
        let (from, until) = range.bounds();
        Some(api::schedule_figures(address.namespace(), search(filters), from, until))
    });
    let (loading, now_loading, week_loading) = (stats.loading, now.loading, week.loading);
    use_every(LOOK, move || {
        loading.refresh();
        now_loading.refresh();
        week_loading.refresh();
    });
    let hours = move || week.with(|week| week::hours(week, &zone.get().zone(None)));
    view! {
        <search class="filter-line" aria-label="What is measured">
            {picker(filters)}
        </search>
        {now.draw(figures::now)}
        <AsyncView loading=loading what="the figures">
            {stats.draw(move |stats| figures::sums(stats, links(filters, stats)))}
            {stats.draw(incomplete)}
            {range_charts(filters, stats)}
        </AsyncView>
        <div class="charts">
            {panel("When it runs", view! { <span class="muted">"last 7 days"</span> }, live(move || hours().unwrap_or_else(|| ().into_any())))}
            {panel("By schedule", view! { <span class="muted">"slowest first"</span> }, figures.draw(|page| schedules::schedules(page)))}
        </div>
    }
}

/// The id of the schedule that the address names. The server looks it up.
fn use_schedule_id(filters: Filters) -> Memo<Option<String>> {
    let named = use_load(move || {
        let search = Some(exactly(&filters.some("schedule")?));
        Some(api::planning::schedule_names(filters.address().namespace(), search, None))
    });
    Memo::new(move |_| {
        let name = filters.some("schedule")?;
        let found = |known: &Page<ScheduleName>| {
            let is_it = |known: &&Arc<ScheduleName>| known.name.eq_ignore_ascii_case(&name);
            known.rows.iter().find(is_it).map(|known| known.id.clone())
        };
        named.with(found).flatten()
    })
}

/// The list for a dragged range of a chart, and the words for it.
struct Listed {
    words: &'static str,
    href: Callback<(Moment, Moment), String>,
}

/// The charts of the range. Each can be dragged over, and has a link that creates an alert rule.
fn range_charts(filters: Filters, stats: Load<RunStats>) -> AnyView {
    let (zone, address) = (use_zone(), filters.address());
    let runs = Callback::new(move |between| untrack(|| runs_between(filters, "", between)));
    let fires = Callback::new(move |between| untrack(|| fires_between(filters, between)));
    let chart = move |title,
                      watched_for: &'static str,
                      listed: Listed,
                      draw: fn(&RunStats, &Drawing) -> AnyView| {
        let drag = use_drag();
        let Listed { words, href } = listed;
        let chosen = Callback::new(move |between| address.go(&href.run(between)));
        let drawn = live(move || {
            let drawing = Drawing { zone: zone.get().zone(None), drag, runs: href, chosen };
            stats.with(|stats| draw(stats, &drawing)).unwrap_or_else(|| ().into_any())
        });
        let watched = live(move || watch(watched_for, search(filters)));
        let hint = view! { <span class="muted">{words}</span> };
        panel(title, view! { <span class="panel-aside">{hint}{watched}</span> }, drawn)
    };
    let of_runs = || Listed { words: "drag to see the runs", href: runs };
    let due = Callback::new(move |between| untrack(|| due_between(filters, between)));
    // The list of runs has no range of those that waited.
    let of_due = Listed { words: "average; drag to see the runs due then", href: due };
    let of_fires = Listed { words: "drag to see the fires", href: fires };
    view! {
        <div class="charts">
            {chart("Throughput", "failed,recovered", of_runs(), charts::throughput)}
            {chart("Not run", "missed", of_fires, charts::not_run)}
            {chart("Duration", "slow,recovered", of_runs(), charts::durations)}
            {chart("Lateness", "late", of_runs(), charts::latenesses)}
            {chart("Queue", "late,stalled", of_due, charts::queues)}
        </div>
    }
    .into_any()
}

fn incomplete(stats: &RunStats) -> AnyView {
    if stats.is_complete {
        return ().into_any();
    }
    view! { <p class="panel-note">"This range contains too much to read all of it: the oldest steps are incomplete."</p> }
        .into_any()
}

/// The selection of the tag and the schedule.
fn picker(filters: Filters) -> AnyView {
    let field = move |name: &'static str, label: &'static str, suggestions| {
        filters.picking_field(name, label, label.to_owned(), suggestions)
    };
    view! {
        {field("tag", "Tag", suggest::tag())}
        {field("schedule", "Schedule", suggest::schedules_here())}
    }
    .into_any()
}

fn exactly(name: &str) -> String {
    format!("schedule:\"{}\"", name.replace(['"', '\\'], ""))
}

/// The selected schedules, in the search language; tracked.
fn search(filters: Filters) -> Option<String> {
    let tag = filters.some("tag").map(|tag| format!("tag:\"{}\"", tag.replace(['"', '\\'], "")));
    let schedule = filters.some("schedule").map(|name| exactly(&name));
    let terms: Vec<String> = tag.into_iter().chain(schedule).collect();
    (!terms.is_empty()).then(|| terms.join(" "))
}

/// The address of the list of runs in one state that ended between two instants. `state` is a value of that page's
/// filter.
fn runs_between(filters: Filters, state: &str, (from, until): (Moment, Moment)) -> String {
    let terms = run_terms(&from.to_rfc3339(), &until.to_rfc3339(), search(filters).as_deref());
    Route::Runs.narrowed(&[("state", state), ("q", &terms)])
}

/// The address of the list of runs that were due between two instants.
fn due_between(filters: Filters, (from, until): (Moment, Moment)) -> String {
    let (from, until) = (from.to_rfc3339(), until.to_rfc3339());
    let search = search(filters).unwrap_or_default();
    Route::Runs.narrowed(&[("q", &search), ("from", &from), ("until", &until)])
}

/// The search for the runs of `schedules` that ended in a range.
fn run_terms(from: &str, until: &str, schedules: Option<&str>) -> String {
    let ended = format!("finished:>={from} finished:<{until}");
    schedules.map_or_else(|| ended.clone(), |schedules| format!("{ended} {schedules}"))
}

/// The address of the ledger for fires that were due between two instants.
fn fires_between(filters: Filters, (from, until): (Moment, Moment)) -> String {
    let (from, until) = (from.to_rfc3339(), until.to_rfc3339());
    let search = search(filters).unwrap_or_default();
    Route::Ledger.narrowed(&[("q", &search), ("from", &from), ("until", &until)])
}

/// The links from the sums of the range to their lists; tracked.
fn links(filters: Filters, stats: &RunStats) -> figures::Links {
    let runs = |state: &str| runs_between(filters, state, (stats.from, stats.until));
    let range = range_query(filters.address(), &Route::Ledger);
    let search = search(filters).map(|search| format!(" {search}")).unwrap_or_default();
    let search = format!("{LOST_FIRES}{search}");
    let mut lost = vec![("q", search.as_str())];
    lost.extend(range.iter().map(|(name, value)| (*name, value.as_str())));
    figures::Links {
        ended: runs(""),
        succeeded: runs("succeeded"),
        failed: runs("failed"),
        lost: Route::Ledger.narrowed(&lost),
    }
}

#[cfg(test)]
mod tests {
    use super::run_terms;

    #[test]
    fn a_sum_leads_to_the_runs_of_its_range_and_filter() {
        let terms = run_terms("2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z", None);
        assert_eq!(terms, "finished:>=2026-01-31T00:00:00Z finished:<2026-02-01T00:00:00Z");
        let narrowed = run_terms("a", "b", Some("tag:\"x\""));
        assert_eq!(narrowed, "finished:>=a finished:<b tag:\"x\"");
    }
}

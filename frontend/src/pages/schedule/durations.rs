//! The durations of the schedule's runs over the last seven days: the median and the 95th percentile.

use leptos::prelude::*;

use crate::{
    api::{self, SeriesQuery},
    components::{live, panel, use_drag},
    data::{Load, use_load},
    model::{RunStats, ScheduleDetail},
    pages::{
        metrics::charts::{Drawing, durations as band},
        steps,
        watch::watch,
    },
    route::Route,
    state::{use_address, use_zone},
    time::Moment,
};

const WEEK_MS: i64 = 7 * 86_400_000;

/// The chart; empty if no run has ended in these days. Dragging over it lists the runs.
pub(super) fn durations(id: String, load: Load<ScheduleDetail>) -> AnyView {
    let (address, zone, drag) = (use_address(), use_zone(), use_drag());
    let stats = use_load(move || {
        Some(api::run_stats(SeriesQuery {
            namespace: address.namespace(),
            from: Moment::now().earlier(WEEK_MS),
            until: None,
            step: steps::step(WEEK_MS),
            tag: None,
            schedule: Some(id.clone()),
        }))
    });
    let search = Memo::new(move |_| {
        let name = load.with(|schedule| schedule.row.name.replace(['"', '\\'], ""));
        format!("schedule:\"{}\"", name.unwrap_or_default())
    });
    let runs = Callback::new(move |(from, until): (Moment, Moment)| {
        let (from, until) = (from.to_rfc3339(), until.to_rfc3339());
        let search = format!("finished:>={from} finished:<{until} {}", search.get_untracked());
        Route::Runs.narrowed(&[("q", &search)])
    });
    let chosen = Callback::new(move |range| address.go(&runs.run(range)));
    live(move || {
        let drawing = Drawing { zone: zone.get().zone(None), drag, runs, chosen };
        let has_any = |stats: &RunStats| stats.points.iter().any(|point| point.durations.is_some());
        let chart = stats.with(|stats| has_any(stats).then(|| band(stats, &drawing))).flatten();
        let Some(chart) = chart else { return ().into_any() };
        let watched = watch("slow,recovered", Some(search.get()));
        let hint = view! { <span class="muted">"last 7 days, drag to see the runs"</span> };
        panel("Duration", view! { <span class="panel-aside">{hint}{watched}</span> }, chart)
    })
}

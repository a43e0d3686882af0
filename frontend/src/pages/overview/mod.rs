//! The overview: what is wrong, what is happening, what happened, what will happen.
//!
//! The first line is the scheduler's health, the second that of the work. Each part has its own query, which is
//! repeated when events report a change, at most once a second, and otherwise twice a minute.
//!
//! - `work`: how many schedules fail or lose fires
//! - `problems`: problems, by schedule and error
//! - `numbers`: the row of figures
//! - `live_runs`: live runs, against how long they usually take
//! - `next_hour`: what is coming
//! - `since`: what happened since the user last looked
//! - `first_steps`: what to do on an empty server

mod first_steps;
mod live_runs;
mod next_hour;
mod numbers;
mod problems;
mod since;
mod work;

use std::time::Duration;

use leptos::prelude::*;

use super::{
    health::verdict::verdict,
    metrics::charts::{Drawing, throughput},
    steps,
};
use crate::{
    api::{self, SeriesQuery},
    components::{AsyncView, cluster_strip, live, panel, use_drag},
    data::{Feed, Load, use_feed, use_load},
    model::WorkProblem,
    route::Route,
    state::{
        Range, Throttle, ranged_path, use_address, use_every, use_range, use_session, use_title,
        use_zone,
    },
    time::Moment,
};

const HALF_A_MINUTE: Duration = Duration::from_secs(30);
const DAY: i64 = 86_400_000;
/// So far back the server groups problems; a minute less, for a browser's clock that is behind.
const OLDEST_PROBLEM: i64 = 30 * DAY - 60_000;
/// How often expensive queries are repeated while runs start and end.
const SLOW_MS: i64 = 5_000;

/// The overview.
#[component]
pub(crate) fn Overview() -> impl IntoView {
    use_title(|| "Overview".to_owned());
    let (session, zone, address) = (use_session(), use_zone(), use_address());
    let house = use_load(move || Some(api::overview(address.namespace(), session.health_of())));
    let range = use_range(&Route::Overview);
    // What goes on now is that of the last day, whichever range is shown.
    let troubles = use_load(move || Some(api::problems(address.namespace(), None)));
    let past = use_load(move || {
        let oldest = Moment::now().earlier(OLDEST_PROBLEM);
        let since = range.bounds().0.map_or(oldest, |from| from.max(oldest));
        (!range.is_usual()).then(|| api::problems(address.namespace(), Some(since)))
    });
    let alive = use_load(move || Some(api::live_runs(address.namespace())));
    let day = use_load(move || {
        let (from, until) = range.bounds();
        let end = until.unwrap_or_else(Moment::now);
        let from = from.unwrap_or_else(|| end.earlier(DAY));
        Some(api::run_stats(SeriesQuery {
            namespace: address.namespace(),
            from,
            until,
            step: steps::step(end.since(from)),
            tag: None,
            schedule: None,
        }))
    });
    let minutes = use_load(move || Some(api::minutes(address.namespace())));
    let next = use_load(move || Some(api::next_schedules(address.namespace())));
    let numbers = house.loading;
    // Changes of runs update the figures at once; queries that are expensive for the server follow a few seconds
    // later.
    let (slow, slow_plans) = (Throttle::new(SLOW_MS), Throttle::new(SLOW_MS));
    let runs_changed = move || {
        numbers.refresh();
        alive.loading.refresh();
        slow.run(move || {
            troubles.loading.refresh();
            past.loading.refresh();
            day.loading.refresh();
        });
    };
    let plans_changed = move || {
        numbers.refresh();
        minutes.loading.refresh();
        next.loading.refresh();
    };
    let refresh = move || {
        runs_changed();
        plans_changed();
    };
    use_feed(move || Feed::runs(address.namespace(), None, None), move |_| runs_changed(), refresh);
    use_feed(
        move || Feed::schedules(address.namespace(), None),
        move |_| slow_plans.run(plans_changed),
        refresh,
    );
    use_every(HALF_A_MINUTE, refresh);
    let runs = Callback::new(|(from, until): (Moment, Moment)| {
        let ended = format!("finished:>={} finished:<{}", from.to_rfc3339(), until.to_rfc3339());
        Route::Runs.narrowed(&[("q", &ended)])
    });
    let chosen = Callback::new(move |range| address.go(&runs.run(range)));
    let (day_drag, hour_drag) = (use_drag(), use_drag());
    let bars = move || {
        live(move || {
            let drawing = Drawing { zone: zone.get().zone(None), drag: day_drag, runs, chosen };
            day.with(|stats| throughput(stats, &drawing)).unwrap_or_else(|| ().into_any())
        })
    };
    let hour = move || {
        live(move || {
            let zone = zone.get().zone(None);
            minutes
                .with(|minutes| next_hour::minutes(minutes, &zone, hour_drag))
                .unwrap_or_else(|| ().into_any())
        })
    };
    let is_empty = Memo::new(move |_| house.with(|house| house.overview.schedules) == Some(0));
    view! {
        <header class="page-head">
            <h1>"Overview"</h1>
            {live(move || if session.edits() { new_schedule() } else { ().into_any() })}
        </header>
        {verdict(numbers, move || house.with(|house| house.health.clone()))}
        {live(move || if is_empty.get() { first_steps::first_steps() } else { ().into_any() })}
        {troubles.draw(|problems| work::line(problems))}
        <since::Since/>
        <AsyncView loading=numbers what="the overview">
            {house.draw(|house| numbers::figures(&house.overview))}
            {house.draw(|house| cluster_strip(&house.overview.nodes))}
            <div class="overview-grid">
                <div class="overview-main">
                    {panel("Problems", extent(range, "Since the range began"), problems(range, troubles, past))}
                    {panel("Runs that ended", metrics(range), bars())}
                </div>
                <div class="overview-side">
                    {panel("Live runs", view! { <a href=Route::Runs.narrowed(&[("state", "live")])>"All"</a> }, alive.draw(|runs| live_runs::live_runs(runs)))}
                    {panel("Next hour", (), view! { {hour()}{next.draw(|next| next_hour::schedules(next))} })}
                </div>
            </div>
        </AsyncView>
    }
}

/// Of which range a panel is; `between` stands for two instants, which the header names.
fn extent(range: Range, between: &'static str) -> AnyView {
    let words = move || range.preset().map_or(between, |preset| preset.words);
    view! { <span class="muted">{words}</span> }.into_any()
}

/// The same, and the way to more figures.
fn metrics(range: Range) -> AnyView {
    let address = use_address();
    let href = move || ranged_path(address, &Route::Metrics);
    view! { {extent(range, "In the range")}<a href=href>"Metrics"</a> }.into_any()
}

/// What went wrong in the range: a day of it is there already.
fn problems(range: Range, day: Load<Vec<WorkProblem>>, past: Load<Vec<WorkProblem>>) -> AnyView {
    let is_usual = Memo::new(move |_| range.is_usual());
    live(move || {
        let (problems, none) = if is_usual.get() {
            (day, "Nothing has failed and nothing was lost in the last 24 hours.")
        } else {
            (past, "Nothing has failed and nothing was lost since then.")
        };
        view! { <problems::Problems problems=problems none=none/> }.into_any()
    })
}

/// The link to the form.
pub(super) fn new_schedule() -> AnyView {
    view! { <a class="button button-primary" href=Route::NewSchedule.path()>"New schedule"</a> }
        .into_any()
}

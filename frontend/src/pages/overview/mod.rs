//! The overview: problems, live runs, past runs, and upcoming fires.
//!
//! The first line is the health of the scheduler, the second that of the schedules' runs. Each part has its own
//! query. It is repeated when events report a change, at most once a second, and otherwise twice a minute.
//!
//! - `work`: how many schedules fail, lose fires or skip them
//! - `problems`: problems, by schedule and error
//! - `numbers`: the row of figures
//! - `live_runs`: live runs, compared with their usual duration
//! - `next_hour`: the upcoming fires
//! - `since`: the events since the user last looked
//! - `first_steps`: the first steps on an empty server

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
    components::{AsyncView, Waiting, cluster_strip, live, panel, use_drag},
    data::{Feed, Load, Loading, use_feed, use_load},
    model::{LiveRun, Minutes, NextSchedule, OverviewAnswer, RunStats, WorkProblem},
    route::Route,
    state::{
        Range, Throttle, ranged_path, use_address, use_every, use_range, use_session, use_title,
        use_zone,
    },
    time::Moment,
};

const HALF_A_MINUTE: Duration = Duration::from_secs(30);
const DAY: i64 = 86_400_000;
/// How far back the server groups problems, minus a minute in case the browser's clock is behind.
const OLDEST_PROBLEM: i64 = 30 * DAY - 60_000;
/// How often expensive queries are repeated while runs start and end.
const SLOW_MS: i64 = 5_000;

/// The overview.
#[component]
pub(crate) fn Overview() -> impl IntoView {
    use_title(|| "Overview".to_owned());
    let (session, range) = (use_session(), use_range(&Route::Overview));
    let loads = use_loads(range);
    let Loads { overview, troubles, past, alive, day, minutes, next } = loads;
    use_updates(loads);
    let numbers = overview.loading;
    let live_runs = move || alive.draw(|runs| live_runs::live_runs(runs));
    let schedules = move || next.draw(|next| next_hour::schedules(next));
    let is_empty = Memo::new(move |_| overview.with(|answer| answer.overview.schedules) == Some(0));
    view! {
        <header class="page-head">
            <h1>"Overview"</h1>
            {live(move || if session.edits() { new_schedule() } else { ().into_any() })}
        </header>
        {verdict(numbers, move || overview.with(|answer| answer.health.clone()))}
        {live(move || if is_empty.get() { first_steps::first_steps(session.edits()) } else { ().into_any() })}
        {troubles.draw(|problems| work::line(problems))}
        <since::Since/>
        <AsyncView loading=numbers what="the overview">
            {overview.draw(|answer| numbers::figures(&answer.overview))}
            {overview.draw(|answer| cluster_strip(&answer.overview.nodes))}
            <div class="overview-grid">
                <div class="overview-main">
                    {panel("Problems", extent(range, "Since the range began"), problems(range, numbers, troubles, past))}
                    {panel("Runs that ended", metrics(range), part("the runs that ended", day.loading, vec![numbers], move || ended_runs(day)))}
                </div>
                <div class="overview-side">
                    {panel("Live runs", live_links(), part("the live runs", alive.loading, vec![numbers], live_runs))}
                    {panel("Next hour", (), view! {
                        {part("the next hour", minutes.loading, vec![numbers], move || next_minutes(minutes))}
                        {part("the next schedules", next.loading, vec![numbers, minutes.loading], schedules)}
                    })}
                </div>
            </div>
        </AsyncView>
    }
}

/// A part of the page with a query of its own. While one of `told` fails, that error is shown elsewhere on the page, and
/// this part does not repeat it.
fn part(
    what: &'static str,
    loading: Loading,
    told: Vec<Loading>,
    content: impl Fn() -> AnyView + Send + Sync + 'static,
) -> AnyView {
    let is_told = move || told.iter().any(|other| other.failure().is_some());
    let failure = Signal::derive(move || loading.failure().filter(|_| !is_told()));
    let waiting = Waiting { failure, ..Waiting::from(loading) };
    view! { <AsyncView loading=waiting what=what>{content()}</AsyncView> }.into_any()
}

/// The queries of the page.
#[derive(Clone, Copy)]
struct Loads {
    overview: Load<OverviewAnswer>,
    /// The problems of the last day.
    troubles: Load<Vec<WorkProblem>>,
    /// The problems of another range.
    past: Load<Vec<WorkProblem>>,
    alive: Load<Vec<LiveRun>>,
    /// The runs that ended in the range: the last day, unless another one is chosen.
    day: Load<RunStats>,
    minutes: Load<Minutes>,
    next: Load<Vec<NextSchedule>>,
}

fn use_loads(range: Range) -> Loads {
    let (session, address) = (use_session(), use_address());
    let overview = use_load(move || Some(api::overview(address.namespace(), session.health_of())));
    // The problems of the last day are always loaded, whichever range is shown.
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
    Loads { overview, troubles, past, alive, day, minutes, next }
}

/// Reloads the data that events report as changed, and everything twice a minute.
fn use_updates(loads: Loads) {
    let address = use_address();
    let Loads { overview, troubles, past, alive, day, minutes, next } = loads;
    let numbers = overview.loading;
    // Changes of runs update the figures at once. Queries that are expensive for the server follow a few seconds
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
}

/// The runs that ended, over time. Dragging over a part of it opens their list.
fn ended_runs(day: Load<RunStats>) -> AnyView {
    let (address, zone, drag) = (use_address(), use_zone(), use_drag());
    let runs = Callback::new(|(from, until): (Moment, Moment)| {
        let ended = format!("finished:>={} finished:<{}", from.to_rfc3339(), until.to_rfc3339());
        Route::Runs.narrowed(&[("q", &ended)])
    });
    let chosen = Callback::new(move |range| address.go(&runs.run(range)));
    live(move || {
        let drawing = Drawing { zone: zone.get().zone(None), drag, runs, chosen };
        day.with(|stats| throughput(stats, &drawing)).unwrap_or_else(|| ().into_any())
    })
}

/// The chart of starts in the next hour, by minute.
fn next_minutes(minutes: Load<Minutes>) -> AnyView {
    let (address, zone, drag) = (use_address(), use_zone(), use_drag());
    let chosen = Callback::new(move |minute| address.go(&next_hour::upcoming(minute)));
    live(move || {
        let zone = zone.get().zone(None);
        let drawn = minutes.with(|minutes| next_hour::minutes(minutes, &zone, drag, chosen));
        drawn.unwrap_or_else(|| ().into_any())
    })
}

/// The range that a panel covers, in words. `between` is the text for a range between two instants, because the
/// header names those.
fn extent(range: Range, between: &'static str) -> AnyView {
    let words = move || range.preset().map_or(between, |preset| preset.words);
    view! { <span class="muted">{words}</span> }.into_any()
}

/// The range that a panel covers, with a link to more figures.
fn metrics(range: Range) -> AnyView {
    let address = use_address();
    let href = move || ranged_path(address, &Route::Metrics);
    view! { {extent(range, "In the range")}<a href=href>"Metrics"</a> }.into_any()
}

/// The links from the live runs: to their list, and to the timeline of the range.
fn live_links() -> AnyView {
    let address = use_address();
    let timeline = move || ranged_path(address, &Route::Timeline);
    let runs = Route::Runs.narrowed(&[("state", "live")]);
    view! { <span class="panel-aside"><a href=timeline>"Timeline"</a><a href=runs>"All"</a></span> }
        .into_any()
}

/// The problems of the range. Those of the last day are already loaded.
fn problems(
    range: Range,
    numbers: Loading,
    day: Load<Vec<WorkProblem>>,
    past: Load<Vec<WorkProblem>>,
) -> AnyView {
    let is_usual = Memo::new(move |_| range.is_usual());
    live(move || {
        let (problems, none) = if is_usual.get() {
            (day, "Nothing has failed and nothing was lost in the last 24 hours.")
        } else {
            (past, "Nothing has failed and nothing was lost since then.")
        };
        let list = move || view! { <problems::Problems problems=problems none=none/> }.into_any();
        part("the problems", problems.loading, vec![numbers], list)
    })
}

/// The link to the form for a new schedule.
pub(super) fn new_schedule() -> AnyView {
    view! { <a class="button button-primary" href=Route::NewSchedule.path()>"New schedule"</a> }
        .into_any()
}

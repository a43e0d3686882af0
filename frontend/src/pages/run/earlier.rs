//! The runs of the same schedule, and how this run compares with the last successful one before it.

use std::cmp::Ordering;

use leptos::prelude::*;

use crate::{
    api::{self, RunQuery},
    components::{Mark, SparkBar, live, panel, sparkline, when_relative},
    data::{Load, use_load},
    model::{Page, RunDetail, RunRow, RunState},
    route::Route,
    state::{Address, use_address},
    time::duration,
};

const BARS: usize = 40;

/// The other runs of the same schedule.
#[derive(Clone, Copy)]
pub(in crate::pages) struct Others {
    /// The schedule's id.
    schedule: Memo<Option<String>>,
    /// The newest runs, this one possibly among them.
    pub(super) runs: Load<Page<RunRow>>,
    /// The newest success among the runs that were scheduled before this one.
    succeeded: Load<Page<RunRow>>,
}

impl Others {
    /// The id of the last success before this run, if it is known; tracked.
    pub(super) fn last_success(self) -> Option<String> {
        self.succeeded.with(|page| page.rows.first().map(|run| run.id.clone())).flatten()
    }

    /// Whether the last success is not known yet; tracked.
    pub(super) fn is_loading(self) -> bool {
        self.schedule.with(Option::is_some) && !self.succeeded.loading.has_data()
    }
}

/// Loads the other runs of a run's schedule; none for a run without one.
pub(super) fn use_others(run: Load<RunDetail>) -> Others {
    let address = use_address();
    let schedule =
        Memo::new(move |_| run.with(|run| Some(run.row.schedule.as_ref()?.id.clone())).flatten());
    let state = Memo::new(move |_| run.with(|run| run.row.state));
    let scheduled_at = Memo::new(move |_| run.with(|run| run.row.scheduled_at));
    let runs = use_load(move || {
        let _settles = state.get();
        let query = RunQuery { schedule: Some(schedule.get()?), ..of(address) };
        Some(api::runs(query, BARS))
    });
    let succeeded = use_load(move || {
        let states = vec![RunState::Succeeded];
        let (schedule, before) = (Some(schedule.get()?), Some(scheduled_at.get()?));
        let query = RunQuery { schedule, before, states, ..of(address) };
        Some(api::runs(query, 1))
    });
    Others { schedule, runs, succeeded }
}

/// The earlier runs; empty for a run without a schedule.
#[component]
pub(super) fn Earlier(run: Load<RunDetail>, others: Others) -> impl IntoView {
    let Others { schedule, runs, succeeded } = others;
    live(move || {
        let Some(schedule) = schedule.get() else { return ().into_any() };
        let bars = runs.with(bars).unwrap_or_else(|| ().into_any());
        let compared = run.with(|run| succeeded.with(|last| compared(&run.row, last)));
        let all = Route::Schedule(schedule).path();
        panel(
            "Earlier runs",
            view! { <a href=all>"Schedule"</a> },
            view! {
                {bars}
                {compared.flatten()}
            },
        )
    })
}

fn of(address: Address) -> RunQuery {
    RunQuery { namespace: address.namespace(), ..RunQuery::default() }
}

/// The bars of the runs, oldest first; the height is the duration.
fn bars(page: &Page<RunRow>) -> AnyView {
    let bar = |run: &RunRow| {
        let mark = Mark::Run(run.state);
        SparkBar { state: mark.state(), word: mark.word(), value: run.duration_ms }
    };
    let bars: Vec<_> = page.rows.iter().rev().map(|run| bar(run)).collect();
    sparkline("The last runs", &bars)
}

fn compared(run: &RunRow, succeeded: &Page<RunRow>) -> AnyView {
    let Some(last) = succeeded.rows.first() else {
        return view! { <p class="muted">"No earlier run has succeeded."</p> }.into_any();
    };
    let at = last.finished_at.unwrap_or(last.scheduled_at);
    let took = last.duration_ms.map(|millis| format!("; it took {}", duration(millis)));
    let difference = run.duration_ms.zip(last.duration_ms).and_then(|(own, last)| words(own, last));
    view! {
        <p class="compared">
            <a href=Route::Run(last.id.clone()).path()>"Last success"</a>
            " "{when_relative(at, last.zone())}{took}
        </p>
        {difference.map(|words| view! { <p class="compared muted">{words}</p> }.into_any())}
    }
    .into_any()
}

/// The difference to the last successful run in words, if it is worth mentioning.
fn words(own: i64, last: i64) -> Option<String> {
    let difference = duration((own - last).abs());
    let times = times(own, last);
    let factor = format!("{}.{}", times / 10, times % 10);
    let side = match own.cmp(&last) {
        Ordering::Greater => "longer",
        Ordering::Less => "shorter",
        Ordering::Equal => return None,
    };
    is_much(own, last)
        .then(|| format!("This one took {difference} {side}, by a factor of {factor}."))
}

/// How often the shorter duration fits into the longer one, in tenths.
fn times(own: i64, last: i64) -> i64 {
    own.max(last) * 10 / own.min(last).max(1)
}

/// Whether two durations differ by at least a tenth of a second, and by more than a tenth of the
/// shorter one.
pub(super) fn is_much(own: i64, last: i64) -> bool {
    (own - last).abs() >= 100 && times(own, last) > 11
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_difference_is_mentioned_only_if_it_is_large_enough() {
        assert_eq!(words(5_000, 1_000).unwrap(), "This one took 4.0 s longer, by a factor of 5.0.");
        assert_eq!(words(500, 1_500).unwrap(), "This one took 1.0 s shorter, by a factor of 3.0.");
        assert_eq!([words(1_050, 1_000), words(20, 2), words(7, 7)], [None, None, None]);
    }
}

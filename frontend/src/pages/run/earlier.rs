//! Earlier runs of the same schedule, and a comparison of this run with the last successful one.

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

/// The earlier runs; empty for a run without a schedule.
#[component]
pub(super) fn Earlier(run: Load<RunDetail>) -> impl IntoView {
    let address = use_address();
    let schedule =
        Memo::new(move |_| run.with(|run| Some(run.row.schedule.as_ref()?.id.clone())).flatten());
    let state = Memo::new(move |_| run.with(|run| run.row.state));
    let runs = use_load(move || {
        let _settles = state.get();
        let query = RunQuery { schedule: Some(schedule.get()?), ..of(address) };
        Some(api::runs(query, BARS))
    });
    let succeeded = use_load(move || {
        let states = vec![RunState::Succeeded];
        let query = RunQuery { schedule: Some(schedule.get()?), states, ..of(address) };
        Some(api::runs(query, 2))
    });
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
    let Some(last) = succeeded.rows.iter().find(|last| last.id != run.id) else {
        return view! { <p class="muted">"No other run has succeeded."</p> }.into_any();
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
    let times = own.max(last) * 10 / own.min(last).max(1);
    let factor = format!("{}.{} times", times / 10, times % 10);
    let side = match own.cmp(&last) {
        Ordering::Greater => "longer",
        Ordering::Less => "shorter",
        Ordering::Equal => return None,
    };
    // A difference of less than a tenth of a second, or of the whole duration, is not worth
    // mentioning.
    let is_much = (own - last).abs() >= 100 && times > 11;
    is_much.then(|| format!("This one took {difference} {side}, by {factor}."))
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_difference_is_mentioned_only_if_it_is_large_enough() {
        assert_eq!(words(5_000, 1_000).unwrap(), "This one took 4.0 s longer, by 5.0 times.");
        assert_eq!(words(500, 1_500).unwrap(), "This one took 1.0 s shorter, by 3.0 times.");
        assert_eq!([words(1_050, 1_000), words(20, 2), words(7, 7)], [None, None, None]);
    }
}

//! The runs that are alive, with how long they have taken against how long they usually take.

use leptos::prelude::*;

use crate::{
    components::{Mark, badge},
    model::{LiveRun, Percentiles},
    route::Route,
    state::use_now,
    time::{Moment, duration},
};

pub(super) fn live_runs(runs: &[LiveRun]) -> AnyView {
    if runs.is_empty() {
        return view! { <p class="empty">"Nothing runs now."</p> }.into_any();
    }
    view! { <ul class="live-runs">{runs.iter().map(row).collect::<Vec<_>>()}</ul> }.into_any()
}

fn row(run: &LiveRun) -> AnyView {
    let name = run.schedule.as_ref().map_or(&run.workflow.name, |schedule| &schedule.name).clone();
    let usual = run.schedule.as_ref().and_then(|schedule| schedule.stats.durations);
    let (now, started) = (use_now(), run.started_at);
    let elapsed = move || started.map(|at: Moment| now.get().since(at).max(0) / 1_000 * 1_000);
    let words = move || match elapsed() {
        Some(elapsed) => duration(elapsed),
        None => "not started".to_owned(),
    };
    let bar =
        usual.map(|usual| view! { {move || meter(elapsed().unwrap_or(0), usual)} }.into_any());
    let usually = usual.map(|usual| format!("usually {}", duration(usual.p50)));
    view! {
        <li data-testid="live-run">
            {badge(Mark::Run(run.state))}
            <a class="node-name" href=Route::Run(run.id.clone()).path()>{name}</a>
            <span class="live-bar">{bar}</span>
            <span class="number">{move || words()}</span>
            <span class="muted live-usual">{usually}</span>
        </li>
    }
    .into_any()
}

/// Full at the length that 95 of a hundred do not exceed.
fn meter(elapsed: i64, usual: Percentiles) -> AnyView {
    let (width, state) = filled(elapsed, usual);
    let name = if state == "missed" { "Longer than usual" } else { "Within what is usual" };
    view! {
        <svg viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label=name>
            <rect class="meter-ground" x="0" y="0" width="100" height="6"/>
            <rect class="chart-part" data-state=state x="0" y="0" width=width height="6"/>
        </svg>
    }
    .into_any()
}

fn filled(elapsed: i64, usual: Percentiles) -> (i64, &'static str) {
    let width = (elapsed * 100 / usual.p95.max(1)).clamp(1, 100);
    (width, if elapsed > usual.p95 { "missed" } else { "running" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_longer_than_usual_is_full_and_says_so() {
        let usual = Percentiles { p50: 1_000, p95: 4_000, p99: 5_000 };
        assert_eq!(filled(1_000, usual), (25, "running"));
        assert_eq!(filled(0, usual), (1, "running"));
        assert_eq!(filled(9_000, usual), (100, "missed"));
    }
}

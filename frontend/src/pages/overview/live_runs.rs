//! The live runs, with how long they have taken so far and how long they usually take.

use leptos::prelude::*;

use crate::{
    components::{Mark, badge, meter},
    model::LiveRun,
    pages::kit::place_note,
    route::Route,
    state::use_now,
    time::{Moment, duration},
};

pub(super) fn live_runs(runs: &[LiveRun]) -> AnyView {
    if runs.is_empty() {
        return view! { <p class="empty">"Nothing is running now."</p> }.into_any();
    }
    view! { <ul class="live-runs">{runs.iter().map(row).collect::<Vec<_>>()}</ul> }.into_any()
}

fn row(run: &LiveRun) -> AnyView {
    let name = run.schedule.as_ref().map_or(&run.workflow.name, |schedule| &schedule.name).clone();
    let (now, started) = (use_now(), run.started_at);
    let elapsed = move || started.map(|at: Moment| now.get().since(at).max(0) / 1_000 * 1_000);
    let words = move || match elapsed() {
        Some(elapsed) => duration(elapsed),
        None => "not started".to_owned(),
    };
    let (bar, usual, warning) = match run.forecast.clone() {
        Some(forecast) => {
            let (drawn, warned) = (forecast.clone(), forecast.clone());
            let bar = move || meter(elapsed().unwrap_or(0), &drawn);
            let usual = move || forecast.comparison(elapsed().unwrap_or(0));
            let warning = move || warned.warning(now.get());
            (
                view! { {bar} }.into_any(),
                view! { {usual} }.into_any(),
                view! { <span class="live-warning">{warning}</span> }.into_any(),
            )
        }
        None => (().into_any(), ().into_any(), ().into_any()),
    };
    view! {
        <li data-testid="live-run">
            {badge(Mark::Run(run.state))}
            <a class="node-name" href=Route::Run(run.id.clone()).path()>{name}{place_note(&run.namespace)}</a>
            <span class="live-bar">{bar}</span>
            <span class="number">{move || words()}</span>
            <span class="muted live-usual">{usual}{warning}</span>
        </li>
    }
    .into_any()
}

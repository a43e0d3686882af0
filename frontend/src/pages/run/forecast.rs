//! A comparison of a running run with earlier ones: how long it has taken, when it is likely to end, and whether it
//! will block the next fire.

use leptos::prelude::*;

use crate::{
    components::{meter, when_relative},
    model::RunDetail,
    pages::watch::watch,
    state::use_now,
    time::duration,
};

/// The forecast; empty if the run is not running, or if there are too few runs to compare with.
pub(super) fn forecast(run: &RunDetail) -> AnyView {
    let live = run.row.started_at.filter(|_| run.row.state.is_live());
    let (Some(forecast), Some(started)) = (run.more.forecast.clone(), live) else {
        return ().into_any();
    };
    let now = use_now();
    let elapsed = move || now.get().since(started).max(0) / 1_000 * 1_000;
    let (drawn, compared, warned) = (forecast.clone(), forecast.clone(), forecast.clone());
    let ends = forecast.likely_end_at.map(|at| {
        view! { <span class="muted">"likely to end "{when_relative(at, run.row.zone())}</span> }
            .into_any()
    });
    let watched = run.row.schedule.as_ref().map(|schedule| {
        let name = schedule.name.replace(['"', '\\'], "");
        watch("slow,recovered", Some(format!("schedule:\"{name}\"")))
    });
    view! {
        <section class="run-forecast" aria-label="Compared with usual" data-testid="forecast">
            {move || meter(elapsed(), &drawn)}
            <strong>{move || duration(elapsed())}</strong>
            <span>{move || compared.comparison(elapsed())}</span>
            {ends}
            <span class="live-warning">{move || warned.warning(now.get())}</span>
            {watched}
        </section>
    }
    .into_any()
}

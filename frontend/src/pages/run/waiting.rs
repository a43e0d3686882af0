//! The conditions that a run waits for, as a chain: each condition with the runs that block it.

use leptos::prelude::*;

use crate::{
    components::{Mark, badge, reason_text, when_relative},
    model::{Holder, RunDetail, Wait, sentence},
    route::Route,
};

/// The chain; empty if the run does not wait.
pub(super) fn waiting(run: &RunDetail) -> AnyView {
    if run.more.waits_for.is_empty() {
        return ().into_any();
    }
    let zone = run.row.zone();
    let links: Vec<_> = run.more.waits_for.iter().map(|wait| link(wait, zone.clone())).collect();
    view! {
        <section class="waiting" aria-label="What it waits for" data-testid="waits-for">
            <h2>"Waits"</h2>
            <ol>{links}</ol>
        </section>
    }
    .into_any()
}

fn link(wait: &Wait, zone: Option<String>) -> AnyView {
    let until = wait.until.map(|at| view! { " "{when_relative(at, zone)} }.into_any());
    let runs: Vec<_> = wait.runs.iter().map(holder).collect();
    let runs = (!runs.is_empty()).then(|| view! { <ul class="holders">{runs}</ul> }.into_any());
    view! { <li><span>{reason_text(&sentence(&wait.text))}{until}</span>{runs}</li> }.into_any()
}

fn holder(run: &Holder) -> AnyView {
    let name = run.schedule.as_ref().unwrap_or(&run.workflow).name.clone();
    let since = run.started_at.map(|at| when_relative(at, None));
    view! {
        <li>
            {badge(Mark::Run(run.state))}
            <a href=Route::Run(run.id.clone()).path()>{name}</a>
            {since}
        </li>
    }
    .into_any()
}

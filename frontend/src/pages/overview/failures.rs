//! What ended badly in the last day.

use leptos::prelude::*;

use crate::{
    components::{Mark, badge, when_relative},
    model::RunRow,
    route::Route,
};

/// Newest first, with the error itself.
pub(super) fn failures(runs: &[RunRow]) -> AnyView {
    if runs.is_empty() {
        return view! { <p class="empty">"No run has failed."</p> }.into_any();
    }
    view! { <ul class="failures">{runs.iter().map(row).collect::<Vec<_>>()}</ul> }.into_any()
}

fn row(run: &RunRow) -> AnyView {
    let error = run.error.clone().unwrap_or_else(|| "no message".to_owned());
    view! {
        <li>
            {badge(Mark::Run(run.state))}
            <a href=Route::Run(run.id.clone()).path()>{run.title().to_owned()}</a>
            <span class="failure-text" title=error.clone()>{error.clone()}</span>
            {when_relative(run.finished_at.unwrap_or(run.scheduled_at), run.zone())}
        </li>
    }
    .into_any()
}

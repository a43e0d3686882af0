//! What ended badly in the last day.

use leptos::prelude::*;

use crate::{
    components::{Badge, Mark, When},
    model::RunRow,
    route::Route,
};

/// Newest first, with the error itself.
#[component]
pub(super) fn Failures(runs: Signal<Vec<RunRow>>) -> impl IntoView {
    let row = |run: RunRow| {
        let (title, zone) = (run.title(), run.zone());
        let error = run.error.unwrap_or_else(|| "no message".to_owned());
        view! {
            <li>
                <Badge mark=Mark::Run(run.state)/>
                <a href=Route::Run(run.id).path()>{title}</a>
                <span class="failure-text" title=error.clone()>{error.clone()}</span>
                <When at=run.finished_at.unwrap_or(run.scheduled_at) zone=zone is_relative=true/>
            </li>
        }
    };
    view! {
        <Show
            when=move || runs.with(|runs| !runs.is_empty())
            fallback=|| view! { <p class="empty">"No run has failed."</p> }
        >
            <ul class="failures">
                <For each=move || runs.get() key=|run| run.id.clone() children=row/>
            </ul>
        </Show>
    }
}

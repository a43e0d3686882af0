//! Every attempt at every task.

use leptos::prelude::*;

use crate::{
    components::{Badge, JsonView, Mark, When},
    model::{Attempt, RunDetail},
    time::duration,
};

/// The table; attempts that made output show it below.
#[component]
pub(super) fn Attempts(run: Signal<RunDetail>) -> impl IntoView {
    let attempts = Memo::new(move |_| run.with(|run| run.attempts.clone()));
    let zone = Memo::new(move |_| run.with(|run| run.row.zone()));
    let row = move |attempt: Attempt| {
        let output = attempt.output.filter(|output| !output.is_null());
        view! {
            <tr>
                <td><Badge mark=Mark::Attempt(attempt.state)/></td>
                <th scope="row">{attempt.task.clone()}</th>
                <td class="number">{attempt.attempt}</td>
                <td><When at=attempt.started_at zone=Signal::derive(move || zone.get())/></td>
                <td class="number">{attempt.duration_ms.map_or_else(|| "–".to_owned(), |ms| duration(ms as f64))}</td>
                <td>{attempt.node}</td>
                <td class="why-cell">
                    {attempt.error}
                    {output.map(|output| view! {
                        <details class="output">
                            <summary>"Output"</summary>
                            <JsonView value=output label="Output of the attempt"/>
                        </details>
                    })}
                </td>
            </tr>
        }
    };
    view! {
        <Show
            when=move || attempts.with(|attempts| !attempts.is_empty())
            fallback=|| view! { <p class="empty">"Not started yet."</p> }
        >
            <div class="table-frame" tabindex="0" role="group" aria-label="Attempts">
                <table class="table">
                    <caption class="visually-hidden">"Attempts"</caption>
                    <thead>
                        <tr>
                            <th scope="col">"State"</th>
                            <th scope="col">"Task"</th>
                            <th scope="col" class="number">"No."</th>
                            <th scope="col">"Started"</th>
                            <th scope="col" class="number">"Took"</th>
                            <th scope="col">"Node"</th>
                            <th scope="col">"Result"</th>
                        </tr>
                    </thead>
                    <tbody>
                        <For
                            each=move || attempts.get()
                            key=|attempt| (attempt.id.clone(), Mark::Attempt(attempt.state).state())
                            children=row
                        />
                    </tbody>
                </table>
            </div>
        </Show>
    }
}

//! Runs in a table, live.

use leptos::prelude::*;

use crate::{
    components::{Badge, Mark, When},
    model::{RunRow, RunTrigger},
    route::Route,
    state::{Rows, use_now},
    time::duration,
};

/// A row for each run. Inside a schedule's page the schedule's own column is left out.
#[component]
pub(crate) fn RunTable(
    rows: Rows<RunRow>,
    caption: &'static str,
    #[prop(optional)] hides_schedule: bool,
) -> impl IntoView {
    let first = move |id: &str| rows.all().into_iter().find(|row| row.id == id);
    view! {
        <div class="table-frame" tabindex="0" role="group" aria-label=caption>
            <table class="table">
                <caption class="visually-hidden">{caption}</caption>
                <thead>
                    <tr>
                        <th scope="col">"State"</th>
                        {(!hides_schedule).then(|| view! { <th scope="col">"Schedule"</th> })}
                        <th scope="col">"Scheduled"</th>
                        <th scope="col" class="wide">"Trigger"</th>
                        <th scope="col" class="number wide">"Late"</th>
                        <th scope="col" class="number">"Took"</th>
                        <th scope="col" class="number wide">"Attempt"</th>
                        <th scope="col" class="wide">"Error"</th>
                    </tr>
                </thead>
                <tbody>
                    <For each=move || rows.ids() key=String::clone let:id>
                        {untrack(|| first(&id)).map(|run| view! {
                            <Row row=rows.row(&id, run) hides_schedule=hides_schedule/>
                        })}
                    </For>
                </tbody>
            </table>
        </div>
    }
}

#[component]
fn Row(row: Memo<RunRow>, hides_schedule: bool) -> impl IntoView {
    let run = move || Route::Run(row.with(|row| row.id.clone())).path();
    let title = move || row.with(RunRow::title);
    let now = use_now();
    // A live run's duration counts up; a settled one's stands.
    let took = move || {
        let (taken, started) = row.with(|row| (row.duration_ms, row.started_at));
        match (taken, started) {
            (Some(millis), _) => duration(millis as f64),
            (None, Some(started)) if row.with(|row| row.state.is_live()) => {
                duration(((now.get().since(started)) / 1_000.0).floor().max(0.0) * 1_000.0)
            }
            (None, _) => "–".to_owned(),
        }
    };
    let late = move || {
        row.with(|row| row.lateness_ms).map_or_else(|| "–".to_owned(), |ms| duration(ms as f64))
    };
    view! {
        <tr data-testid="run-row" data-state=move || Mark::Run(row.with(|row| row.state)).state()>
            <td><a class="cell-link" href=run aria-label=move || format!("Run of {}, {}", title(), Mark::Run(row.with(|row| row.state)).word())>
                <Badge mark=Signal::derive(move || Mark::Run(row.with(|row| row.state)))/>
            </a></td>
            {(!hides_schedule).then(|| view! {
                <th scope="row" class="name-cell">
                    {move || match row.with(|row| row.schedule.clone()) {
                        Some(schedule) => view! {
                            <a href=Route::Schedule(schedule.id).path()>{schedule.name}</a>
                        }.into_any(),
                        None => title().into_any(),
                    }}
                </th>
            })}
            <td><When
                at=Signal::derive(move || row.with(|row| row.scheduled_at))
                zone=Signal::derive(move || row.with(RunRow::zone))
                is_relative=true
            /></td>
            <td class="wide">{move || row.with(|row| trigger_words(row.trigger, row.is_recovery))}</td>
            <td class="number wide">{late}</td>
            <td class="number">{took}</td>
            <td class="number wide">{move || row.with(|row| format!("{}/{}", row.attempt, row.max_attempts))}</td>
            <td class="error-cell wide" title=move || row.with(|row| row.error.clone())>
                {move || row.with(|row| row.error.clone())}
            </td>
        </tr>
    }
}

/// Why there is a run.
fn trigger_words(trigger: RunTrigger, is_recovery: bool) -> &'static str {
    match (trigger, is_recovery) {
        (_, true) => "recovery",
        (RunTrigger::Schedule, false) => "schedule",
        (RunTrigger::Manual, false) => "by hand",
        (RunTrigger::Retry, false) => "retry",
    }
}

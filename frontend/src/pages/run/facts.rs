//! Where a run came from and how it went.

use leptos::prelude::*;

use crate::{
    components::{Badge, Fact, FireMark, Mark, When},
    model::{RunDetail, RunTrigger},
    route::Route,
    time::duration,
};

/// Times, lateness, origin, keys.
#[component]
pub(super) fn Facts(run: Signal<RunDetail>) -> impl IntoView {
    move || facts(run.get())
}

fn facts(run: RunDetail) -> impl IntoView {
    let zone = run.row.zone();
    let row = run.row;
    let time = |name: &'static str, at: Option<crate::time::Moment>| {
        let zone = zone.clone();
        at.map(|at| view! { <Fact name=name><When at=at zone=zone is_relative=true/></Fact> })
    };
    let trigger = match row.trigger {
        RunTrigger::Schedule => "its schedule",
        RunTrigger::Manual => "by hand",
        RunTrigger::Retry => "a retry",
    };
    let waits = (row.started_at.is_none() && row.state.is_live()).then_some(run.available_at);
    view! {
        <dl class="facts">
            <Fact name="Started by">
                {trigger}{row.is_recovery.then_some(", recovered")}
                {run.retry_of.map(|id| view! { " of "<a href=Route::Run(id).path()>"an earlier run"</a> })}
            </Fact>
            {run.origin.map(|origin| view! {
                <Fact name="Fire">
                    <Badge mark=Mark::Verdict(origin.verdict)/>" "{origin.reason}
                    <span class="cell-note">
                        {origin.local.replace('T', " ")}" "{origin.offset}<FireMark kind=origin.kind/>
                        {(origin.recovery_attempts > 0).then(|| format!(", {} recovery attempts", origin.recovery_attempts))}
                    </span>
                </Fact>
            })}
            {time("Scheduled", Some(row.scheduled_at))}
            {time("Created", Some(row.created_at))}
            {time("Not before", waits)}
            {time("Started", row.started_at)}
            {time("Finished", row.finished_at)}
            {row.lateness_ms.map(|ms| view! { <Fact name="Late">{duration(ms as f64)}</Fact> })}
            {row.duration_ms.map(|ms| view! { <Fact name="Took">{duration(ms as f64)}</Fact> })}
            <Fact name="Attempt">{format!("{} of {}", row.attempt, row.max_attempts)}</Fact>
            {run.cancel.map(|(by, reason, at)| view! {
                <Fact name="Cancelled">
                    "by "{by}" "<When at=at zone=zone.clone()/>
                    {reason.map(|reason| view! { <span class="cell-note">{reason}</span> })}
                </Fact>
            })}
            <Fact name="Workflow">{row.workflow}" version "{run.workflow_version}</Fact>
            {row.node.map(|node| view! { <Fact name="Node">{node}</Fact> })}
            <Fact name="Idempotency key"><code class="break">{run.idempotency_key}</code></Fact>
            <Fact name="Id"><code class="break">{row.id}</code></Fact>
        </dl>
    }
}

//! The origin of a run, and its times.

use leptos::prelude::*;

use crate::{
    components::{Mark, badge, fact, fire_mark, when, when_relative},
    model::{Origin, RunDetail, RunTrigger},
    route::Route,
    time::{Moment, amount, duration, local_words},
};

/// The facts of a run: times, lateness, origin, ids.
pub(super) fn facts(run: &RunDetail) -> AnyView {
    let (row, more) = (&run.row, &run.more);
    let time = |name, at: Moment| fact(name, when_relative(at, row.zone()));
    let mut facts = vec![fact("Started by", trigger(run))];
    facts.extend(more.fire.as_ref().map(|origin| fact("Fire", fire(origin))));
    facts.push(time("Scheduled", row.scheduled_at));
    facts.push(time("Created", row.created_at));
    if row.started_at.is_none() && row.state.is_live() {
        facts.push(time("Not before", more.available_at));
    }
    facts.extend(row.started_at.map(|at| time("Started", at)));
    facts.extend(row.finished_at.map(|at| time("Finished", at)));
    facts.extend(row.lateness_ms.map(|millis| fact("Late", duration(millis))));
    facts.extend(row.duration_ms.map(|millis| fact("Took", duration(millis))));
    // If there are several tasks, each counts its own attempts, so the run has no number of
    // attempts.
    if run.more.tasks.len() == 1 {
        facts.push(fact("Attempt", format!("{} of {}", row.attempt, row.max_attempts)));
    }
    facts.extend(more.cancel.as_ref().map(|cancel| {
        let reason = cancel.reason.clone();
        let reason = reason.map(|text| view! { <span class="cell-note">{text}</span> }.into_any());
        let at = when(cancel.at, row.zone());
        fact("Cancelled", view! { "by "{cancel.by.clone()}" "{at}{reason} })
    }));
    facts.push(fact("Workflow", workflow(run)));
    let node = |name: String| fact("Node", view! { <a href=Route::Cluster.path()>{name}</a> });
    facts.extend(row.node.clone().map(node));
    facts.push(fact("Idempotency key", code(&more.idempotency_key)));
    facts.push(fact("Id", code(&row.id)));
    view! { <dl class="facts">{facts}</dl> }.into_any()
}

/// The workflow and its version. A deleted one has no page to link to.
fn workflow(run: &RunDetail) -> AnyView {
    let (work, name) = (&run.more.work, run.row.workflow.name.clone());
    let version = format!(" version {}", run.more.workflow_version);
    if work.deleted_at.is_some() {
        return view! { {name}{version}" "<span class="cell-note">"deleted"</span> }.into_any();
    }
    let href = Route::Workflow(work.id.clone()).path_at(&run.row.namespace);
    view! { <a href=href>{name}</a>{version} }.into_any()
}

fn code(text: &str) -> AnyView {
    view! { <code class="break">{text.to_owned()}</code> }.into_any()
}

fn trigger(run: &RunDetail) -> AnyView {
    let words = match (run.row.trigger, &run.more.backfill) {
        (RunTrigger::Schedule, _) => "its schedule".into_any(),
        (RunTrigger::Manual, _) => "a manual trigger".into_any(),
        (RunTrigger::Retry, _) => "a retry".into_any(),
        (RunTrigger::Backfill, None) => "a backfill".into_any(),
        (RunTrigger::Backfill, Some(backfill)) => {
            let href = Route::Backfill(backfill.id.clone()).path_at(&run.row.namespace);
            view! { <a href=href>"a backfill"</a> }.into_any()
        }
    };
    let earlier =
        run.more.retry_of.clone().map(|id| {
            view! { " of "<a href=Route::Run(id).path()>"an earlier run"</a> }.into_any()
        });
    view! { {words}{run.row.is_recovery.then_some(", recovered")}{earlier} }.into_any()
}

fn fire(origin: &Origin) -> AnyView {
    let recovered = (origin.recovery_attempts > 0).then(|| {
        format!(", {}", amount(origin.recovery_attempts, "recovery attempt", "recovery attempts"))
    });
    view! {
        {badge(Mark::Verdict(origin.verdict))}" "{origin.reason.text.clone()}
        <span class="cell-note">
            {format!("{} {}", local_words(&origin.local, Moment::now()), origin.offset)}
            {fire_mark(origin.kind)}
            {recovered}
        </span>
    }
    .into_any()
}

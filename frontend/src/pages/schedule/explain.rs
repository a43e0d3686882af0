//! An explanation of one fire: the facts behind the decision, step by step, and the rules that decided.

use leptos::prelude::*;

use crate::{
    components::{Mark, When, badge, fact, fire_mark, reason_text},
    model::{Fire, Verdict},
    route::Route,
    time::{Moment, amount, duration, local_words},
};

/// The explanation, from the timing to the run; `rules` are those of the version that planned it.
pub(in crate::pages) fn explain(fire: &Fire, zone: Option<String>, rules: AnyView) -> AnyView {
    let exact = |at: Moment| When::new(at).zone(zone.clone()).focusable().view();
    let delay = |from: Moment, to: Moment| duration(to.since(from).max(0));
    let mut facts = vec![
        fact(
            "Verdict",
            view! { {badge(Mark::Verdict(fire.verdict))}" "{reason_text(&fire.reason.text)} },
        ),
        fact(
            "The timing said",
            view! {
                {format!("{} {}", local_words(&fire.local, Moment::now()), fire.offset)}" "{fire_mark(fire.kind)}
                " by version "{fire.schedule_version}
            },
        ),
    ];
    if fire.due_at != fire.scheduled_at {
        let words = format!("{} later, for jitter: ", delay(fire.scheduled_at, fire.due_at));
        facts.push(fact("It was due", view! { {words}{exact(fire.due_at)} }));
    }
    let claimed = format!(" after {}", delay(fire.due_at, fire.claimed_at));
    let node = fire.node.clone().map(|node| format!(", by {node}")).unwrap_or_default();
    facts.push(fact("Claimed", view! { {exact(fire.claimed_at)}{claimed}{node} }));
    facts.extend(fire.decided_at.map(|at| {
        let words = format!(" after {}", delay(fire.claimed_at, at));
        fact("Decided", view! { {exact(at)}{words} })
    }));
    if fire.recovery_attempts > 0 {
        facts.push(fact("Recovery", amount(fire.recovery_attempts, "attempt", "attempts")));
    }
    if fire.count > 1 {
        let words = format!("{} instants, the last ", fire.count);
        facts.push(fact("Stands for", view! { {words}{exact(fire.last_scheduled_at)} }));
    }
    match &fire.run {
        Some(run) => {
            let href = Route::Run(run.id.clone()).path();
            let started = run.started_at.map(|at| view! { " from "{exact(at)} }.into_any());
            let node = run.node.clone().map(|node| format!(" on {node}"));
            facts.push(fact(
                "Run",
                view! { <a href=href>{badge(Mark::Run(run.state))}</a>{started}{node} },
            ));
        }
        None if fire.verdict == Verdict::Pending => facts.push(fact("Run", "none yet")),
        None => facts.push(fact("Run", "none")),
    }
    view! { <dl class="facts explain">{facts}</dl>{rules} }.into_any()
}

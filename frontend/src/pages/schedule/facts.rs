//! Policies and targets: how it behaves, and what it does.

use leptos::prelude::*;

use super::part;
use crate::{
    components::{Fact, JsonView, Panel, When},
    model::{
        Backoff, CatchUp, GapPolicy, Misfire, OverlapHourPolicy, OverlapPolicy, Retry,
        ScheduleDetail, Target, Task,
    },
    time::{Moment, seconds},
};

/// Two panels: what it does, and how it behaves.
#[component]
pub(super) fn Facts(schedule: Signal<ScheduleDetail>) -> impl IntoView {
    let tasks = part(schedule, |schedule| schedule.tasks.clone());
    let shown =
        part(schedule, |schedule| ScheduleDetail { next_fires: Vec::new(), ..schedule.clone() });
    let workflow = part(schedule, |schedule| schedule.row.workflow.clone());
    view! {
        <Panel title="Target" aside=move || view! { <span class="muted">"workflow "{workflow}</span> }>
            {move || tasks.get().into_iter().map(task_facts).collect_view()}
        </Panel>
        <Panel title="Policies">
            {move || policies(shown.get())}
        </Panel>
    }
}

fn task_facts(task: Task) -> impl IntoView {
    view! {
        <dl class="facts">
            <Fact name="Task">{task.name}</Fact>
            {target_facts(task.target)}
            <Fact name="Timeout">{format!("{}, then {} to end", whole(task.timeout_seconds), whole(task.kill_grace_seconds))}</Fact>
            <Fact name="Attempts">{retry_words(task.retry)}</Fact>
        </dl>
    }
}

fn target_facts(target: Target) -> AnyView {
    match target {
        Target::Http { method, url, headers, body, expected_status, signed } => view! {
            <Fact name="HTTP"><code>{method}" "{url}</code></Fact>
            {(!headers.is_empty()).then(|| view! {
                <Fact name="Headers">
                    {headers.into_iter().map(|(name, value)| view! { <code class="line">{name}": "{value}</code> }).collect_view()}
                </Fact>
            })}
            {body.map(|body| view! { <Fact name="Body"><code>{body}</code></Fact> })}
            <Fact name="Expects">{expected_status.join(", ")}</Fact>
            <Fact name="Signed">{if signed { "yes" } else { "no" }}</Fact>
        }
        .into_any(),
        Target::Command { program, args, script, directory, user } => view! {
            {program.map(|program| view! {
                <Fact name="Command"><code>{program}" "{args.join(" ")}</code></Fact>
            })}
            {script.map(|script| view! { <Fact name="Script"><pre class="script" tabindex="0">{script}</pre></Fact> })}
            {directory.map(|directory| view! { <Fact name="Directory"><code>{directory}</code></Fact> })}
            {user.map(|user| view! { <Fact name="User">{user}</Fact> })}
        }
        .into_any(),
        Target::Noop { note } => view! {
            <Fact name="Does">"nothing"{(!note.is_empty()).then(|| format!(": {note}"))}</Fact>
        }
        .into_any(),
    }
}

fn policies(schedule: ScheduleDetail) -> impl IntoView {
    let zone = StoredValue::new(Some(schedule.row.zone.clone()));
    let time = move |name: &'static str, at: Moment| {
        view! { <Fact name=name><When at=at zone=zone.get_value()/></Fact> }
    };
    let (start, end) = (schedule.policy.start_at, schedule.policy.end_at);
    let has_context = schedule.context.as_object().is_some_and(|context| !context.is_empty());
    view! {
        <dl class="facts">
            <Fact name="Misfire">{misfire_words(schedule.misfire)}</Fact>
            <Fact name="Overlap">{match schedule.overlap {
                OverlapPolicy::Skip => "skip while a run is alive",
                OverlapPolicy::Allow => "runs may overlap",
            }}</Fact>
            <Fact name="Clock forward">{match schedule.policy.gap {
                GapPolicy::Shift => "fire right after the gap",
                GapPolicy::Skip => "leave out what does not exist",
            }}</Fact>
            <Fact name="Clock back">{match schedule.policy.overlap {
                OverlapHourPolicy::First => "fire in the first pass",
                OverlapHourPolicy::Last => "fire in the second pass",
                OverlapHourPolicy::Both => "fire in both passes",
            }}</Fact>
            {(schedule.policy.jitter_seconds > 0).then(|| view! {
                <Fact name="Jitter">{format!("up to {}", seconds(schedule.policy.jitter_seconds))}</Fact>
            })}
            {schedule.start_deadline_seconds.map(|deadline| view! {
                <Fact name="Start deadline">{seconds(deadline)}</Fact>
            })}
            {start.map(|at| time("From", at))}
            {end.map(|at| time("Until", at))}
            {schedule.module.map(|module| view! { <Fact name="Declared in">{module}</Fact> })}
            {time("Created", schedule.created_at)}
            {time("Changed", schedule.updated_at)}
        </dl>
        {has_context.then(|| view! { <JsonView value=schedule.context label="Context"/> })}
    }
}

fn misfire_words(misfire: Misfire) -> String {
    let after = format!("missed after {}", seconds(misfire.grace_seconds));
    match misfire.catch_up {
        CatchUp::Skip => format!("{after}, then left out"),
        CatchUp::Latest => {
            format!("{after}; the latest is caught up within {}", seconds(misfire.window_seconds))
        }
        CatchUp::All => format!(
            "{after}; up to {} are caught up within {}, {} apart",
            misfire.max,
            seconds(misfire.window_seconds),
            seconds(misfire.spacing_seconds),
        ),
    }
}

fn retry_words(retry: Retry) -> String {
    if retry.max_attempts <= 1 {
        return "one".to_owned();
    }
    let first = whole(retry.initial_seconds);
    match retry.backoff {
        Backoff::Fixed => format!("up to {}, {first} apart", retry.max_attempts),
        Backoff::Exponential => format!(
            "up to {}, {first} apart and doubling to {}",
            retry.max_attempts,
            whole(retry.max_seconds)
        ),
    }
}

/// Seconds that need not be whole.
fn whole(value: f64) -> String {
    if value.fract() == 0.0 { seconds(value as i64) } else { format!("{value} s") }
}

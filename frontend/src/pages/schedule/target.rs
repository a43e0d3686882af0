//! The targets of a schedule, task by task.

use leptos::prelude::*;

use crate::{
    components::fact,
    model::{Backoff, Command, Http, Pair, Publish, Retry, ScheduleDetail, Target, Task},
    time::{decimal, seconds},
};

/// The tasks, one below another.
pub(super) fn target(schedule: &ScheduleDetail) -> AnyView {
    match schedule.more.work.tasks() {
        Ok(tasks) => tasks.iter().map(task_facts).collect::<Vec<_>>().into_any(),
        Err(failure) => view! { <p class="form-error">{failure.message}</p> }.into_any(),
    }
}

fn task_facts(task: &Task) -> AnyView {
    let limit = [task.timeout_seconds, task.kill_grace_seconds].map(whole);
    view! {
        <dl class="facts">
            {fact("Task", task.name.clone())}
            {target_facts(&task.target)}
            {fact("Timeout", format!("{}, then {} to stop", limit[0], limit[1]))}
            {fact("Attempts", retry_words(task.retry))}
        </dl>
    }
    .into_any()
}

fn target_facts(target: &Target) -> Vec<AnyView> {
    match target {
        Target::Http(http) => http_facts(http),
        Target::Command(command) => command_facts(command),
        Target::Publish(publish) => publish_facts(publish),
        Target::Worker(worker) => {
            let mut facts =
                vec![fact("Worker", format!("{} in the queue {}", worker.task, worker.queue))];
            facts.extend(worker.input.as_ref().map(|input| fact("Input", code(input.to_string()))));
            if !worker.tags.is_empty() {
                facts.push(fact("Tags", worker.tags.join(", ")));
            }
            facts
        }
        Target::Noop(noop) if noop.note.is_empty() => vec![fact("Does", "nothing")],
        Target::Noop(noop) => vec![fact("Does", format!("nothing: {}", noop.note))],
    }
}

fn http_facts(http: &Http) -> Vec<AnyView> {
    let mut facts = vec![fact("HTTP", code(format!("{} {}", http.method, http.url)))];
    facts.extend(pairs("Headers", &http.headers, ": "));
    facts.extend(http.body.clone().map(|body| fact("Body", code(body))));
    facts.push(fact("Expects", http.expected_status.join(", ")));
    facts.push(fact("Signed", if http.signed { "yes" } else { "no" }));
    facts
}

fn command_facts(command: &Command) -> Vec<AnyView> {
    let mut facts = Vec::new();
    facts.extend(
        command
            .program
            .as_ref()
            .map(|program| fact("Command", code(format!("{program} {}", command.args.join(" "))))),
    );
    facts.extend(
        command.script.clone().map(|script| {
            fact("Script", view! { <pre class="script" tabindex="0">{script}</pre> })
        }),
    );
    facts.extend(pairs("Environment", &command.environment, "="));
    facts.extend(command.directory.clone().map(|directory| fact("Directory", code(directory))));
    facts.extend(command.user.clone().map(|user| fact("User", user)));
    facts
}

fn publish_facts(publish: &Publish) -> Vec<AnyView> {
    let mut facts = vec![fact("Publishes to", code(publish.place()))];
    let servers = publish.servers();
    facts.extend((!servers.is_empty()).then(|| fact("Servers", code(servers.join(", ")))));
    let kind = publish.event_type().unwrap_or("carillon.fire");
    facts.push(fact("Event", format!("{kind}, {}", publish.mode())));
    facts.extend(publish.payload().map(|payload| fact("Payload", code(payload.to_owned()))));
    facts.extend(pairs("Headers", &publish.headers(), ": "));
    facts
}

fn code(text: String) -> AnyView {
    view! { <code>{text}</code> }.into_any()
}

fn pairs(name: &'static str, pairs: &[Pair], apart: &'static str) -> Option<AnyView> {
    let line = |pair: &Pair| {
        let text = format!("{}{apart}{}", pair.name, pair.value);
        view! { <code class="line">{text}</code> }.into_any()
    };
    (!pairs.is_empty()).then(|| fact(name, pairs.iter().map(line).collect::<Vec<_>>()))
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

/// A number of seconds, with decimals only if it is not whole.
fn whole(value: f64) -> String {
    if value.fract() == 0.0 { seconds(value as i64) } else { format!("{} s", decimal(value)) }
}

//! Policies and targets: how it behaves, and what it does.

use leptos::prelude::*;

use crate::{
    components::{fact, json_view, when},
    model::{
        Backoff, Broker, CatchUp, Command, GapPolicy, Http, Misfire, OverlapHourPolicy,
        OverlapPolicy, Pair, Publish, Retry, ScheduleDetail, Target, Task,
    },
    time::{decimal, seconds},
};

/// What it does, task by task.
pub(super) fn target(schedule: &ScheduleDetail) -> AnyView {
    schedule.more.work.tasks.iter().map(task_facts).collect::<Vec<_>>().into_any()
}

fn task_facts(task: &Task) -> AnyView {
    let limit = [task.timeout_seconds, task.kill_grace_seconds].map(whole);
    view! {
        <dl class="facts">
            {fact("Task", task.name.clone())}
            {target_facts(&task.target)}
            {fact("Timeout", format!("{}, then {} to end", limit[0], limit[1]))}
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
    let (place, servers) = match &publish.to {
        Broker::Kafka { connection, topic, key } => {
            let key = key.as_ref().map(|key| format!(" with the key {key}")).unwrap_or_default();
            (format!("Kafka topic {topic}{key}"), Some(connection))
        }
        Broker::Nats { connection, subject } => {
            (format!("NATS subject {subject}"), Some(connection))
        }
        Broker::Rabbitmq { connection, exchange, routing_key } => {
            let place = if exchange.is_empty() {
                format!("RabbitMQ queue {routing_key}")
            } else {
                format!("RabbitMQ exchange {exchange} with the key {routing_key}")
            };
            (place, Some(connection))
        }
        Broker::Redis { connection, name } => (format!("Redis stream {name}"), Some(connection)),
        Broker::Sqs { queue_url } => (format!("SQS queue {queue_url}"), None),
    };
    let mut facts = vec![fact("Publishes to", code(place))];
    let servers = servers.map(|connection| connection.servers.join(", "));
    facts.extend(servers.map(|servers| fact("Servers", code(servers))));
    let kind = publish.event.kind.clone().unwrap_or_else(|| "carillon.fire".to_owned());
    facts.push(fact("Event", format!("{kind}, {}", publish.event.mode.to_lowercase())));
    facts.extend(publish.event.payload.clone().map(|payload| fact("Payload", code(payload))));
    facts.extend(pairs("Headers", &publish.event.headers, ": "));
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

/// How it behaves.
pub(super) fn policies(schedule: &ScheduleDetail) -> AnyView {
    let (row, more) = (&schedule.row, &schedule.more);
    let time = |name, at| fact(name, when(at, row.zone()));
    let mut facts = vec![
        fact("Misfire", misfire_words(more.misfire)),
        fact(
            "Overlap",
            match more.on_overlap {
                OverlapPolicy::Skip => "skip while a run is alive",
                OverlapPolicy::BufferOne => "one fire waits while a run is alive",
                OverlapPolicy::BufferAll => "fires wait while a run is alive",
                OverlapPolicy::CancelOther => "a later fire cancels the run and waits for its end",
                OverlapPolicy::TerminateOther => "a later fire ends the run",
                OverlapPolicy::Allow => "runs may overlap",
            },
        ),
        fact(
            "Clock forward",
            match more.policy.gap {
                GapPolicy::Shift => "fire right after the gap",
                GapPolicy::Skip => "leave out what does not exist",
            },
        ),
        fact(
            "Clock back",
            match more.policy.overlap {
                OverlapHourPolicy::First => "fire in the first pass",
                OverlapHourPolicy::Last => "fire in the second pass",
                OverlapHourPolicy::Both => "fire in both passes",
            },
        ),
    ];
    facts.extend(more.buffer_limit.map(|limit| fact("Buffer", format!("at most {limit} fires"))));
    facts.extend(more.group.clone().map(|group| fact("Group", group)));
    if more.priority != 0 {
        facts.push(fact("Priority", more.priority.to_string()));
    }
    if more.policy.jitter_seconds > 0 {
        facts.push(fact("Jitter", format!("up to {}", seconds(more.policy.jitter_seconds))));
    }
    facts.extend(
        more.start_deadline_seconds.map(|deadline| fact("Start deadline", seconds(deadline))),
    );
    facts.extend(more.retention_days.map(|days| fact("History", format!("kept for {days} days"))));
    if !more.calendars.is_empty() {
        let names: Vec<&str> = more.calendars.iter().map(|named| named.name.as_str()).collect();
        facts.push(fact("Calendars", names.join(", ")));
    }
    facts.extend(more.max_fires.map(|most| fact("At most", format!("{most} fires"))));
    facts.extend(more.policy.start_at.map(|at| time("From", at)));
    facts.extend(more.policy.end_at.map(|at| time("Until", at)));
    facts.extend(more.module.clone().map(|module| fact("Declared in", module)));
    facts.push(time("Created", more.created_at));
    facts.push(time("Changed", more.updated_at));
    let has_context = more.context.as_object().is_some_and(|context| !context.is_empty());
    let context = has_context.then(|| json_view(&more.context, "Context"));
    view! { <dl class="facts">{facts}</dl>{context} }.into_any()
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
    if value.fract() == 0.0 { seconds(value as i64) } else { format!("{} s", decimal(value)) }
}

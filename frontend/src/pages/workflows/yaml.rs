//! A workflow as a module file declares it. Values that the server masks stay masked.

use crate::{
    model::{Broker, Publish, Step, Target, TaskCondition, Workflow},
    time::decimal,
};

/// The part of a module file that declares the workflow.
pub(super) fn of(workflow: &Workflow) -> String {
    let mut lines = vec!["workflows:".to_owned(), format!("  {}:", text(&workflow.name))];
    if let Some(seconds) = workflow.timeout_seconds {
        lines.push(format!("    timeout: {}s", decimal(seconds)));
    }
    if workflow.max_parallel != 8 {
        lines.push(format!("    max_parallel: {}", workflow.max_parallel));
    }
    if !workflow.runs_on.is_empty() {
        lines.push(format!("    runs_on: {}", list(&workflow.runs_on)));
    }
    lines.push("    tasks:".to_owned());
    for task in &workflow.tasks {
        lines.extend(step(task).into_iter().map(|line| format!("      {line}")));
    }
    lines.join("\n")
}

/// One task: one line for each field that is set.
pub(super) fn step(task: &Step) -> Vec<String> {
    let mut lines = vec![format!("- name: {}", text(&task.name))];
    let mut say = |line: String| lines.push(format!("  {line}"));
    if !task.needs.is_empty() {
        say(format!("needs: {}", list(&task.needs)));
    }
    match task.when {
        TaskCondition::Success => {}
        TaskCondition::Failure => say("when: failure".to_owned()),
        TaskCondition::Always => say("when: always".to_owned()),
    }
    if task.allow_failure {
        say("allow_failure: true".to_owned());
    }
    say(format!("timeout: {}s", decimal(task.timeout_seconds)));
    if task.retry.max_attempts > 1 {
        say("retry:".to_owned());
        say(format!("  max_attempts: {}", task.retry.max_attempts));
        say(format!("  initial: {}s", decimal(task.retry.initial_seconds)));
        say(format!("  max: {}s", decimal(task.retry.max_seconds)));
    }
    if !task.retry_on.is_empty() {
        say(format!("retry_on: {}", list(&task.retry_on)));
    }
    say("target:".to_owned());
    for line in target(&task.target) {
        say(format!("  {line}"));
    }
    lines
}

fn target(target: &Target) -> Vec<String> {
    let mut lines = Vec::new();
    match target {
        Target::Http(http) => {
            lines.push("http:".to_owned());
            lines.push(format!("  method: {}", http.method));
            lines.push(format!("  url: {}", text(&http.url)));
            if !http.headers.is_empty() {
                lines.push("  headers:".to_owned());
                for header in &http.headers {
                    lines.push(format!("    {}: {}", text(&header.name), text(&header.value)));
                }
            }
            if let Some(body) = &http.body {
                lines.extend(block("body", body));
            }
        }
        Target::Command(command) => {
            lines.push("command:".to_owned());
            if let Some(program) = &command.program {
                lines.push(format!("  program: {}", text(program)));
            }
            if !command.args.is_empty() {
                lines.push(format!("  args: {}", list(&command.args)));
            }
            if let Some(script) = &command.script {
                lines.extend(block("script", script));
            }
            if !command.environment.is_empty() {
                lines.push("  environment:".to_owned());
                for variable in &command.environment {
                    lines.push(format!("    {}: {}", text(&variable.name), text(&variable.value)));
                }
            }
            if let Some(directory) = &command.directory {
                lines.push(format!("  directory: {}", text(directory)));
            }
            if let Some(user) = &command.user {
                lines.push(format!("  user: {}", text(user)));
            }
        }
        Target::Publish(publish) => lines.extend(published(publish)),
        Target::Worker(worker) => {
            lines.push("worker:".to_owned());
            lines.push(format!("  queue: {}", text(&worker.queue)));
            lines.push(format!("  task: {}", text(&worker.task)));
            // JSON is YAML.
            lines.extend(worker.input.as_ref().map(|input| format!("  input: {input}")));
            if !worker.tags.is_empty() {
                lines.push(format!("  tags: [{}]", worker.tags.join(", ")));
            }
        }
        Target::Noop(_) => lines.push("noop: {}".to_owned()),
    }
    lines
}

fn published(publish: &Publish) -> Vec<String> {
    let (broker, places) = match &publish.to {
        Broker::Kafka { topic, key, .. } => {
            ("kafka", vec![("topic", Some(topic)), ("key", key.as_ref())])
        }
        Broker::Nats { subject, .. } => ("nats", vec![("subject", Some(subject))]),
        Broker::Rabbitmq { exchange, routing_key, .. } => {
            ("rabbitmq", vec![("exchange", Some(exchange)), ("routing_key", Some(routing_key))])
        }
        Broker::Redis { name, .. } => ("redis", vec![("stream", Some(name))]),
        Broker::Sqs { queue_url } => ("sqs", vec![("queue_url", Some(queue_url))]),
    };
    let mut lines = vec!["publish:".to_owned(), "  to:".to_owned(), format!("    {broker}:")];
    if !publish.servers().is_empty() {
        lines.push(format!("      connection: {{ servers: {} }}", list(publish.servers())));
    }
    let places = places.into_iter().filter_map(|(name, value)| Some((name, value?)));
    lines.extend(places.map(|(name, value)| format!("      {name}: {}", text(value))));
    lines.push("  event:".to_owned());
    lines.push(format!("    mode: {}", publish.event.mode.to_lowercase()));
    lines.extend(publish.event.kind.iter().map(|kind| format!("    type: {}", text(kind))));
    lines.extend(publish.event.payload.iter().map(|payload| format!("    payload: {payload}")));
    if !publish.event.headers.is_empty() {
        lines.push("    headers:".to_owned());
        for header in &publish.event.headers {
            lines.push(format!("      {}: {}", text(&header.name), text(&header.value)));
        }
    }
    lines
}

/// A value of several lines in a block below its key, or a single line after it.
fn block(key: &str, value: &str) -> Vec<String> {
    if !value.contains('\n') {
        return vec![format!("  {key}: {}", text(value))];
    }
    let head = format!("  {key}: |");
    std::iter::once(head)
        .chain(value.trim_end().lines().map(|line| format!("    {line}")))
        .collect()
}

fn list(values: &[String]) -> String {
    let values: Vec<String> = values.iter().map(|value| text(value)).collect();
    format!("[{}]", values.join(", "))
}

/// A text that YAML reads as the same text: bare if that is safe, otherwise as a JSON string, which is valid YAML.
fn text(value: &str) -> String {
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    let begins = value.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '/');
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_word = words.iter().any(|word| value.eq_ignore_ascii_case(word));
    if begins && !is_word && value.chars().all(is_safe) {
        value.to_owned()
    } else {
        serde_json::Value::from(value).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_quoted_where_yaml_would_read_something_else() {
        let written = ["report", "/usr/bin/env", "yes", "12", "a: b", ""].map(text);
        assert_eq!(written, ["report", "/usr/bin/env", "\"yes\"", "\"12\"", "\"a: b\"", "\"\""]);
    }

    #[test]
    fn several_lines_become_a_block() {
        assert_eq!(block("script", "true"), ["  script: \"true\""]);
        assert_eq!(block("script", "a\n  b\n"), ["  script: |", "    a", "      b"]);
    }
}

//! A workflow as YAML: a single entry of `workflows:` in a module file (pure). Default values are left out. Only the
//! server parses YAML.
//!
//! - `node`: the values of the text, and writing them

mod node;

use serde_json::Value;

use self::node::{Node, written};
use super::{
    definition::{Definition, RetryDefinition, TaskDefinition},
    usual::{USUAL_GRACE, USUAL_PARALLEL, USUAL_REDIRECTS, USUAL_TIMEOUT},
};
use crate::{
    model::{Backoff, HttpAnswer, Pair, TaskCondition},
    pages::task_form::{
        Action, AddressAction, BrokerAction, CommandAction, EventAction, HttpAction, PublishAction,
    },
};

/// The keys of an object, in their order.
#[derive(Default)]
struct Keys(Vec<(String, Node)>);

impl Keys {
    fn put(&mut self, key: &str, node: Option<Node>) {
        self.0.extend(node.map(|node| (key.to_owned(), node)));
    }

    fn node(self) -> Node {
        Node::Map(self.0)
    }

    fn some(self) -> Option<Node> {
        (!self.0.is_empty()).then(|| self.node())
    }
}

/// The workflow under its name.
pub(super) fn of(definition: &Definition) -> String {
    let mut keys = Keys::default();
    keys.put("timeout", definition.timeout_seconds.map(duration));
    keys.put("max_parallel", number(definition.max_parallel, USUAL_PARALLEL));
    keys.put("runs_on", list(&definition.runs_on));
    keys.put("tasks", Some(Node::List(definition.tasks.iter().map(task).collect())));
    written(&[(definition.name.clone(), keys.node())])
}

fn task(task: &TaskDefinition) -> Node {
    let when = match task.when {
        TaskCondition::Success => None,
        TaskCondition::Failure => Some(text("failure")),
        TaskCondition::Always => Some(text("always")),
    };
    let mut keys = Keys::default();
    keys.put("name", Some(text(&task.name)));
    keys.put("needs", list(&task.needs));
    keys.put("when", when);
    keys.put("allow_failure", yes(task.allow_failure));
    keys.put("target", Some(target(&task.target)));
    keys.put("timeout", span(task.timeout_seconds, USUAL_TIMEOUT));
    keys.put("kill_grace", span(task.kill_grace_seconds, USUAL_GRACE));
    keys.put("retry", retry(task.retry));
    keys.put("retry_on", list(&task.retry_on));
    keys.node()
}

fn retry(retry: RetryDefinition) -> Option<Node> {
    let usual = RetryDefinition::default();
    let mut keys = Keys::default();
    keys.put("max_attempts", number(retry.max_attempts, usual.max_attempts));
    keys.put("backoff", (retry.backoff == Backoff::Fixed).then(|| text("fixed")));
    keys.put("initial", span(retry.initial_seconds, usual.initial_seconds));
    keys.put("max", span(retry.max_seconds, usual.max_seconds));
    keys.put("jitter", (retry.jitter != usual.jitter).then(|| json(&retry.jitter.into())));
    keys.some()
}

fn target(action: &Action) -> Node {
    let mut keys = Keys::default();
    match action {
        Action::Http(http) => request(&mut keys, http),
        Action::Command(command) => program(&mut keys, command),
        Action::Publish(publish) => event(&mut keys, publish),
        Action::Worker(worker) => {
            keys.put("queue", Some(text(&worker.queue)));
            keys.put("task", Some(text(&worker.task)));
            keys.put("input", worker.input.as_ref().map(json));
            keys.put("tags", list(&worker.tags));
        }
        Action::Noop(noop) => keys.put("note", given(&noop.note)),
    }
    Node::Map(vec![(action.kind().to_owned(), keys.node())])
}

fn request(keys: &mut Keys, http: &HttpAction) {
    let body = http.body.as_deref().map(text).or_else(|| http.json.as_ref().map(json));
    let statuses = http.expected_status.as_ref().filter(|statuses| **statuses != ["200-299"]);
    let statuses = statuses.map(|all| Node::List(all.iter().map(|one| status(one)).collect()));
    keys.put("method", (http.method != "POST").then(|| text(&http.method)));
    keys.put("url", Some(text(&http.url)));
    keys.put("headers", pairs(&http.headers));
    keys.put("body", body);
    keys.put("expected_status", statuses);
    keys.put("expected_body", http.expected_body.as_deref().and_then(given));
    keys.put("max_redirects", http.max_redirects.and_then(|most| number(most, USUAL_REDIRECTS)));
    keys.put("output", (http.output == HttpAnswer::Merge).then(|| text("merge")));
    keys.put("signing_secret", http.signing_secret.as_deref().and_then(given));
    keys.put("client_certificate", http.client_certificate.as_deref().and_then(given));
}

fn status(status: &str) -> Node {
    let is_number = status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { Node::Plain(status.to_owned()) } else { text(status) }
}

fn program(keys: &mut Keys, command: &CommandAction) {
    keys.put("program", command.program.as_deref().map(text));
    keys.put("args", command.args.as_deref().and_then(list));
    keys.put("script", command.script.as_deref().map(text));
    keys.put("env", pairs(&command.environment));
    keys.put("directory", command.directory.as_deref().map(text));
    keys.put("user", command.user.as_deref().map(text));
}

fn event(keys: &mut Keys, publish: &PublishAction) {
    let (to, EventAction { mode, kind, source, subject, payload, headers }) =
        (&publish.to, &publish.event);
    let mut about = Keys::default();
    about.put("mode", (mode != "STRUCTURED").then(|| text(&mode.to_ascii_lowercase())));
    about.put("type", kind.as_deref().map(text));
    about.put("source", source.as_deref().map(text));
    about.put("subject", subject.as_deref().map(text));
    about.put("payload", payload.as_ref().map(json));
    about.put("headers", pairs(headers));
    keys.put("to", Some(Node::Map(vec![(to.kind().to_owned(), broker(to))])));
    keys.put("event", about.some());
}

fn broker(broker: &BrokerAction) -> Node {
    let mut keys = Keys::default();
    match broker {
        BrokerAction::Kafka(kafka) => {
            keys.put("connection", Some(connection(&kafka.connection)));
            keys.put(
                "sasl",
                (kafka.sasl != "PLAIN").then(|| text(&kafka.sasl.to_ascii_lowercase())),
            );
            keys.put("topic", Some(text(&kafka.topic)));
            keys.put("key", kafka.key.as_deref().map(text));
            keys.put("partition", kafka.partition.as_deref().map(text));
        }
        BrokerAction::Nats(nats) => {
            keys.put("connection", Some(connection(&nats.connection)));
            keys.put("subject", Some(text(&nats.subject)));
            keys.put("stream", nats.stream.as_deref().map(text));
        }
        BrokerAction::Rabbitmq(rabbitmq) => {
            keys.put("connection", Some(connection(&rabbitmq.connection)));
            keys.put("vhost", (rabbitmq.vhost != "/").then(|| text(&rabbitmq.vhost)));
            keys.put("exchange", given(&rabbitmq.exchange));
            keys.put("routing_key", Some(text(&rabbitmq.routing_key)));
        }
        BrokerAction::Redis(redis) => {
            keys.put("connection", Some(connection(&redis.connection)));
            keys.put("database", number(redis.database, 0));
            keys.put("stream", Some(text(&redis.stream)));
            keys.put("max_length", redis.max_length.map(|most| Node::Plain(most.to_string())));
        }
        BrokerAction::Sqs(sqs) => {
            keys.put("queue_url", Some(text(&sqs.queue_url)));
            keys.put("region", sqs.region.as_deref().map(text));
            keys.put("access_key_id", Some(text(&sqs.access_key_id)));
            keys.put("secret_access_key", Some(text(&sqs.secret_access_key)));
            keys.put("session_token", sqs.session_token.as_deref().map(text));
            keys.put("group", sqs.group.as_deref().map(text));
        }
    }
    keys.node()
}

fn connection(address: &AddressAction) -> Node {
    let mut keys = Keys::default();
    keys.put("servers", Some(list(&address.servers).unwrap_or(Node::List(vec![]))));
    keys.put("tls", yes(address.tls));
    keys.put("username", address.username.as_deref().map(text));
    keys.put("password", address.password.as_deref().map(text));
    keys.node()
}

fn text(value: &str) -> Node {
    Node::Text(value.to_owned())
}

/// The text, unless it is empty.
fn given(value: &str) -> Option<Node> {
    (!value.is_empty()).then(|| text(value))
}

fn list(values: &[String]) -> Option<Node> {
    let nodes = values.iter().map(|value| text(value));
    (!values.is_empty()).then(|| Node::List(nodes.collect()))
}

fn pairs(pairs: &[Pair]) -> Option<Node> {
    let nodes = pairs.iter().map(|pair| (pair.name.clone(), text(&pair.value)));
    (!pairs.is_empty()).then(|| Node::Map(nodes.collect()))
}

fn number(number: i64, usual: i64) -> Option<Node> {
    (number != usual).then(|| Node::Plain(number.to_string()))
}

fn yes(value: bool) -> Option<Node> {
    value.then(|| Node::Plain("true".to_owned()))
}

fn span(seconds: f64, usual: f64) -> Option<Node> {
    (seconds != usual).then(|| duration(seconds))
}

/// A duration such as `1h30m`, because the units of a module file have no fractions.
fn duration(seconds: f64) -> Node {
    const UNITS: [(&str, u64); 5] =
        [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
    let mut rest = (seconds * 1_000.0).round() as u64;
    if rest == 0 {
        return Node::Plain("0s".to_owned());
    }
    let mut said = String::new();
    for (unit, scale) in UNITS {
        if rest >= scale {
            said.push_str(&format!("{}{unit}", rest / scale));
            rest %= scale;
        }
    }
    Node::Plain(said)
}

fn json(value: &Value) -> Node {
    match value {
        Value::String(value) => text(value),
        Value::Array(items) => Node::List(items.iter().map(json).collect()),
        Value::Object(members) => {
            Node::Map(members.iter().map(|(key, value)| (key.clone(), json(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Node::Plain(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that the server parses to the same definition: the server's tests contain the same two files.
    const SENT: &str =
        include_str!("../../../../../../server/tests/it/api/texts/every_target.json");
    const WRITTEN: &str =
        include_str!("../../../../../../server/tests/it/api/texts/every_target.yaml");

    #[test]
    fn every_target_is_written_as_the_server_reads_it() {
        let definition = Definition::read(SENT).unwrap();
        let text = of(&definition);
        for (number, (line, wanted)) in text.lines().zip(WRITTEN.lines()).enumerate() {
            assert_eq!(line, wanted, "line {}", number + 1);
        }
        assert_eq!(text, WRITTEN);
    }

    #[test]
    fn a_duration_has_no_fraction() {
        let said = [0.0, 0.25, 12.5, 90.0, 5_400.0, 604_800.0].map(duration);
        let wanted = ["0s", "250ms", "12s500ms", "1m30s", "1h30m", "7d"];
        assert_eq!(said, wanted.map(|text| Node::Plain(text.to_owned())));
    }

    #[test]
    fn a_new_workflow_has_a_place_for_its_name() {
        let blank = Definition::blank(vec![TaskDefinition::blank("a".to_owned())]);
        assert_eq!(of(&blank), "\"\":\n  tasks:\n    - name: a\n      target:\n        noop: {}\n");
        assert_eq!(of(&Definition::blank(vec![])), "\"\":\n  tasks: []\n");
    }
}

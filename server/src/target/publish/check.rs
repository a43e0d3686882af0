//! Validates a definition before anything is sent.

use reqwest::header::HeaderName;
use url::Url;

use super::{
    definition::{
        Broker, BrokerConnection, CloudEvent, Kafka, Nats, Publish, Rabbitmq, Redis, Sqs,
    },
    place::HostPort,
    queue,
};
use crate::target::{TargetError, egress::EgressGuard};

/// Maximum size of a payload: the same as for the body of a request.
const MAX_PAYLOAD_BYTES: usize = 256 * 1024;
const MAX_HEADERS: usize = 32;
/// Maximum number of headers of an SQS message. With the headers of a CloudEvent, they are the ten
/// that SQS allows.
const MAX_SQS_HEADERS: usize = 2;
const MAX_SERVERS: usize = 8;
/// The text that is shown instead of a secret.
const MASK: &str = "***";
/// Maximum length of a name: the limit of the protocols, or a lower one that suffices for any name.
const MAX_NAME_BYTES: usize = 250;

/// The default port of a broker.
pub(super) fn default_port(broker: &Broker) -> u16 {
    let tls = broker.connection().is_some_and(|connection| connection.tls);
    match broker {
        Broker::Kafka(_) if tls => 9093,
        Broker::Kafka(_) => 9092,
        Broker::Nats(_) => 4222,
        Broker::Rabbitmq(_) if tls => 5671,
        Broker::Rabbitmq(_) => 5672,
        Broker::Redis(_) => 6379,
        Broker::Sqs(_) => 443,
    }
}

/// Fails if the definition cannot be published.
pub(super) fn check(definition: &Publish, egress: &EgressGuard) -> Result<(), TargetError> {
    available(&definition.to)?;
    event(&definition.event, &definition.to)?;
    no_masks(definition)?;
    if let Some(connection) = definition.to.connection() {
        self::connection(connection, &definition.to, egress)?;
    }
    match &definition.to {
        Broker::Kafka(kafka) => self::kafka(kafka),
        Broker::Nats(nats) => self::nats(nats),
        Broker::Rabbitmq(rabbitmq) => self::rabbitmq(rabbitmq),
        Broker::Redis(redis) => self::redis(redis),
        Broker::Sqs(sqs) => self::sqs(sqs, egress),
    }
}

/// Fails if this build does not support a broker.
fn available(broker: &Broker) -> Result<(), TargetError> {
    let is_there = match broker {
        Broker::Kafka(_) => cfg!(feature = "kafka"),
        Broker::Nats(_) => cfg!(feature = "nats"),
        Broker::Rabbitmq(_) => cfg!(feature = "rabbitmq"),
        Broker::Redis(_) => cfg!(feature = "redis-streams"),
        Broker::Sqs(_) => cfg!(feature = "sqs"),
    };
    if is_there {
        return Ok(());
    }
    let name = broker.name();
    let problem = format!("this build of Carillon cannot publish to `{name}`");
    Err(TargetError::invalid(field(broker, ""), problem, "use a build with all brokers"))
}

/// Refuses secrets that are only masks. They occur when a displayed definition is saved elsewhere.
fn no_masks(definition: &Publish) -> Result<(), TargetError> {
    let mut broker = definition.to.clone();
    for (name, secret) in broker.secrets_mut() {
        if secret.expose() == MASK {
            let field = field(&definition.to, name);
            return Err(invalid(field, "is the mask of a secret", "write `{{ secrets.name }}`"));
        }
    }
    Ok(())
}

/// The path of one of the broker's fields.
pub(super) fn field(broker: &Broker, inner: &str) -> String {
    let dot = if inner.is_empty() { "" } else { "." };
    format!("publish.to.{}{dot}{inner}", broker.name())
}

fn invalid(field: impl Into<String>, problem: &str, help: &str) -> TargetError {
    TargetError::invalid(field, problem, help)
}

fn connection(
    connection: &BrokerConnection,
    broker: &Broker,
    egress: &EgressGuard,
) -> Result<(), TargetError> {
    let servers = field(broker, "connection.servers");
    if connection.servers.is_empty() || connection.servers.len() > MAX_SERVERS {
        let problem = format!("{} servers are given", connection.servers.len());
        return Err(TargetError::invalid(servers, problem, "give 1 to 8"));
    }
    for (index, server) in connection.servers.iter().enumerate() {
        let field = format!("{servers}[{index}]");
        let place = HostPort::read(server, default_port(broker)).map_err(|problem| {
            TargetError::invalid(&field, problem, "write `host` or `host:port`, without a template")
        })?;
        let address = match place.host {
            url::Host::Domain(_) => continue,
            url::Host::Ipv4(address) => std::net::IpAddr::from(address),
            url::Host::Ipv6(address) => std::net::IpAddr::from(address),
        };
        egress.admit_address(address).map_err(|refused| {
            let problem = format!("connections may not go there: {refused}");
            TargetError::invalid(&field, problem, refused.help())
        })?;
    }
    let may_be_alone = matches!(broker, Broker::Nats(_) | Broker::Redis(_));
    match (&connection.username, &connection.password) {
        (Some(_), None) => {
            let field = field(broker, "connection.password");
            Err(invalid(field, "is not given, but `username` is", "give both or neither"))
        }
        (None, Some(_)) if !may_be_alone => {
            let field = field(broker, "connection.username");
            Err(invalid(field, "is not given, but `password` is", "give both or neither"))
        }
        _ => Ok(()),
    }
}

fn event(event: &CloudEvent, broker: &Broker) -> Result<(), TargetError> {
    for (name, text) in
        [("type", &event.kind), ("source", &event.source), ("subject", &event.subject)]
    {
        if let Some(text) = text {
            self::text(&format!("publish.event.{name}"), text)?;
        }
    }
    if let Some(payload) = &event.payload {
        let bytes = payload.as_str().map_or_else(|| payload.to_string().len(), str::len);
        if bytes > MAX_PAYLOAD_BYTES {
            let problem = format!("the payload has {bytes} bytes");
            let help = format!("at most {MAX_PAYLOAD_BYTES} are sent");
            return Err(TargetError::invalid("publish.event.payload", problem, help));
        }
    }
    let most = if matches!(broker, Broker::Sqs(_)) { MAX_SQS_HEADERS } else { MAX_HEADERS };
    if event.headers.len() > most {
        let problem = format!("{} headers are given", event.headers.len());
        let help = format!("{} takes {most} beside those of the event", broker.name());
        return Err(TargetError::invalid("publish.event.headers", problem, help));
    }
    event.headers.iter().try_for_each(|(name, value)| header(name, value.expose()))
}

/// Whether the event or the broker sets the header with this name.
fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_ours = ["ce-", "ce_", "cloudevents:", "nats-", "aws.", "amazon."]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    is_ours || ["content-type", "event"].contains(&&*name)
}

fn header(name: &str, value: &str) -> Result<(), TargetError> {
    if HeaderName::try_from(name).is_err() {
        let shown: String = name.chars().take(64).collect();
        let problem = format!("{shown:?} is not a header name");
        let help = "use letters, digits and hyphens";
        return Err(TargetError::invalid("publish.event.headers", problem, help));
    }
    let field = format!("publish.event.headers.{name}");
    if is_reserved(name) {
        return Err(invalid(field, "is set by Carillon or the broker", "leave it out"));
    }
    if value.is_empty() || value.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        // The message leaves the value out, because it may be a secret.
        let problem = "its value is empty or has a control character";
        return Err(invalid(field, problem, "use printable text, without line ends"));
    }
    Ok(())
}

/// Checks a text for a header or a frame.
fn text(field: &str, text: &str) -> Result<(), TargetError> {
    if text.is_empty() || text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        let problem = "is empty or has a control character";
        return Err(invalid(field, problem, "give printable text, without line ends"));
    }
    if text.len() > 1_024 {
        let problem = format!("has {} bytes", text.len());
        return Err(TargetError::invalid(field, problem, "at most 1024 are sent"));
    }
    Ok(())
}

/// Checks the name of an object in the broker.
fn name(broker: &str, inner: &str, name: &str) -> Result<(), TargetError> {
    let field = format!("publish.to.{broker}.{inner}");
    text(&field, name)?;
    if name.len() > MAX_NAME_BYTES {
        let problem = format!("has {} bytes", name.len());
        let help = format!("at most {MAX_NAME_BYTES} are a name");
        return Err(TargetError::invalid(field, problem, help));
    }
    Ok(())
}

fn kafka(kafka: &Kafka) -> Result<(), TargetError> {
    name("kafka", "topic", &kafka.topic)?;
    let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !kafka.topic.chars().all(is_known) {
        let help = "use letters, digits, dots, underscores and hyphens";
        return Err(invalid("publish.to.kafka.topic", "is not the name of a topic", help));
    }
    if let Some(partition) = &kafka.partition
        && partition.parse::<u16>().is_err()
    {
        let problem = "is not the number of a partition";
        return Err(invalid("publish.to.kafka.partition", problem, "give a number from 0 on"));
    }
    Ok(())
}

fn nats(nats: &Nats) -> Result<(), TargetError> {
    const HELP: &str = "give words separated by dots, without spaces and wildcards";
    name("nats", "subject", &nats.subject)?;
    let is_word = |word: &str| !word.is_empty() && !word.contains([' ', '*', '>']);
    if !nats.subject.split('.').all(is_word) || nats.subject.starts_with('$') {
        return Err(invalid("publish.to.nats.subject", "is not a subject to publish to", HELP));
    }
    nats.stream.as_deref().map_or(Ok(()), |stream| name("nats", "stream", stream))
}

fn rabbitmq(rabbitmq: &Rabbitmq) -> Result<(), TargetError> {
    name("rabbitmq", "vhost", &rabbitmq.vhost)?;
    if !rabbitmq.exchange.is_empty() {
        name("rabbitmq", "exchange", &rabbitmq.exchange)?;
    }
    if rabbitmq.exchange.is_empty() || !rabbitmq.routing_key.is_empty() {
        name("rabbitmq", "routing_key", &rabbitmq.routing_key)?;
    }
    Ok(())
}

fn redis(redis: &Redis) -> Result<(), TargetError> {
    name("redis", "stream", &redis.stream)?;
    if redis.max_length == Some(0) {
        let help = "give 1 or more, or leave it out to keep all";
        return Err(invalid("publish.to.redis.max_length", "keeps nothing", help));
    }
    Ok(())
}

fn sqs(sqs: &Sqs, egress: &EgressGuard) -> Result<(), TargetError> {
    const FIELD: &str = "publish.to.sqs.queue_url";
    const HELP: &str = "write https://sqs.REGION.amazonaws.com/ACCOUNT/QUEUE, without a template";
    let url = Url::parse(&sqs.queue_url)
        .ok()
        .filter(|url| !sqs.queue_url.contains(['{', '}']) && url.path().len() > 1)
        .ok_or_else(|| invalid(FIELD, "is not the address of a queue", HELP))?;
    egress.admit(&url).map_err(|refused| {
        TargetError::invalid(FIELD, format!("requests may not go there: {refused}"), refused.help())
    })?;
    if queue::region(sqs).is_none() {
        let problem = "is not given, and `queue_url` does not contain it";
        return Err(invalid("publish.to.sqs.region", problem, "write it, such as `eu-central-1`"));
    }
    name("sqs", "access_key_id", &sqs.access_key_id)?;
    match &sqs.group {
        Some(_) if !queue::is_fifo(sqs) => {
            let problem = "is only for queues whose name ends with `.fifo`";
            Err(invalid("publish.to.sqs.group", problem, "leave it out"))
        }
        Some(group) => name("sqs", "group", group),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(definition: Value) -> String {
        let definition: Publish = serde_json::from_value(definition).unwrap();
        check(&definition, &EgressGuard::new(false)).unwrap_err().to_string()
    }

    #[test]
    fn a_wrong_field_is_named_with_what_to_do() {
        let server = |server: &str| json!({ "servers": [server] });
        for (to, message) in [
            (
                json!({ "redis": { "connection": { "servers": [] }, "stream": "a" } }),
                "publish.to.redis.connection.servers: 0 servers are given; give 1 to 8",
            ),
            (
                json!({ "redis": { "connection": server("a b"), "stream": "a" } }),
                "publish.to.redis.connection.servers[0]: its host is neither a name nor an \
                 address; write `host` or `host:port`, without a template",
            ),
            (
                json!({ "redis": { "connection": server("10.0.0.1"), "stream": "a" } }),
                "publish.to.redis.connection.servers[0]: connections may not go there: 10.0.0.1 is \
                 a private address, and the configuration does not allow private addresses; set \
                 `egress.private_addresses = true` if that network may be reached",
            ),
            (
                json!({ "kafka": { "connection": server("a"), "topic": "a/b" } }),
                "publish.to.kafka.topic: is not the name of a topic; use letters, digits, dots, \
                 underscores and hyphens",
            ),
            (
                json!({ "kafka": { "connection": server("a"), "topic": "a", "partition": "x" } }),
                "publish.to.kafka.partition: is not the number of a partition; give a number from \
                 0 on",
            ),
            (
                json!({ "nats": { "connection": server("a"), "subject": "a.*" } }),
                "publish.to.nats.subject: is not a subject to publish to; give words separated by \
                 dots, without spaces and wildcards",
            ),
            (
                json!({ "rabbitmq": { "connection": server("a"), "routing_key": "" } }),
                "publish.to.rabbitmq.routing_key: is empty or has a control character; give \
                 printable text, without line ends",
            ),
            (
                json!({ "rabbitmq": {
                    "connection": { "servers": ["a"], "username": "b" }, "routing_key": "a",
                } }),
                "publish.to.rabbitmq.connection.password: is not given, but `username` is; give \
                 both or neither",
            ),
            (
                json!({ "sqs": {
                    "queue_url": "https://queues.example.org/1/a", "access_key_id": "a",
                    "secret_access_key": "b",
                } }),
                "publish.to.sqs.region: is not given, and `queue_url` does not contain it; write \
                 it, such as `eu-central-1`",
            ),
        ] {
            assert_eq!(told(json!({ "to": to })), message);
        }
    }

    #[test]
    fn headers_of_the_event_cannot_be_replaced() {
        let to = json!({ "redis": { "connection": { "servers": ["a"] }, "stream": "a" } });
        for name in ["ce-id", "ce_id", "Content-Type", "Nats-Msg-Id", "event"] {
            let message = told(json!({ "to": to, "event": { "headers": { name: "x" } } }));
            assert!(message.contains("is set by Carillon or the broker"), "{message}");
        }
        let message = told(json!({ "to": to, "event": { "headers": { "a": "hush\r\nx: y" } } }));
        assert!(message.contains("control character") && !message.contains("hush"), "{message}");
    }

    // `make test-lean` runs this in a build without any broker.
    #[cfg(not(any(
        feature = "kafka",
        feature = "nats",
        feature = "rabbitmq",
        feature = "redis-streams",
        feature = "sqs"
    )))]
    #[test]
    fn a_build_without_a_broker_says_so() {
        let connection = json!({ "servers": ["a"] });
        for (name, to) in [
            ("kafka", json!({ "connection": connection, "topic": "a" })),
            ("nats", json!({ "connection": connection, "subject": "a" })),
            ("rabbitmq", json!({ "connection": connection, "routing_key": "a" })),
            ("redis", json!({ "connection": connection, "stream": "a" })),
            (
                "sqs",
                json!({
                    "queue_url": "https://sqs.eu-central-1.amazonaws.com/1/a",
                    "access_key_id": "a", "secret_access_key": "b",
                }),
            ),
        ] {
            assert_eq!(
                told(json!({ "to": { name: to } })),
                format!(
                    "publish.to.{name}: this build of Carillon cannot publish to `{name}`; use a \
                     build with all brokers"
                )
            );
        }
    }

    #[test]
    fn the_ways_to_sign_in_are_named_as_the_documents_do() {
        for name in ["plain", "scram_sha_256", "scram_sha_512"] {
            let kafka = json!({ "connection": { "servers": ["a"] }, "sasl": name, "topic": "a" });
            let read: Publish =
                serde_json::from_value(json!({ "to": { "kafka": kafka } })).unwrap();
            check(&read, &EgressGuard::new(false)).unwrap();
        }
    }

    #[test]
    fn an_unknown_broker_is_refused_with_those_that_there_are() {
        let error = serde_json::from_value::<Publish>(json!({ "to": { "pulsar": {} } }));
        let message = error.unwrap_err().to_string();
        assert!(message.contains("pulsar") && message.contains("`kafka`, `nats`"), "{message}");
    }
}

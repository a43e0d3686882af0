//! The fields of an event for a broker, as text.

use leptos::prelude::*;
use serde_json::Value;

use super::{
    event::{
        AddressAction, BrokerAction, EventAction, KafkaAction, NatsAction, PublishAction,
        RabbitmqAction, RedisAction, SqsAction,
    },
    lost::LostCredentials,
    reading::{given, pairs, split, whole},
};
use crate::model::{Failure, Pair};

type Text = RwSignal<String>;

/// Every field of an event, for all brokers. A copy contains the same handles, not copies of the
/// texts.
#[derive(Clone, Copy)]
pub(in crate::pages) struct EventFields {
    /// The broker: `kafka`, `nats`, `rabbitmq`, `redis` or `sqs`.
    pub(in crate::pages) broker: Text,
    /// The servers, separated by commas.
    pub(in crate::pages) servers: Text,
    /// Whether the connection is encrypted: `yes` or `no`.
    pub(in crate::pages) tls: Text,
    pub(in crate::pages) username: Text,
    pub(in crate::pages) password: Text,
    pub(in crate::pages) sasl: Text,
    pub(in crate::pages) topic: Text,
    pub(in crate::pages) key: Text,
    pub(in crate::pages) partition: Text,
    pub(in crate::pages) nats_subject: Text,
    pub(in crate::pages) nats_stream: Text,
    pub(in crate::pages) vhost: Text,
    pub(in crate::pages) exchange: Text,
    pub(in crate::pages) routing_key: Text,
    pub(in crate::pages) database: Text,
    pub(in crate::pages) redis_stream: Text,
    pub(in crate::pages) max_length: Text,
    pub(in crate::pages) queue_url: Text,
    pub(in crate::pages) region: Text,
    pub(in crate::pages) access_key: Text,
    pub(in crate::pages) secret_key: Text,
    pub(in crate::pages) session_token: Text,
    pub(in crate::pages) group: Text,
    /// The content mode: `STRUCTURED` or `BINARY`.
    pub(in crate::pages) mode: Text,
    pub(in crate::pages) kind: Text,
    pub(in crate::pages) source: Text,
    pub(in crate::pages) subject: Text,
    /// The payload: JSON or a text.
    pub(in crate::pages) payload: Text,
    /// The headers, one `Name: value` per line.
    pub(in crate::pages) headers: Text,
    /// The lost credentials of the whole task.
    pub(super) lost: LostCredentials,
}

impl EventFields {
    /// Fields with the schema's defaults.
    pub(super) fn new(lost: LostCredentials) -> Self {
        let text = |value: &str| RwSignal::new(value.to_owned());
        Self {
            broker: text("kafka"),
            servers: text(""),
            tls: text("no"),
            username: text(""),
            password: text(""),
            sasl: text("PLAIN"),
            topic: text(""),
            key: text(""),
            partition: text(""),
            nats_subject: text(""),
            nats_stream: text(""),
            vhost: text("/"),
            exchange: text(""),
            routing_key: text(""),
            database: text("0"),
            redis_stream: text(""),
            max_length: text(""),
            queue_url: text(""),
            region: text(""),
            access_key: text(""),
            secret_key: text(""),
            session_token: text(""),
            group: text(""),
            mode: text("STRUCTURED"),
            kind: text(""),
            source: text(""),
            subject: text(""),
            payload: text(""),
            headers: text(""),
            lost,
        }
    }

    /// Every text except the secrets, each with a name.
    pub(super) fn texts(&self) -> [(&'static str, Text); 26] {
        [
            ("broker", self.broker),
            ("servers", self.servers),
            ("tls", self.tls),
            ("username", self.username),
            ("sasl", self.sasl),
            ("topic", self.topic),
            ("key", self.key),
            ("partition", self.partition),
            ("nats_subject", self.nats_subject),
            ("nats_stream", self.nats_stream),
            ("vhost", self.vhost),
            ("exchange", self.exchange),
            ("routing_key", self.routing_key),
            ("database", self.database),
            ("redis_stream", self.redis_stream),
            ("max_length", self.max_length),
            ("queue_url", self.queue_url),
            ("region", self.region),
            ("access_key", self.access_key),
            ("queue_group", self.group),
            ("event_mode", self.mode),
            ("event_type", self.kind),
            ("event_source", self.source),
            ("event_subject", self.subject),
            ("payload", self.payload),
            ("event_headers", self.headers),
        ]
    }

    /// The texts that [`texts`](Self::texts) leaves out.
    pub(super) fn secrets(&self) -> [Text; 3] {
        [self.password, self.secret_key, self.session_token]
    }

    /// Fills the fields from an event.
    pub(super) fn set(&self, publish: &PublishAction) {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        self.broker.set(publish.to.kind().to_owned());
        match &publish.to {
            BrokerAction::Kafka(kafka) => {
                self.set_connection(&kafka.connection);
                self.sasl.set(kafka.sasl.clone());
                self.topic.set(kafka.topic.clone());
                self.key.set(text(&kafka.key));
                self.partition.set(text(&kafka.partition));
            }
            BrokerAction::Nats(nats) => {
                self.set_connection(&nats.connection);
                self.nats_subject.set(nats.subject.clone());
                self.nats_stream.set(text(&nats.stream));
            }
            BrokerAction::Rabbitmq(rabbitmq) => {
                self.set_connection(&rabbitmq.connection);
                self.vhost.set(rabbitmq.vhost.clone());
                self.exchange.set(rabbitmq.exchange.clone());
                self.routing_key.set(rabbitmq.routing_key.clone());
            }
            BrokerAction::Redis(redis) => {
                self.set_connection(&redis.connection);
                self.database.set(redis.database.to_string());
                self.redis_stream.set(redis.stream.clone());
                let most = redis.max_length.map(|most| most.to_string());
                self.max_length.set(most.unwrap_or_default());
            }
            BrokerAction::Sqs(sqs) => {
                self.queue_url.set(sqs.queue_url.clone());
                self.region.set(text(&sqs.region));
                self.access_key.set(sqs.access_key_id.clone());
                self.secret_key.set(sqs.secret_access_key.clone());
                self.session_token.set(text(&sqs.session_token));
                self.group.set(text(&sqs.group));
            }
        }
        let event = &publish.event;
        self.mode.set(event.mode.clone());
        self.kind.set(text(&event.kind));
        self.source.set(text(&event.source));
        self.subject.set(text(&event.subject));
        self.payload.set(event.payload.as_ref().map(payload_text).unwrap_or_default());
        self.headers.set(super::fields::lines(&event.headers, ": "));
    }

    fn set_connection(&self, connection: &AddressAction) {
        self.servers.set(connection.servers.join(", "));
        self.tls.set(if connection.tls { "yes" } else { "no" }.to_owned());
        self.username.set(connection.username.clone().unwrap_or_default());
        self.password.set(connection.password.clone().unwrap_or_default());
    }

    /// The event; tracked.
    ///
    /// # Errors
    /// The first field that cannot be parsed.
    pub(super) fn action(&self) -> Result<PublishAction, Failure> {
        let to = match self.broker.get().as_str() {
            "nats" => BrokerAction::Nats(NatsAction {
                connection: self.connection(),
                subject: trimmed(self.nats_subject),
                stream: some(self.nats_stream),
            }),
            "rabbitmq" => BrokerAction::Rabbitmq(RabbitmqAction {
                connection: self.connection(),
                vhost: trimmed(self.vhost),
                exchange: trimmed(self.exchange),
                routing_key: trimmed(self.routing_key),
            }),
            "redis" => BrokerAction::Redis(self.redis()?),
            "sqs" => BrokerAction::Sqs(SqsAction {
                queue_url: trimmed(self.queue_url),
                region: some(self.region),
                access_key_id: trimmed(self.access_key),
                secret_access_key: trimmed(self.secret_key),
                session_token: some(self.session_token),
                group: some(self.group),
            }),
            _ => BrokerAction::Kafka(KafkaAction {
                connection: self.connection(),
                sasl: self.sasl.get(),
                topic: trimmed(self.topic),
                key: some(self.key),
                partition: some(self.partition),
            }),
        };
        let headers: Vec<Pair> = pairs("target.publish.event.headers", &self.headers.get(), ':')?;
        let event = EventAction {
            mode: self.mode.get(),
            kind: some(self.kind),
            source: some(self.source),
            subject: some(self.subject),
            payload: given(self.payload).map(|text| payload(&text)),
            headers,
        };
        Ok(PublishAction { to, event })
    }

    fn redis(&self) -> Result<RedisAction, Failure> {
        let most = given(self.max_length);
        let most = most.map(|text| whole("target.publish.to.redis.maxLength", &text));
        Ok(RedisAction {
            connection: self.connection(),
            database: whole("target.publish.to.redis.database", &self.database.get())?,
            stream: trimmed(self.redis_stream),
            max_length: most.transpose()?,
        })
    }

    fn connection(&self) -> AddressAction {
        AddressAction {
            servers: split(&self.servers.get(), ','),
            tls: self.tls.with(|tls| tls == "yes"),
            username: some(self.username),
            password: some(self.password),
        }
    }
}

fn trimmed(text: Text) -> String {
    text.with(|text| text.trim().to_owned())
}

fn some(text: Text) -> Option<String> {
    Some(trimmed(text)).filter(|text| !text.is_empty())
}

/// The payload of a text. A text that is a JSON object or array is sent as JSON.
fn payload(text: &str) -> Value {
    let read = serde_json::from_str::<Value>(text);
    read.ok().filter(|value| value.is_object() || value.is_array()).unwrap_or_else(|| text.into())
}

fn payload_text(payload: &Value) -> String {
    payload
        .as_str()
        .map_or_else(|| serde_json::to_string_pretty(payload).unwrap_or_default(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn fields_return_the_event_that_they_were_set_to() {
        let connection =
            json!({ "servers": ["a:1", "b"], "tls": true, "username": "u", "password": "***" });
        for to in [
            json!({ "kafka": { "connection": connection, "topic": "t", "key": "k", "sasl": "SCRAM_SHA_256" } }),
            json!({ "nats": { "connection": connection, "subject": "s", "stream": "all" } }),
            json!({ "rabbitmq": { "connection": connection, "vhost": "v", "routingKey": "q" } }),
            json!({ "redis": { "connection": connection, "stream": "s", "database": 2, "maxLength": 9 } }),
            json!({ "sqs": { "queueUrl": "https://sqs.example/1/q", "accessKeyId": "a",
                "secretAccessKey": "{{ secrets.aws }}", "group": "g" } }),
        ] {
            let event = json!({ "mode": "BINARY", "type": "x", "payload": { "a": [1] },
                "headers": [{ "name": "h", "value": "{{ secrets.h }}" }] });
            let input = json!({ "to": to, "event": event });
            let publish: PublishAction = from_value(input.clone()).unwrap();
            assert_eq!(PublishAction::of(&input), Some(publish.clone()));
            Owner::new().with(|| {
                let fields = EventFields::new(LostCredentials::new());
                fields.set(&publish);
                assert_eq!(untrack(|| fields.action()), Ok(publish.clone()));
            });
        }
    }

    #[test]
    fn a_number_that_is_none_names_its_field() {
        Owner::new().with(|| {
            let fields = EventFields::new(LostCredentials::new());
            fields.broker.set("redis".to_owned());
            fields.max_length.set("many".to_owned());
            let wrong = untrack(|| fields.action()).unwrap_err();
            assert_eq!(wrong.field.as_deref(), Some("target.publish.to.redis.maxLength"));
        });
    }
}

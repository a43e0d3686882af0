//! The fields of an event on the page, for each broker.

use leptos::prelude::*;

use super::{
    credentials::is_legible, event_fields::EventFields, fields::TaskFields, lost::ENTER_AGAIN,
    sections::Place,
};
use crate::{
    components::{Choice, Field, live},
    pages::suggest,
};

const BROKERS: [Choice; 5] = [
    ("kafka", "Kafka"),
    ("nats", "NATS JetStream"),
    ("rabbitmq", "RabbitMQ"),
    ("redis", "Redis Streams"),
    ("sqs", "Amazon SQS"),
];

const SASL: [Choice; 3] =
    [("PLAIN", "PLAIN"), ("SCRAM_SHA_256", "SCRAM-SHA-256"), ("SCRAM_SHA_512", "SCRAM-SHA-512")];

const MODES: [Choice; 2] =
    [("STRUCTURED", "The whole event as JSON"), ("BINARY", "Data only, the rest in headers")];

const TLS: [Choice; 2] = [("no", "No"), ("yes", "Yes, with TLS")];

const BY_SECRET: &str = "{{ secrets.NAME }}; *** keeps a hidden value.";

/// The section of the event.
pub(in crate::pages) fn publish(fields: TaskFields, place: Place) -> AnyView {
    let fields = fields.event;
    let broker = Memo::new(move |_| fields.broker.get());
    let to = move || match broker.get().as_str() {
        "nats" => nats(fields, place),
        "rabbitmq" => rabbitmq(fields, place),
        "redis" => redis(fields, place),
        "sqs" => sqs(fields, place),
        _ => kafka(fields, place),
    };
    view! {
        {place.field("broker", "Broker", fields.broker, "target.publish.to").choice(&BROKERS)}
        {live(to)}
        {event(fields, place)}
    }
    .into_any()
}

/// The fields of the servers and of the sign-in, which all brokers except SQS have.
fn connection(fields: EventFields, place: Place, names: [&'static str; 4]) -> AnyView {
    let [servers, tls, username, password] = names;
    let field = |id, label, value, name| place.field(id, label, value, name);
    let has_more = [fields.username, fields.password]
        .iter()
        .any(|field| field.with_untracked(|text| !text.is_empty()))
        || fields.tls.with_untracked(|tls| tls == "yes")
        || untrack(|| fields.lost.has("password", fields.password));
    view! {
        {field("servers", "Servers", fields.servers, servers).code().required()
            .hint("host or host:port, up to 8, separated by commas. They are tried in order.").text()}
        <details class="more" open=has_more>
            <summary>"Encryption and credentials"</summary>
            <div class="field-grid">
                {field("broker-tls", "Encrypted", fields.tls, tls).choice(&TLS)}
                {field("broker-username", "User", fields.username, username).code().text()}
                {credential(field("broker-password", "Password", fields.password, password), fields, "password", fields.password)
                    .hint(BY_SECRET).text()}
            </div>
        </details>
    }
    .into_any()
}

/// A field for a credential. A typed credential is hidden, and a reference to a secret stays
/// legible.
fn credential(
    field: Field,
    fields: EventFields,
    name: &'static str,
    value: RwSignal<String>,
) -> Field {
    field
        .note_while(ENTER_AGAIN, move || fields.lost.has(name, value))
        .code()
        .picks(suggest::secret())
        .autocomplete("new-password")
        .hidden_while(move || !value.with(|text| is_legible(text)))
}

/// The API's names for the fields of a broker's connection.
macro_rules! connection_names {
    ($broker:literal) => {
        [
            concat!("target.publish.to.", $broker, ".connection.servers"),
            concat!("target.publish.to.", $broker, ".connection.tls"),
            concat!("target.publish.to.", $broker, ".connection.username"),
            concat!("target.publish.to.", $broker, ".connection.password"),
        ]
    };
}

fn kafka(fields: EventFields, place: Place) -> AnyView {
    let field = |id, label, value, name| place.field(id, label, value, name);
    view! {
        {field("topic", "Topic", fields.topic, "target.publish.to.kafka.topic").code().required().text()}
        {connection(fields, place, connection_names!("kafka"))}
        <div class="field-grid">
            {field("event-key", "Key", fields.key, "target.publish.to.kafka.key").code()
                .hint("Events with the same key go to the same partition.").text()}
            {field("partition", "Partition", fields.partition, "target.publish.to.kafka.partition").code()
                .hint("Empty: the key determines it.").text()}
            {field("sasl", "Authentication", fields.sasl, "target.publish.to.kafka.sasl").choice(&SASL)}
        </div>
    }
    .into_any()
}

fn nats(fields: EventFields, place: Place) -> AnyView {
    let field = |id, label, value, name| place.field(id, label, value, name);
    view! {
        <div class="field-grid">
            {field("nats-subject", "Subject", fields.nats_subject, "target.publish.to.nats.subject").code().required().text()}
            {field("nats-stream", "Stream", fields.nats_stream, "target.publish.to.nats.stream").code()
                .hint("The stream that must store it. Empty: any.").text()}
        </div>
        {connection(fields, place, connection_names!("nats"))}
    }
    .into_any()
}

fn rabbitmq(fields: EventFields, place: Place) -> AnyView {
    let field = |id, label, value, name| place.field(id, label, value, name);
    view! {
        <div class="field-grid">
            {field("exchange", "Exchange", fields.exchange, "target.publish.to.rabbitmq.exchange").code()
                .hint("Empty: the default exchange.").text()}
            {field("routing-key", "Routing key", fields.routing_key, "target.publish.to.rabbitmq.routingKey").code().required()
                .hint("For the default exchange, the name of a queue.").text()}
            {field("vhost", "Virtual host", fields.vhost, "target.publish.to.rabbitmq.vhost").code().text()}
        </div>
        {connection(fields, place, connection_names!("rabbitmq"))}
    }
    .into_any()
}

fn redis(fields: EventFields, place: Place) -> AnyView {
    let field = |id, label, value, name| place.field(id, label, value, name);
    view! {
        <div class="field-grid">
            {field("redis-stream", "Stream", fields.redis_stream, "target.publish.to.redis.stream").code().required()
                .hint("Its key in Redis.").text()}
            {field("database", "Database", fields.database, "target.publish.to.redis.database").kind("number").text()}
            {field("max-length", "Entries kept", fields.max_length, "target.publish.to.redis.maxLength").kind("number")
                .hint("Roughly. Empty: all of them.").text()}
        </div>
        {connection(fields, place, connection_names!("redis"))}
    }
    .into_any()
}

fn sqs(fields: EventFields, place: Place) -> AnyView {
    let field = |id, label, value, name| place.field(id, label, value, name);
    let name = "target.publish.to.sqs.secretAccessKey";
    let secret_key = field("secret-key", "Secret access key", fields.secret_key, name);
    let name = "target.publish.to.sqs.sessionToken";
    let session_token = field("session-token", "Session token", fields.session_token, name);
    view! {
        {field("queue-url", "Queue URL", fields.queue_url, "target.publish.to.sqs.queueUrl").kind("url").code().required().text()}
        <div class="field-grid">
            {field("access-key", "Access key ID", fields.access_key, "target.publish.to.sqs.accessKeyId").code().required().text()}
            {credential(secret_key, fields, "secret_key", fields.secret_key).required().hint(BY_SECRET).text()}
            {credential(session_token, fields, "session_token", fields.session_token).hint("For temporary credentials.").text()}
            {field("region", "Region", fields.region, "target.publish.to.sqs.region").code()
                .hint("Required if the URL does not contain it.").text()}
            {field("queue-group", "Message group", fields.group, "target.publish.to.sqs.group").code()
                .hint("For a queue that keeps an order. Empty: the schedule's name.").text()}
        </div>
    }
    .into_any()
}

fn event(fields: EventFields, place: Place) -> AnyView {
    let field = |id, label, value, name| place.field(id, label, value, name);
    let is_open = [fields.kind, fields.source, fields.subject, fields.payload, fields.headers]
        .iter()
        .any(|field| field.with_untracked(|text| !text.is_empty()));
    view! {
        <details class="more" open=is_open>
            <summary>"The event"</summary>
            {field("payload", "Payload", fields.payload, "target.publish.event.payload").code().picks(suggest::secrets())
                .hint("JSON or a text; templates are filled in. Empty: the run's context.").area(3)}
            <div class="field-grid">
                {field("event-type", "Type", fields.kind, "target.publish.event.type").code().hint("Empty: carillon.fire.").text()}
                {field("event-source", "Source", fields.source, "target.publish.event.source").code()
                    .hint("Empty: /carillon/, the namespace and the schedule.").text()}
                {field("event-subject", "Subject", fields.subject, "target.publish.event.subject").code().text()}
                {field("event-mode", "Encoding", fields.mode, "target.publish.event.mode").choice(&MODES)}
            </div>
            {field("event-headers", "Headers", fields.headers, "target.publish.event.headers").code().picks(suggest::secrets())
                .hint("Name: value, one per line. Type {{ to insert a secret; *** keeps a hidden value.").area(2)}
        </details>
    }
    .into_any()
}

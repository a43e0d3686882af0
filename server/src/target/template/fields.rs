//! The texts of a target that may be templates. A script is not among them, because the shell would
//! run inserted text. A script reads its environment variables instead.

use serde_json::Value;

use crate::target::{Broker, BrokerConnection, Publish, SecretText, Target, TargetError};

/// The extent to which a target must be rendered before it can be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateUse {
    /// The target contains no templates.
    None,
    /// Some of the target's texts are templates.
    Some {
        /// Whether these texts may use the previous fire, which then has to be looked up.
        previous_fire: bool,
    },
}

/// Returns the replacement for the text in a field; `None` leaves the text unchanged.
type Replace<'a> = dyn FnMut(&str, &str) -> Result<Option<String>, TargetError> + 'a;

/// Calls `with` for each text that may be a template.
pub(super) fn replace(target: &mut Target, with: &mut Replace<'_>) -> Result<(), TargetError> {
    match target {
        Target::Http(http) => {
            text("http.url", &mut http.url, with)?;
            for (name, value) in &mut http.headers {
                secret(&format!("http.headers.{name}"), value, with)?;
            }
            if let Some(signing) = &mut http.signing_secret {
                secret(SIGNING, signing, with)?;
            }
            if let Some(certificate) = &mut http.client_certificate {
                secret(CERTIFICATE, certificate, with)?;
            }
            http.body.as_mut().map_or(Ok(()), |body| json("http.body", body, with))
        }
        Target::Command(command) => {
            for (index, arg) in command.args.iter_mut().enumerate() {
                text(&format!("command.args[{index}]"), arg, with)?;
            }
            for (name, value) in &mut command.env {
                secret(&format!("command.env.{name}"), value, with)?;
            }
            let directory = command.directory.as_mut();
            directory.map_or(Ok(()), |directory| text("command.directory", directory, with))
        }
        Target::Publish(publish) => self::publish(publish, with),
        Target::Worker(worker) => {
            let input = worker.input.as_mut();
            input.map_or(Ok(()), |input| json("worker.input", input, with))
        }
        Target::Noop(_) => Ok(()),
    }
}

/// Replaces all texts of an event, and all texts of a broker except the addresses of its servers.
fn publish(publish: &mut Publish, with: &mut Replace<'_>) -> Result<(), TargetError> {
    broker(&mut publish.to, with)?;
    let event = &mut publish.event;
    let own = [("type", &mut event.kind), ("source", &mut event.source)];
    for (name, value) in own.into_iter().chain([("subject", &mut event.subject)]) {
        optional(&format!("publish.event.{name}"), value, with)?;
    }
    for (name, value) in &mut event.headers {
        secret(&format!("publish.event.headers.{name}"), value, with)?;
    }
    let payload = event.payload.as_mut();
    payload.map_or(Ok(()), |payload| json("publish.event.payload", payload, with))
}

fn broker(broker: &mut Broker, with: &mut Replace<'_>) -> Result<(), TargetError> {
    match broker {
        Broker::Kafka(kafka) => {
            connection("publish.to.kafka.connection", &mut kafka.connection, with)?;
            text("publish.to.kafka.topic", &mut kafka.topic, with)?;
            optional("publish.to.kafka.key", &mut kafka.key, with)?;
            optional("publish.to.kafka.partition", &mut kafka.partition, with)
        }
        Broker::Nats(nats) => {
            connection("publish.to.nats.connection", &mut nats.connection, with)?;
            text("publish.to.nats.subject", &mut nats.subject, with)?;
            optional("publish.to.nats.stream", &mut nats.stream, with)
        }
        Broker::Rabbitmq(rabbitmq) => {
            connection("publish.to.rabbitmq.connection", &mut rabbitmq.connection, with)?;
            text("publish.to.rabbitmq.vhost", &mut rabbitmq.vhost, with)?;
            text("publish.to.rabbitmq.exchange", &mut rabbitmq.exchange, with)?;
            text("publish.to.rabbitmq.routing_key", &mut rabbitmq.routing_key, with)
        }
        Broker::Redis(redis) => {
            connection("publish.to.redis.connection", &mut redis.connection, with)?;
            text("publish.to.redis.stream", &mut redis.stream, with)
        }
        Broker::Sqs(sqs) => {
            text("publish.to.sqs.access_key_id", &mut sqs.access_key_id, with)?;
            secret("publish.to.sqs.secret_access_key", &mut sqs.secret_access_key, with)?;
            if let Some(token) = &mut sqs.session_token {
                secret("publish.to.sqs.session_token", token, with)?;
            }
            optional("publish.to.sqs.group", &mut sqs.group, with)
        }
    }
}

fn connection(
    field: &str,
    connection: &mut BrokerConnection,
    with: &mut Replace<'_>,
) -> Result<(), TargetError> {
    optional(&format!("{field}.username"), &mut connection.username, with)?;
    let password = connection.password.as_mut();
    password.map_or(Ok(()), |password| secret(&format!("{field}.password"), password, with))
}

fn optional(
    field: &str,
    value: &mut Option<String>,
    with: &mut Replace<'_>,
) -> Result<(), TargetError> {
    value.as_mut().map_or(Ok(()), |value| text(field, value, with))
}

fn text(field: &str, text: &mut String, with: &mut Replace<'_>) -> Result<(), TargetError> {
    if let Some(other) = with(field, text)? {
        *text = other;
    }
    Ok(())
}

fn secret(field: &str, value: &mut SecretText, with: &mut Replace<'_>) -> Result<(), TargetError> {
    if let Some(other) = with(field, value.expose())? {
        *value = SecretText::new(other);
    }
    Ok(())
}

/// Replaces the texts inside a JSON body; its keys stay unchanged.
fn json(field: &str, value: &mut Value, with: &mut Replace<'_>) -> Result<(), TargetError> {
    match value {
        Value::String(string) => text(field, string, with),
        Value::Array(items) => items.iter_mut().try_for_each(|item| json(field, item, with)),
        Value::Object(members) => {
            members.iter_mut().try_for_each(|(_, member)| json(field, member, with))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

pub(super) fn template_use(target: &Target) -> TemplateUse {
    let mut found = TemplateUse::None;
    let mut look = |_: &str, text: &str| {
        if super::is_template(text) {
            let before = matches!(found, TemplateUse::Some { previous_fire: true });
            let previous_fire = before || text.contains("previous_fire");
            found = TemplateUse::Some { previous_fire };
        }
        Ok(None)
    };
    // `replace` cannot fail, because the closure never does.
    let _ = replace(&mut target.clone(), &mut look);
    found
}

/// Refuses a URL if the structure of its rendered path differs from the template's: a value
/// inserted between two slashes must stay between them.
pub(super) fn check_made(field: &str, made: &str) -> Result<(), TargetError> {
    if field != "http.url" || !climbs(made) {
        return Ok(());
    }
    let problem = "its template yields a `.` or `..` that would change the path";
    let help = "give another value, or put it after a `?` instead of between slashes";
    Err(TargetError::invalid(field, problem, help))
}

/// Whether a segment of the path is `.` or `..`, in any form that a URL parser accepts.
fn climbs(url: &str) -> bool {
    let read: String = url.chars().filter(|c| !c.is_ascii_control()).collect();
    let read = read.to_ascii_lowercase().replace("%2e", ".");
    let path = read.split(['?', '#']).next().unwrap_or_default();
    path.split(['/', '\\']).any(|part| matches!(part.trim(), "." | ".."))
}

/// The field of the signing key.
const SIGNING: &str = "http.signing_secret";
/// The field of the client's certificate and private key.
pub(super) const CERTIFICATE: &str = "http.client_certificate";

/// The text that replaces a template while the rest of the target is checked.
pub(super) fn placeholder(field: &str, text: &str) -> Option<String> {
    match field {
        // If only the scheme is fixed, nothing but the scheme can be checked.
        "http.url" => Some(fixed_part(text).map_or_else(
            || format!("{}://example.com/", scheme(text).unwrap_or("https")),
            str::to_owned,
        )),
        header if header.starts_with("http.headers.") => Some("x".to_owned()),
        "publish.to.kafka.partition" => Some("0".to_owned()),
        "publish.event.payload" => None,
        broker if broker.starts_with("publish.") => Some("x".to_owned()),
        // The rest of the target is checked without a certificate.
        CERTIFICATE => Some(String::new()),
        SIGNING => Some(format!("whsec_{}", "A".repeat(32))),
        _ => None,
    }
}

/// The scheme of a URL, if it contains no template.
fn scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once("://")?;
    (!super::is_template(scheme)).then_some(scheme)
}

/// The part of a URL before its first template, if that part determines the server.
pub(super) fn fixed_part(url: &str) -> Option<&str> {
    let end = ["{{", "{%", "{#"].iter().filter_map(|mark| url.find(mark)).min()?;
    let fixed = &url[..end];
    let authority = fixed.find("://")? + 3;
    fixed[authority..].contains(['/', '?', '#']).then_some(fixed)
}

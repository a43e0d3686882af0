//! Amazon SQS: signed requests `SendMessage` of its JSON protocol.

mod sign;

use chrono::{DateTime, Utc};
use reqwest::Client;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::Url;

use super::{
    definition::Sqs,
    event::Message,
    problem::Problem,
    queue::{is_fifo, region},
};
use sign::{Keys, sign};

/// Maximum size of an answer.
const MAX_ANSWER: usize = 64 * 1024;
const ACTION: &str = "AmazonSQS.SendMessage";
const CONTENT_TYPE: &str = "application/x-amz-json-1.0";

/// Sends to queues, over the connections of HTTP requests.
#[derive(Debug)]
pub(super) struct Queues {
    client: Client,
}

impl Queues {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Sends an event. Events of a `group` stay in order, if the queue preserves order.
    pub(super) async fn send(
        &self,
        sqs: &Sqs,
        message: &Message,
        group: &str,
        now: DateTime<Utc>,
    ) -> Result<Value, Problem> {
        let url = Url::parse(&sqs.queue_url)
            .map_err(|_| Problem::refused("the queue's address is none"))?;
        let place = url.host_str().unwrap_or_default().to_owned();
        let region = region(sqs).ok_or_else(|| Problem::refused("the region is not known"))?;
        let endpoint = url.join("/").map_err(|_| Problem::refused("the queue has no server"))?;
        let body = body(sqs, message, group).to_string().into_bytes();
        let keys = Keys {
            id: &sqs.access_key_id,
            secret: sqs.secret_access_key.expose(),
            token: sqs.session_token.as_ref().map(|token| token.expose()),
            region: &region,
        };
        let signed = sign(&endpoint, ACTION, CONTENT_TYPE, &body, &keys, now);
        let mut request = self.client.post(endpoint.clone()).body(body);
        for (name, value) in signed {
            request = request.header(name, value);
        }
        let mut answer = request.send().await.map_err(|error| unreached(&place, &error))?;
        let status = answer.status();
        let mut text = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(|error| unreached(&place, &error))? {
            if text.len() + part.len() > MAX_ANSWER {
                return Err(Problem::broken(format!("{place} sent an answer without end")));
            }
            text.extend(part);
        }
        if !status.is_success() {
            let said = said(&text);
            return Err(Problem::refused(format!("{place} answered {status}: {said}")));
        }
        acknowledged(&text).ok_or_else(|| {
            Problem::refused(format!("{place} answered {status}, but not as SQS does"))
        })
    }
}

fn body(sqs: &Sqs, message: &Message, group: &str) -> Value {
    let text = |value: &str| json!({ "DataType": "String", "StringValue": value });
    let attributes = message.attributes.iter().map(|(name, value)| (format!("ce_{name}"), value));
    let mut all: Map<String, Value> =
        attributes.filter(|(_, value)| !value.is_empty()).map(|(n, v)| (n, text(v))).collect();
    all.insert("content-type".to_owned(), text(message.content_type));
    all.extend(message.headers.iter().map(|(name, value)| (name.clone(), text(value))));
    let mut body = json!({
        "QueueUrl": sqs.queue_url,
        "MessageBody": String::from_utf8_lossy(&message.body),
        "MessageAttributes": all,
    });
    if is_fifo(sqs) {
        body["MessageGroupId"] = identifier(sqs.group.as_deref().unwrap_or(group)).into();
        body["MessageDeduplicationId"] = identifier(&message.id).into();
    }
    body
}

/// Ids may have at most 128 characters of a limited set: others are replaced by a digest.
fn identifier(text: &str) -> String {
    let is_known = |byte: u8| byte.is_ascii_graphic();
    if text.len() <= 128 && text.bytes().all(is_known) {
        return text.to_owned();
    }
    sign::hex(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref())
}

fn acknowledged(answer: &[u8]) -> Option<Value> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Sent {
        message_id: String,
        sequence_number: Option<String>,
    }
    let sent: Sent = serde_json::from_slice(answer).ok()?;
    let mut output = json!({ "message_id": sent.message_id });
    if let Some(number) = sent.sequence_number {
        output["sequence_number"] = number.into();
    }
    Some(output)
}

/// The message of a refusal.
fn said(answer: &[u8]) -> String {
    let Ok(answer) = serde_json::from_slice::<Value>(answer) else {
        return "without a reason".to_owned();
    };
    let kind = answer["__type"].as_str().unwrap_or_default();
    let kind = kind.rsplit('#').next().unwrap_or_default();
    let text = answer["message"].as_str().or(answer["Message"].as_str()).unwrap_or_default();
    format!("{kind} {text}").trim().chars().take(500).collect()
}

fn unreached(place: &str, error: &reqwest::Error) -> Problem {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    if let Some(refused) = cause.downcast_ref::<crate::target::egress::NameRefused>() {
        return Problem::broken(format!("refused to connect to {place}: {refused}"));
    }
    Problem::broken(format!("could not reach {place}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_a_queue_does_not_take_are_digests() {
        assert_eq!(identifier("nightly-1700000000"), "nightly-1700000000");
        assert_eq!(identifier("every night").len(), 64);
        assert_eq!(identifier(&"x".repeat(129)).len(), 64);
    }
}

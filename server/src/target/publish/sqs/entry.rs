//! An event in the form of a queue's message, and the answers of queues.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::sign;
use crate::target::publish::{definition::Sqs, event::Message, queue::is_fifo};

const TEXT: &str = "String";

/// One message, with its share of a call's size.
pub(super) struct BatchEntry {
    fields: Map<String, Value>,
    pub(super) size: usize,
}

impl BatchEntry {
    pub(super) fn of(sqs: &Sqs, message: &Message, group: &str) -> Self {
        let text = |value: &str| json!({ "DataType": TEXT, "StringValue": value });
        let own = message.attributes.iter().filter(|(_, value)| !value.is_empty());
        let own = own.map(|(name, value)| (format!("ce_{name}"), value.as_str()));
        let content_type = ("content-type".to_owned(), message.content_type);
        let headers = message.headers.iter().map(|(name, value)| (name.clone(), value.as_str()));
        let body = String::from_utf8_lossy(&message.body).into_owned();
        // The attributes of a message count towards its size.
        let mut size = body.len();
        let mut attributes = Map::new();
        for (name, value) in own.chain([content_type]).chain(headers) {
            size += name.len() + TEXT.len() + value.len();
            attributes.insert(name, text(value));
        }
        let mut fields = Map::new();
        fields.insert("MessageBody".to_owned(), body.into());
        fields.insert("MessageAttributes".to_owned(), attributes.into());
        if is_fifo(sqs) {
            let group = identifier(sqs.group.as_deref().unwrap_or(group));
            fields.insert("MessageGroupId".to_owned(), group.into());
            fields.insert("MessageDeduplicationId".to_owned(), identifier(&message.id).into());
        }
        Self { fields, size }
    }

    /// The body of a call that only sends this message.
    pub(super) fn alone(&self, queue_url: &str) -> Vec<u8> {
        json_bytes(&SingleBody { queue_url, fields: &self.fields })
    }
}

#[derive(Serialize)]
struct SingleBody<'a> {
    #[serde(rename = "QueueUrl")]
    queue_url: &'a str,
    #[serde(flatten)]
    fields: &'a Map<String, Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct BatchBody<'a> {
    queue_url: &'a str,
    entries: Vec<NumberedEntry<'a>>,
}

#[derive(Serialize)]
struct NumberedEntry<'a> {
    #[serde(rename = "Id")]
    id: String,
    #[serde(flatten)]
    fields: &'a Map<String, Value>,
}

/// The body as JSON. Bodies consist of texts only, so this cannot fail.
fn json_bytes(body: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(body).unwrap_or_default()
}

/// The body of a call that sends all of these messages. The id of each is its position.
pub(super) fn together(entries: &[BatchEntry], queue_url: &str) -> Vec<u8> {
    let entries = entries.iter().enumerate();
    let entries = entries
        .map(|(index, entry)| NumberedEntry { id: index.to_string(), fields: &entry.fields })
        .collect();
    json_bytes(&BatchBody { queue_url, entries })
}

/// SQS's reply for a message that it accepted.
#[derive(Deserialize, Debug, PartialEq, Eq)]
#[serde(rename_all = "PascalCase")]
pub(super) struct AcceptedEntry {
    message_id: String,
    sequence_number: Option<String>,
}

impl AcceptedEntry {
    /// The output of the attempt.
    pub(super) fn output(&self) -> Value {
        let mut output = json!({ "message_id": self.message_id });
        if let Some(number) = &self.sequence_number {
            output["sequence_number"] = number.as_str().into();
        }
        output
    }
}

/// SQS's reply to a batch of messages.
#[derive(Deserialize, Debug)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BatchReply {
    #[serde(default)]
    successful: Vec<EntryReply<AcceptedEntry>>,
    #[serde(default)]
    failed: Vec<EntryReply<RejectedEntry>>,
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "PascalCase")]
struct EntryReply<T> {
    id: String,
    #[serde(flatten)]
    told: T,
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "PascalCase")]
struct RejectedEntry {
    code: String,
    message: Option<String>,
}

impl BatchReply {
    /// The reply for the message at this position: accepted, rejected with a reason, or missing.
    pub(super) fn of(&self, index: usize) -> Option<Result<&AcceptedEntry, String>> {
        let id = index.to_string();
        if let Some(refused) = self.failed.iter().find(|named| named.id == id) {
            let RejectedEntry { code, message } = &refused.told;
            let text = format!("{code} {}", message.as_deref().unwrap_or_default());
            return Some(Err(text.trim().chars().take(500).collect()));
        }
        self.successful.iter().find(|named| named.id == id).map(|named| Ok(&named.told))
    }
}

/// A valid id: ids have at most 128 ASCII characters, so other texts are replaced by their digest.
fn identifier(text: &str) -> String {
    let is_known = |byte: u8| byte.is_ascii_graphic();
    if text.len() <= 128 && text.bytes().all(is_known) {
        return text.to_owned();
    }
    sign::hex(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref())
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

    #[test]
    fn an_answer_tells_of_each_message_by_its_position() {
        let answer: BatchReply = serde_json::from_value(json!({
            "Successful": [{ "Id": "0", "MessageId": "a" }],
            "Failed": [{ "Id": "1", "Code": "InternalError", "SenderFault": false }],
        }))
        .unwrap();
        assert_eq!(answer.of(0).unwrap().unwrap().output(), json!({ "message_id": "a" }));
        assert_eq!(answer.of(1).unwrap().unwrap_err(), "InternalError");
        assert!(answer.of(2).is_none());
    }
}

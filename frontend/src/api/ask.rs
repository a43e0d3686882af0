//! An operation with its variables, ready to be sent.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde_json::Value;
use web_sys::AbortSignal;

use super::{client, operations::Operation};
use crate::model::{Code, Failure};

/// A request to the server whose answer is a `T`.
pub(crate) struct Ask<T> {
    pub(crate) request: Request,
    answer: PhantomData<fn() -> T>,
}

/// The request itself, whatever the type of its answer.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) body: Value,
    /// The position of the answer in the response's data, as a JSON pointer.
    pub(crate) at: &'static str,
}

impl<T> Ask<T> {
    pub(super) fn new<Q: Operation<Answer = T>>(variables: Q::Variables) -> Self {
        let body = serde_json::to_value(Q::build_query(variables)).unwrap_or_default();
        Self { request: Request { body, at: Q::AT }, answer: PhantomData }
    }

    /// Removes a field from the object at `place`; an absent value would otherwise be sent as null.
    pub(super) fn without(mut self, place: &str, field: &str) -> Self {
        if let Some(object) = self.request.body.pointer_mut(place).and_then(Value::as_object_mut) {
            object.remove(field);
        }
        self
    }

    /// Merges the fields of `with` into the object at `place`, replacing existing ones.
    pub(super) fn with(mut self, place: &str, with: Value) -> Self {
        let object = self.request.body.pointer_mut(place).and_then(Value::as_object_mut);
        if let (Some(object), Value::Object(with)) = (object, with) {
            object.extend(with);
        }
        self
    }
}

impl<T: DeserializeOwned> Ask<T> {
    /// Sends the request, without a way to abort it. Pages use `Load` instead.
    ///
    /// # Errors
    /// As `Request::send` and `Answer::value`.
    pub(crate) async fn send(self) -> Result<T, Failure> {
        self.request.send(None).await?.value().and_then(read)
    }
}

impl Request {
    /// Sends the request.
    ///
    /// # Errors
    /// Why there was no answer.
    pub(crate) async fn send(self, abort: Option<AbortSignal>) -> Result<Answer, Failure> {
        let reply = client::post(self.body.to_string(), abort).await?;
        Ok(Answer { reply, at: self.at })
    }
}

/// The answer to a request, not deserialized yet. Comparing two answers costs far less than deserializing one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    reply: client::Reply,
    at: &'static str,
}

impl Answer {
    /// Reads the value at the request's place in the answer.
    ///
    /// # Errors
    /// The first error of the answer. A missing or null value is an error too.
    pub(crate) fn value(&self) -> Result<Value, Failure> {
        let mut data = self.reply.data()?;
        pluck(&mut data, self.at).ok_or_else(|| {
            Failure::new(Code::NotFound, format!("There is no such {}.", words(self.at)))
        })
    }
}

/// What a JSON pointer names, in words: `maintenance window` for `/maintenanceWindow`.
fn words(at: &str) -> String {
    let mut words = String::new();
    for letter in at.trim_start_matches('/').chars() {
        if letter.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

/// The value at a JSON pointer, unless it is null.
pub(crate) fn pluck(data: &mut Value, at: &str) -> Option<Value> {
    data.pointer_mut(at).map(Value::take).filter(|value| !value.is_null())
}

/// Deserializes an answer.
///
/// # Errors
/// The part that does not match the type, and its position.
pub(crate) fn read<T: DeserializeOwned>(answer: Value) -> Result<T, Failure> {
    serde_json::from_value(answer).map_err(Failure::unreadable)
}

#[cfg(test)]
mod tests {
    use super::words;
    use crate::api::calls;

    #[test]
    fn what_is_missing_is_named_in_words() {
        assert_eq!(words("/schedule"), "schedule");
        assert_eq!(words("/maintenanceWindow"), "maintenance window");
    }

    #[test]
    fn an_omitted_field_is_not_sent() {
        let ask = calls::schedule("x".to_owned());
        assert_eq!(ask.request.body["variables"]["id"], "x");
        let ask = ask.without("/variables", "id").without("/nowhere", "id");
        assert!(ask.request.body["variables"].is_object());
        assert_eq!(ask.request.body["variables"].get("id"), None);
    }
}

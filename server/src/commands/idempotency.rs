//! Idempotency keys: a repeated call gets the first answer, and its change is not made again.
//!
//! A caller that may have lost an answer sends the same call with the same key. The key is taken in
//! the transaction of the change itself. So of two concurrent calls, one waits for the other and
//! then reads its answer, and a failed call leaves no key behind.

use entity::{Timestamp, idempotency::Model};
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{BadInput, CommandError, Commands, stored};
use crate::{
    access::Viewer,
    store::{DatabaseTransaction, idempotency},
};

/// A call as it is stored under its key.
#[derive(Clone, Debug, Default)]
pub struct Call {
    key: Option<String>,
    request: String,
}

impl Call {
    /// A call of the mutation `name` with `arguments`, in any notation that is the same for equal
    /// arguments. A call without a key is never stored.
    pub fn new(name: &str, arguments: &str, key: Option<String>) -> Result<Self, BadInput> {
        if let Some(key) = &key {
            let printable = key.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
            if key.is_empty() || key.len() > 128 || !printable {
                let help = "use 1 to 128 printable ASCII characters without spaces, such as a UUID";
                return Err(BadInput::new("idempotencyKey", key, "is not a key", help));
            }
        }
        // Calls are compared by a hash of their arguments, because these may contain secrets.
        let request = format!("{name} {:x}", Sha256::digest(arguments));
        Ok(Self { key, request })
    }

    /// Whether the answer will be stored.
    pub(super) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// The part of this call that concerns one item of a bulk request. It has a key of its own, so
    /// the item is handled once however often the whole request is repeated.
    pub(super) fn of_item(&self, id: Uuid) -> Self {
        let of_item = |key: &String| format!("{:x}", Sha256::digest(format!("{key} {id}")));
        Self { key: self.key.as_ref().map(of_item), request: self.request.clone() }
    }

    /// A call without a key.
    pub fn once() -> Self {
        Self::default()
    }
}

impl Commands {
    /// The answer to an earlier call with the same key. If this returns `None`, the key is taken,
    /// and [`Commands::remember`] or [`Commands::release_key`] must follow in the same transaction.
    pub(crate) async fn recall<A: DeserializeOwned>(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        call: &Call,
    ) -> Result<Option<A>, CommandError> {
        self.has_right_clock(tx).await?;
        let Some(key) = &call.key else { return Ok(None) };
        let actor = who.id.to_string();
        let at = Timestamp::from(self.clock.now());
        if idempotency::take_if_free(tx, &actor, key, &call.request, at).await? {
            return Ok(None);
        }
        let Some(earlier) = idempotency::find(tx, &actor, key).await? else { return Ok(None) };
        answer_of(key, call, earlier)
    }

    /// The answer to an earlier call with the same key, before work that precedes the transaction.
    /// The key is not taken: [`Commands::recall`] follows in the transaction.
    pub(crate) async fn recall_early<A: DeserializeOwned>(
        &self,
        who: &Viewer,
        call: &Call,
    ) -> Result<Option<A>, CommandError> {
        let Some(key) = &call.key else { return Ok(None) };
        let earlier = idempotency::peek(self.store.read(), &who.id.to_string(), key).await?;
        earlier.map_or(Ok(None), |earlier| answer_of(key, call, earlier))
    }

    /// Frees the key again before a commit after which the call continues in another transaction:
    /// a key is committed only together with its answer.
    pub(crate) async fn release_key(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        call: &Call,
    ) -> Result<(), CommandError> {
        let Some(key) = &call.key else { return Ok(()) };
        Ok(idempotency::release(tx, &who.id.to_string(), key).await?)
    }

    /// Stores the answer for callers that repeat the call.
    pub(crate) async fn remember<A: Serialize + Sync>(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        call: &Call,
        answer: &A,
    ) -> Result<(), CommandError> {
        let Some(key) = &call.key else { return Ok(()) };
        let answer = serde_json::to_value(answer)
            .map_err(|source| CommandError::Unreadable { what: "an answer".to_owned(), source })?;
        Ok(idempotency::answer(tx, &who.id.to_string(), key, answer).await?)
    }
}

/// The answer that is stored under a key, if it was stored for the same call.
fn answer_of<A: DeserializeOwned>(
    key: &str,
    call: &Call,
    earlier: Model,
) -> Result<Option<A>, CommandError> {
    if earlier.request != call.request {
        return Err(CommandError::conflict(
            format!("the idempotency key {key:?} was used for another call"),
            "use a new key for each call, and the same one only to repeat it",
        ));
    }
    let whose = || format!("the answer kept for idempotency key {key:?}");
    stored::read(earlier.answer, whose).map(Some)
}

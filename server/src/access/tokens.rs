//! API tokens: creates, revokes and recognises them.

use chrono::{DateTime, TimeDelta, Utc};
use entity::{Strings, Timestamp, api_token::ActiveModel, user::Role};
use rand::{TryRngCore, rngs::OsRng};
use sea_orm::{ActiveEnum, Set};
use secrecy::SecretString;
use serde_json::json;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{GroupGrantLimits, PeopleError, check_name, commit_rights, grants_of, record};
use crate::{
    access::{Grant, Grants, Owner, Viewer, ViewerKind, WorkerQueues},
    clock::Clock,
    store::{Store, StoreError, deleted_namespaces, namespaces, tokens, users},
    target::is_queue_name,
};

/// The prefix of every token, so that a leaked one can be recognised.
pub(crate) const PREFIX: &str = "car_";

/// Maximum number of queues of a worker's token.
const MAX_QUEUES: usize = 32;

/// The time of the last use is stored at most this often.
const USE_STAMP: TimeDelta = TimeDelta::minutes(1);

/// A token to create.
#[derive(Debug)]
pub struct NewToken {
    /// A name for people, unique among the tokens that do not belong to a user.
    pub name: String,
    /// What the token may do.
    pub role: Role,
    /// The only namespace that the token gives access to, by name; `None` for all.
    pub namespace: Option<String>,
    /// The only queues that a worker may pull from with it; the token then gives access to nothing
    /// else. Empty for a token that is not a worker's.
    pub queues: Vec<String>,
    /// When the token expires.
    pub expires_at: Option<DateTime<Utc>>,
}

/// Creates a token. Only its hash is stored, so the token can be shown only now.
pub async fn create_token(
    owner: &Owner,
    store: &Store,
    clock: &Clock,
    token: NewToken,
) -> Result<SecretString, PeopleError> {
    check_name("name", &token.name)?;
    check_queues(token.role, &token.queues)?;
    let namespace_id = match &token.namespace {
        Some(name) => Some(namespace_named(store, name).await?),
        None => None,
    };
    let queues = (!token.queues.is_empty()).then_some(token.queues);
    let text = random(PREFIX)?;
    let id = Uuid::now_v7();
    let row = ActiveModel {
        id: Set(id),
        name: Set(token.name.clone()),
        hash: Set(hashed(&text)),
        user_id: Set(None),
        namespace_id: Set(namespace_id),
        queues: Set(queues.clone().map(Strings)),
        role: Set(token.role),
        sees_payloads: Set(true),
        created_by: Set(owner.who().name.clone()),
        created_at: Set(Timestamp::from(clock.now())),
        expires_at: Set(token.expires_at.map(Timestamp::from)),
        revoked_at: Set(None),
        used_at: Set(None),
    };
    let tx = store.begin().await?;
    tokens::insert(&tx, row).await.map_err(PeopleError::adding("token", &token.name))?;
    let after = json!({
        "role": token.role.to_value(), "namespace": token.namespace, "queues": queues,
        "expires_at": token.expires_at,
    });
    record(&tx, clock, owner.who(), "token.create", id, &token.name, Some(after)).await?;
    store.commit(tx).await?;
    Ok(text.into())
}

async fn namespace_named(store: &Store, name: &str) -> Result<Uuid, PeopleError> {
    let found = namespaces::by_name(store.read(), name).await?;
    let missing = || PeopleError::NotFound { what: "namespace", name: name.to_owned() };
    Ok(found.ok_or_else(missing)?.id)
}

/// A worker's token names at most 32 queues, and its role is operator or more.
fn check_queues(role: Role, queues: &[String]) -> Result<(), PeopleError> {
    let refused = |field, value: &str, problem: &str, help| {
        let (value, problem) = (value.to_owned(), problem.to_owned());
        Err(PeopleError::BadInput { field, value, problem, help })
    };
    if queues.len() > MAX_QUEUES {
        let value = queues.len().to_string();
        return refused("number of queues", &value, "is too large", "name at most 32");
    }
    if let Some(queue) = queues.iter().find(|queue| !is_queue_name(queue)) {
        return refused(
            "queue",
            queue,
            "is not a valid queue name",
            "write 1 to 64 of a-z 0-9 . _ -",
        );
    }
    if !queues.is_empty() && role < Role::Operator {
        let help = "give it the role operator or more, or leave the queues out";
        return refused("role", &role.to_value(), "cannot pull tasks", help);
    }
    Ok(())
}

/// The text of a new token.
pub(crate) fn random(prefix: &str) -> Result<String, PeopleError> {
    let mut random = [0_u8; 32];
    OsRng.try_fill_bytes(&mut random).map_err(|error| PeopleError::Hash(error.to_string()))?;
    Ok(format!("{prefix}{}", hex(&random)))
}

/// Revokes a token, named as `name` or as `owner/name`; returns false if it was already revoked.
pub async fn revoke_token(
    owner: &Owner,
    store: &Store,
    clock: &Clock,
    name: &str,
) -> Result<bool, PeopleError> {
    let missing = || PeopleError::NotFound { what: "token", name: name.to_owned() };
    let found = match name.split_once('/') {
        Some((owner, own)) => {
            let owner = users::by_name(store.read(), owner).await?.ok_or_else(missing)?;
            tokens::by_name(store.read(), Some(owner.id), own).await?
        }
        None => tokens::by_name(store.read(), None, name).await?,
    };
    let token = found.ok_or_else(missing)?;
    let tx = store.begin().await?;
    let revoked = tokens::revoke_if_live(&tx, token.id, Timestamp::from(clock.now())).await?;
    if revoked {
        record(&tx, clock, owner.who(), "token.revoke", token.id, name, None).await?;
    }
    commit_rights(store, tx).await?;
    Ok(revoked)
}

/// The user or program on whose behalf a token acts, independent of the client's address.
#[derive(Clone, Debug)]
pub struct TokenHolder {
    id: Uuid,
    /// The user to whom the token belongs, if any.
    owner: Option<Uuid>,
    name: String,
    grants: Grants,
    /// The only queues that it gives access to, if it is a worker's token.
    queues: Option<Vec<String>>,
    expires_at: Option<Timestamp>,
}

impl TokenHolder {
    /// Whether the token has not expired since it was looked up.
    pub fn is_live(&self, now: DateTime<Utc>) -> bool {
        self.expires_at.is_none_or(|end| end.utc() > now)
    }

    /// The viewer with the client's address.
    pub fn viewer(self, source: String) -> Viewer {
        let Self { id, owner, name, grants, queues, .. } = self;
        let caller = owner.unwrap_or(id);
        let Some(names) = queues else {
            let viewer = Viewer::new(id, name, ViewerKind::Token, grants, source);
            return Viewer { caller, ..viewer };
        };
        // A worker's token has no grants: it gives access to its queues only.
        let viewer = Viewer::new(id, name, ViewerKind::Token, Grants::default(), source);
        Viewer { caller, queues: Some(WorkerQueues { grants, names }), ..viewer }
    }
}

/// The holder of the token with this [hash](token_hash), if they may still sign in.
pub async fn token_holder(
    store: &Store,
    clock: &Clock,
    elsewhere: GroupGrantLimits<'_>,
    hash: &str,
) -> Result<Option<TokenHolder>, StoreError> {
    let now = clock.now();
    let found = tokens::live_by_hash(store.read(), hash, Timestamp::from(now)).await?;
    let Some(found) = found else { return Ok(None) };
    if found.used_at.is_none_or(|used| now - used.utc() >= USE_STAMP) {
        let (store, id) = (store.clone(), found.id);
        // Stored in the background, so that the caller does not wait for it.
        tokio::spawn(async move {
            let stamped = async {
                let tx = store.begin().await?;
                tokens::stamp_use(&tx, id, Timestamp::from(now)).await?;
                Ok::<_, StoreError>(tx.commit().await?)
            };
            if let Err(error) = stamped.await {
                tracing::warn!(%error, "failed to record the use of a token");
            }
        });
    }
    let limit = Grant { role: found.role, sees_payloads: found.sees_payloads };
    let (name, grants) = match found.user_id {
        None => {
            let grants = match found.namespace_id {
                Some(namespace) => Grants::new(None, [(namespace, limit)]),
                None => Grants::new(Some(limit), []),
            };
            let grants = grants.without(deleted_namespaces::hidden(store.read()).await?);
            // The prefix keeps a token from being mistaken for a person with the same name.
            (format!("token/{}", found.name), grants)
        }
        Some(owner) => {
            let owner = users::by_id(store.read(), owner).await?;
            let Some(owner) = owner.filter(|owner| owner.disabled_at.is_none()) else {
                return Ok(None);
            };
            let grants = grants_of(store.read(), &owner, elsewhere, now).await?;
            let name = format!("{}/{}", owner.name, found.name);
            (name, grants.limited(limit, found.namespace_id))
        }
    };
    let queues = found.queues.map(|queues| queues.0);
    Ok(Some(TokenHolder {
        id: found.id,
        owner: found.user_id,
        name,
        grants,
        queues,
        expires_at: found.expires_at,
    }))
}

/// The stored hash of a token; `None` for a text that cannot be one.
pub fn token_hash(token: &str) -> Option<String> {
    (token.starts_with(PREFIX) && token.len() <= 256).then(|| hashed(token))
}

/// The hash of a token. A token is 256 random bits, so one round of a fast hash suffices, and is
/// quick for each request.
pub(crate) fn hashed(token: &str) -> String {
    hex(&Sha256::digest(token))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_was_looked_at_before_it_expired_is_none_after_it() {
        let end = DateTime::UNIX_EPOCH + TimeDelta::hours(1);
        let holder = |expires_at| TokenHolder {
            id: Uuid::nil(),
            owner: None,
            name: "token/ci".to_owned(),
            grants: Grants::default(),
            queues: None,
            expires_at,
        };
        let expiring = holder(Some(Timestamp::from(end)));
        assert!(expiring.is_live(end - TimeDelta::milliseconds(1)));
        assert!(!expiring.is_live(end));
        assert!(holder(None).is_live(end));
    }

    #[test]
    fn the_tokens_of_one_user_count_as_one_caller() {
        let holder = |id: u128, owner: Option<u128>| TokenHolder {
            id: Uuid::from_u128(id),
            owner: owner.map(Uuid::from_u128),
            name: "token/ci".to_owned(),
            grants: Grants::default(),
            queues: None,
            expires_at: None,
        };
        let caller = |holder: TokenHolder| holder.viewer("192.0.2.1".to_owned()).caller;
        assert_eq!(caller(holder(1, Some(7))), caller(holder(2, Some(7))));
        assert_ne!(caller(holder(1, None)), caller(holder(2, None)));
        let worker = TokenHolder { queues: Some(vec!["mail".to_owned()]), ..holder(3, Some(7)) };
        assert_eq!(caller(worker), Uuid::from_u128(7));
    }
}

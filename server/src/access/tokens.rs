use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, api_token::ActiveModel, user::Role};
use rand::{TryRngCore, rngs::OsRng};
use sea_orm::{ActiveEnum, Set};
use secrecy::SecretString;
use serde_json::json;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{Elsewhere, PeopleError, check_name, commit_rights, grants_of, record};
use crate::{
    access::{Grant, Grants, Owner, Queues, Viewer, ViewerKind},
    clock::Clock,
    store::{Store, StoreError, tokens, users},
};

/// The prefix of every token, so that a leaked one can be recognised.
pub(crate) const PREFIX: &str = "car_";

/// The time of the last use is stored at most this often.
const USE_STAMP: TimeDelta = TimeDelta::minutes(1);

/// A token to create.
#[derive(Debug)]
pub struct NewToken {
    /// Unique among the tokens that act for no user; for people.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// When it expires.
    pub expires_at: Option<DateTime<Utc>>,
}

/// Creates a token. Only its hash is stored: this is the only time that it is shown.
pub async fn create_token(
    owner: &Owner,
    store: &Store,
    clock: &Clock,
    token: NewToken,
) -> Result<SecretString, PeopleError> {
    check_name("name", &token.name)?;
    let text = random(PREFIX)?;
    let id = Uuid::now_v7();
    let row = ActiveModel {
        id: Set(id),
        name: Set(token.name.clone()),
        hash: Set(hashed(&text)),
        user_id: Set(None),
        namespace_id: Set(None),
        queues: Set(None),
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
    let after = json!({ "role": token.role.to_value(), "expires_at": token.expires_at });
    record(&tx, clock, owner.who(), "token.create", id, &token.name, Some(after)).await?;
    store.commit(tx).await?;
    Ok(text.into())
}

/// The text of a new token.
pub(crate) fn random(prefix: &str) -> Result<String, PeopleError> {
    let mut random = [0_u8; 32];
    OsRng.try_fill_bytes(&mut random).map_err(|error| PeopleError::Hash(error.to_string()))?;
    Ok(format!("{prefix}{}", hex(&random)))
}

/// Revokes a token, by its name or as `owner/name`; false if it was already revoked.
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

/// The user or program that a token acts for, independent of the client's address.
#[derive(Clone, Debug)]
pub struct TokenHolder {
    id: Uuid,
    name: String,
    grants: Grants,
    /// The only queues that it gives access to, if it is a worker's.
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
        let Self { id, name, grants, queues, .. } = self;
        let Some(names) = queues else {
            return Viewer::new(id, name, ViewerKind::Token, grants, source);
        };
        // It gives access to nothing but queues.
        let viewer = Viewer::new(id, name, ViewerKind::Token, Grants::default(), source);
        Viewer { queues: Some(Queues { grants, names }), ..viewer }
    }
}

/// The holder of the token with that [hash](token_hash), if they may still sign in.
pub async fn token_holder(
    store: &Store,
    clock: &Clock,
    elsewhere: Elsewhere<'_>,
    hash: &str,
) -> Result<Option<TokenHolder>, StoreError> {
    let now = clock.now();
    let found = tokens::live_by_hash(store.read(), hash, Timestamp::from(now)).await?;
    let Some(found) = found else { return Ok(None) };
    if found.used_at.is_none_or(|used| now - used.utc() >= USE_STAMP) {
        let (store, id) = (store.clone(), found.id);
        // Stored in the background, so that the caller need not wait.
        tokio::spawn(async move {
            let stamped = async {
                let tx = store.begin().await?;
                tokens::stamp_use(&tx, id, Timestamp::from(now)).await?;
                Ok::<_, StoreError>(tx.commit().await?)
            };
            if let Err(error) = stamped.await {
                tracing::warn!(%error, "failed to note the use of a token");
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
            // The prefix keeps a token from passing for a person of that name.
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
    Ok(Some(TokenHolder { id: found.id, name, grants, queues, expires_at: found.expires_at }))
}

/// The stored hash of a token; `None` for a text that cannot be one.
pub fn token_hash(token: &str) -> Option<String> {
    (token.starts_with(PREFIX) && token.len() <= 256).then(|| hashed(token))
}

/// A token is 256 random bits: one round of a fast hash suffices, and is quick for each request.
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
}

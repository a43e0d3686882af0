use chrono::TimeDelta;
use entity::{
    Timestamp,
    calendar_feed::{Kind, Model},
};
use uuid::Uuid;

use crate::{
    access::{GroupGrantLimits, grants_of, tokens},
    clock::Clock,
    store::{Store, StoreError, feeds, namespaces, users},
};

/// The prefix of every key, so that a leaked one can be recognised.
pub(crate) const PREFIX: &str = "carfeed_";

/// Minimum interval between two updates of the time of the last use.
const USE_STAMP: TimeDelta = TimeDelta::minutes(1);

/// A feed whose owner may still view its namespace.
#[derive(Clone, Debug)]
pub struct OpenFeed {
    /// The feed's row.
    pub feed: Model,
    /// The name of the feed's namespace.
    pub namespace: String,
}

/// The stored hash of a key.
pub(crate) fn hashed(key: &str) -> String {
    tokens::hashed(key)
}

/// The feed of this kind with this key, if its owner may view its namespace.
pub async fn open(
    store: &Store,
    clock: &Clock,
    elsewhere: GroupGrantLimits<'_>,
    kind: Kind,
    key: &str,
) -> Result<Option<OpenFeed>, StoreError> {
    if !key.starts_with(PREFIX) || key.len() > 256 {
        return Ok(None);
    }
    let read = store.read();
    let feed = feeds::by_hash(read, &hashed(key)).await?;
    let Some(feed) = feed.filter(|feed| feed.kind == kind) else { return Ok(None) };
    let owner = users::by_id(read, feed.user_id).await?;
    let Some(owner) = owner.filter(|owner| owner.disabled_at.is_none()) else { return Ok(None) };
    let now = clock.now();
    let grants = grants_of(read, &owner, elsewhere, now).await?;
    if grants.within(feed.namespace_id).is_none() {
        return Ok(None);
    }
    let namespace = namespaces::by_ids(read, &[feed.namespace_id]).await?.pop();
    let Some(namespace) = namespace else { return Ok(None) };
    if feed.used_at.is_none_or(|used| now - used.utc() >= USE_STAMP) {
        note_use(store.clone(), feed.id, now.into());
    }
    Ok(Some(OpenFeed { feed, namespace: namespace.name }))
}

/// Stores the time of use in the background, so that the caller does not wait for it.
fn note_use(store: Store, id: Uuid, at: Timestamp) {
    tokio::spawn(async move {
        let stamped = async {
            let tx = store.begin().await?;
            feeds::stamp_use(&tx, id, at).await?;
            Ok::<_, StoreError>(tx.commit().await?)
        };
        if let Err(error) = stamped.await {
            tracing::warn!(%error, "failed to record the use of a calendar feed");
        }
    });
}

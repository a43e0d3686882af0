use async_trait::async_trait;
use chrono::{DateTime, Utc};
use entity::{Timestamp, session::ActiveModel};
use sea_orm::Set;
use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use tower_sessions::{
    session::{Id, Record},
    session_store::{Error, Result, SessionStore as Backend},
};

use super::session::{KEY, SignedIn};
use crate::{
    clock::Clock,
    store::{AWAY, Store, StoreError, sessions},
};

/// Stores sessions in the database, so that they survive a restart and every node knows them. A
/// session's key is stored as a hash, so a copy of the table gives access to no session.
#[derive(Clone, Debug)]
pub struct SessionStore {
    store: Store,
    clock: Clock,
}

impl SessionStore {
    /// A session store in the database of `store`.
    pub fn new(store: Store, clock: Clock) -> Self {
        Self { store, clock }
    }
}

#[async_trait]
impl Backend for SessionStore {
    async fn create(&self, record: &mut Record) -> Result<()> {
        let tx = self.store.begin().await.map_err(backend)?;
        while !sessions::insert_if_new(&tx, row(record)?).await.map_err(backend)? {
            record.id = Id::default();
        }
        tx.commit().await.map_err(backend)
    }

    async fn save(&self, record: &Record) -> Result<()> {
        let tx = self.store.begin().await.map_err(backend)?;
        let ActiveModel { used_at, data, expires_at, .. } = row(record)?;
        let row = ActiveModel { used_at, data, expires_at, ..ActiveModel::default() };
        sessions::save_if_there(&tx, &hashed(&record.id), row).await.map_err(backend)?;
        tx.commit().await.map_err(backend)
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let now = Timestamp::from(self.clock.now());
        let found = sessions::live(self.store.read(), &hashed(id), now).await.map_err(backend)?;
        let Some(found) = found else { return Ok(None) };
        let mut data = found.data;
        // The column takes precedence over the data. When a user changes their password, the
        // current session stays valid, but its other requests in progress may write back the data
        // that they have read, with the old mark.
        if let (Some(signed_in), Some(mark)) = (data.get_mut(KEY), found.mark) {
            signed_in["mark"] = mark.into();
        }
        let data = serde_json::from_value(data).map_err(decode)?;
        let expires =
            OffsetDateTime::from_unix_timestamp_nanos(i128::from(found.expires_at.0) * 1_000_000);
        Ok(Some(Record { id: *id, data, expiry_date: expires.map_err(decode)? }))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        let tx = self.store.begin().await.map_err(backend)?;
        sessions::delete(&tx, &hashed(id)).await.map_err(backend)?;
        tx.commit().await.map_err(backend)
    }
}

fn row(record: &Record) -> Result<ActiveModel> {
    let expires = record.expiry_date;
    let expires = DateTime::<Utc>::from_timestamp(expires.unix_timestamp(), expires.nanosecond())
        .ok_or_else(|| Error::Encode(format!("{expires} is out of range")))?;
    let data = serde_json::to_value(&record.data).map_err(|error| Error::Encode(error.to_string()));
    let signed_in = record.data.get(KEY).cloned().map(serde_json::from_value::<SignedIn>);
    let signed_in = signed_in.transpose().map_err(|error| Error::Encode(error.to_string()))?;
    let signed_in = signed_in.as_ref();
    Ok(ActiveModel {
        id: Set(hashed(&record.id)),
        user_id: Set(signed_in.map(|of| of.user)),
        address: Set(signed_in.map(|of| of.address.clone())),
        browser: Set(signed_in.and_then(|of| of.browser.clone())),
        began_at: Set(signed_in.map(|of| of.since.into())),
        used_at: Set(signed_in.map(|of| of.renewed.into())),
        mark: Set(signed_in.map(|of| of.mark.clone())),
        data: Set(data?),
        expires_at: Set(Timestamp::from(expires)),
    })
}

pub(super) fn hashed(id: &Id) -> String {
    let digest = Sha256::digest(id.to_string());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Converts a store error for the session library, which keeps only its text. A special text marks
/// an unavailable database.
fn backend(error: impl Into<StoreError>) -> Error {
    let error = error.into();
    Error::Backend(error.unavailable().map_or_else(|| error.to_string(), |_| AWAY.to_owned()))
}

fn decode(error: impl std::fmt::Display) -> Error {
    Error::Decode(error.to_string())
}

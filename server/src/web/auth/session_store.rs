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

use crate::{
    clock::Clock,
    store::{Store, sessions},
};

/// Keeps sessions in the database, so that they survive a restart and every node knows them. The
/// key is kept as a hash: a copy of the table opens no session.
#[derive(Clone, Debug)]
pub struct SessionStore {
    store: Store,
    clock: Clock,
}

impl SessionStore {
    /// Over that database.
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
        sessions::save(&tx, row(record)?).await.map_err(backend)?;
        tx.commit().await.map_err(backend)
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let now = Timestamp::from(self.clock.now());
        let found = sessions::live(self.store.read(), &hashed(id), now).await.map_err(backend)?;
        let Some(found) = found else { return Ok(None) };
        let data = serde_json::from_value(found.data).map_err(decode)?;
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
    Ok(ActiveModel {
        id: Set(hashed(&record.id)),
        data: Set(data?),
        expires_at: Set(Timestamp::from(expires)),
    })
}

fn hashed(id: &Id) -> String {
    let digest = Sha256::digest(id.to_string());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn backend(error: impl std::fmt::Display) -> Error {
    Error::Backend(error.to_string())
}

fn decode(error: impl std::fmt::Display) -> Error {
    Error::Decode(error.to_string())
}

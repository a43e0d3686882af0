//! Re-encrypts everything with the current key: secrets, and the confidential parts of channels.

use entity::{alert_channel, secret};
use sea_orm::Set;
use serde_json::json;
use uuid::Uuid;

use super::vault::{refused, sealed};
use crate::{
    access::Owner,
    commands::{CommandError, Commands, audit::AuditEntry},
    engine::alerting::alerts::ChannelConfig,
    store::{DatabaseTransaction, StoreError, alerts, secrets},
    vault::{Sealed, SecretScope, Vault, VaultError},
};

/// Maximum number of rows re-encrypted in one transaction.
const AT_ONCE: u64 = 100;

/// The result of one batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RotationBatch {
    /// How many rows are now encrypted with the current key.
    pub done: usize,
    /// The rows that could not be decrypted, and why.
    pub failed: Vec<String>,
    /// Where the next batch begins; `None` if nothing is left.
    pub next: Option<Uuid>,
}

/// A row with an encrypted value.
trait Sealable: Sized {
    /// The name of such rows in the audit log.
    const WHAT: &'static str;

    /// Locks some rows after the given one that are encrypted with a key other than this one.
    async fn lock_some(
        tx: &DatabaseTransaction,
        key_id: &str,
        after: Option<Uuid>,
    ) -> Result<Vec<Self>, StoreError>;

    fn id(&self) -> Uuid;

    /// Decrypts the value with its key and encrypts it with the current one.
    fn sealed_anew(&self, vault: &Vault) -> Result<Sealed, VaultError>;

    async fn write(&self, tx: &DatabaseTransaction, sealed: Sealed) -> Result<(), StoreError>;
}

impl Sealable for secret::Model {
    const WHAT: &'static str = "secrets";

    async fn lock_some(
        tx: &DatabaseTransaction,
        key_id: &str,
        after: Option<Uuid>,
    ) -> Result<Vec<Self>, StoreError> {
        secrets::lock_sealed_otherwise(tx, key_id, after, AT_ONCE).await
    }

    fn id(&self) -> Uuid {
        self.id
    }

    fn sealed_anew(&self, vault: &Vault) -> Result<Sealed, VaultError> {
        let place = SecretScope::Secret { namespace: self.namespace_id, name: &self.name };
        vault.seal(place, &vault.open(place, &sealed(self))?)
    }

    async fn write(&self, tx: &DatabaseTransaction, sealed: Sealed) -> Result<(), StoreError> {
        let (key_id, sealed) = (Set(sealed.key_id), Set(sealed.text));
        let write = secret::ActiveModel { key_id, sealed, ..secret::ActiveModel::default() };
        secrets::update(tx, self.id, write).await
    }
}

impl Sealable for alert_channel::Model {
    const WHAT: &'static str = "alert_channels";

    async fn lock_some(
        tx: &DatabaseTransaction,
        key_id: &str,
        after: Option<Uuid>,
    ) -> Result<Vec<Self>, StoreError> {
        alerts::sealed::lock_sealed_otherwise(tx, key_id, after, AT_ONCE).await
    }

    fn id(&self) -> Uuid {
        self.id
    }

    fn sealed_anew(&self, vault: &Vault) -> Result<Sealed, VaultError> {
        let place = SecretScope::Channel { id: self.id, name: &self.name };
        let (key_id, sealed) = ChannelConfig::read(self, vault)?.sealed(place, vault)?;
        let key_id = key_id.ok_or_else(|| VaultError::broken(place))?;
        Ok(Sealed { key_id, text: sealed.0 })
    }

    async fn write(&self, tx: &DatabaseTransaction, sealed: Sealed) -> Result<(), StoreError> {
        let (key_id, sealed) = (Set(Some(sealed.key_id)), Set(alert_channel::Sealed(sealed.text)));
        let write =
            alert_channel::ActiveModel { key_id, sealed, ..alert_channel::ActiveModel::default() };
        alerts::channels::update(tx, self.id, write).await
    }
}

impl Commands {
    /// Re-encrypts a batch of secrets after `after` whose key is not the current one. The caller
    /// repeats this until nothing is left, and may start again after an interruption.
    pub async fn rotate_secrets(
        &self,
        right: &Owner,
        after: Option<Uuid>,
    ) -> Result<RotationBatch, CommandError> {
        self.rotate::<secret::Model>(right, after).await
    }

    /// Re-encrypts a batch of alert channels in the same way.
    pub async fn rotate_channels(
        &self,
        right: &Owner,
        after: Option<Uuid>,
    ) -> Result<RotationBatch, CommandError> {
        self.rotate::<alert_channel::Model>(right, after).await
    }

    async fn rotate<Row: Sealable>(
        &self,
        right: &Owner,
        after: Option<Uuid>,
    ) -> Result<RotationBatch, CommandError> {
        let current = self.vault.current().map_err(refused)?;
        let tx = self.store.begin().await?;
        secrets::lock_sealing(&tx, self.store.dialect()).await?;
        let rows = Row::lock_some(&tx, current, after).await?;
        let mut turn = RotationBatch { next: rows.last().map(Row::id), ..RotationBatch::default() };
        for row in rows {
            match row.sealed_anew(&self.vault) {
                Ok(sealed) => {
                    row.write(&tx, sealed).await?;
                    turn.done += 1;
                }
                Err(error) => turn.failed.push(format!("failed to {error}")),
            }
        }
        if turn.done > 0 {
            let entry = AuditEntry {
                action: "secret.rotate",
                after: Some(json!({ (Row::WHAT): turn.done, "key": current })),
                ..AuditEntry::default()
            };
            self.audit(&tx, right.who(), entry).await?;
        }
        self.store.commit(tx).await?;
        Ok(turn)
    }
}

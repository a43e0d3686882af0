use entity::alert_channel::{Kind, Model};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{channel_rows::Draft, given::ChannelInput};
use crate::{
    access::{Editor, Permit},
    commands::{Call, CommandError, Commands, versions},
    store::{DatabaseTransaction, alerts::channels, secrets},
};

/// A channel to create.
#[derive(Clone, Debug)]
pub struct NewChannel {
    /// The namespace, by name.
    pub namespace: String,
    /// Unique among the namespace's channels.
    pub name: String,
    /// The channel's kind.
    pub kind: Kind,
    /// The remaining fields.
    pub input: ChannelInput,
}

/// A change of a channel. `None` leaves a field as it is.
#[derive(Clone, Debug)]
pub struct ChannelEdit {
    /// The channel.
    pub id: Uuid,
    /// The version that the change is based on.
    pub expected_version: i32,
    /// The new name, if it changes.
    pub name: Option<String>,
    /// The remaining fields.
    pub input: ChannelInput,
}

/// A channel after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedChannel {
    /// The channel.
    pub id: Uuid,
}

impl Commands {
    /// Creates a channel.
    pub async fn create_alert_channel(
        &self,
        right: &Editor,
        new: NewChannel,
        call: &Call,
    ) -> Result<SavedChannel, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let NewChannel { namespace, name, kind, input } = new;
        let namespace = self.namespace(&tx, right.permit(), &namespace).await?;
        let draft = Draft { name: &name, kind, input };
        let id = self.add_channel(&tx, right.who(), namespace, None, draft, 0).await?;
        let saved = SavedChannel { id };
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        Ok(saved)
    }

    /// Changes a channel, if it is still in the version that the caller saw.
    pub async fn update_alert_channel(
        &self,
        right: &Editor,
        edit: ChannelEdit,
        call: &Call,
    ) -> Result<SavedChannel, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        // Taken before the channel's lock, in the same order as when all channels are resealed.
        secrets::lock_sealing(&tx, self.store.dialect()).await?;
        let row = self.locked_channel(&tx, right.permit(), edit.id).await?;
        versions::owned_by_people("alert channel", &row.name, row.module.as_deref())?;
        versions::version("channel", edit.expected_version, row.version)?;
        let name = edit.name.unwrap_or_else(|| row.name.clone());
        let draft = Draft { name: &name, kind: row.kind, input: edit.input };
        let redrafted = self.redrafted(&row, draft)?;
        self.revise_channel(&tx, right.who(), &row, redrafted).await?;
        let saved = SavedChannel { id: row.id };
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        Ok(saved)
    }

    /// Deletes a channel that no rule names.
    pub async fn delete_alert_channel(
        &self,
        right: &Editor,
        id: Uuid,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.locked_channel(&tx, right.permit(), id).await?;
        versions::owned_by_people("alert channel", &row.name, row.module.as_deref())?;
        self.remove_channel(&tx, right.who(), &row).await?;
        self.remember(&tx, right.who(), call, &id).await?;
        self.store.commit(tx).await?;
        Ok(id)
    }

    pub(super) async fn locked_channel(
        &self,
        tx: &DatabaseTransaction,
        permit: Permit<'_>,
        id: Uuid,
    ) -> Result<Model, CommandError> {
        let row = channels::lock(tx, id).await?;
        let row = row.ok_or_else(|| CommandError::not_found("alert channel", id))?;
        permit.over(row.namespace_id, "alert channel", id)?;
        Ok(row)
    }
}

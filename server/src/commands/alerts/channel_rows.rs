//! Creates, changes and removes channels within a transaction, for both manual changes and modules.

use entity::alert_channel::{ActiveModel, Kind, Model};
use sea_orm::{ActiveEnum, Set};
use serde_json::{Value, json};
use uuid::Uuid;

use super::given::{self, ChannelBefore, ChannelInput, MAX_CHANNELS, MAX_RULES};
use crate::{
    access::Viewer,
    commands::{BadInput, CommandError, Commands, audit::AuditEntry, secrets::vault::refused},
    engine::alerting::alerts::{ChannelConfig, Rule},
    model::{CHANNEL_SECRETS, check},
    random::new_id,
    store::{
        Constraint, DatabaseTransaction, StoreError,
        alerts::{channels, rules},
        secrets,
    },
    vault::{SecretScope, VaultError},
};

/// A requested channel.
#[derive(Debug)]
pub(in crate::commands) struct Draft<'a> {
    pub(in crate::commands) name: &'a str,
    pub(in crate::commands) kind: Kind,
    /// The given fields. In a change, absent fields keep their values.
    pub(in crate::commands) input: ChannelInput,
}

/// A changed channel, with its previous configuration.
#[derive(Debug)]
pub(in crate::commands) struct ChangedChannel<'a> {
    name: &'a str,
    kind: Kind,
    /// The previous configuration; `None` if no key of this server decrypts it.
    pub(in crate::commands) before: Option<ChannelConfig>,
    pub(in crate::commands) way: ChannelConfig,
}

impl Commands {
    /// Creates a channel. The same transaction later removes `leaving` other channels, which
    /// therefore do not count towards the limit.
    pub(in crate::commands) async fn add_channel(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        namespace: Uuid,
        module: Option<&str>,
        draft: Draft<'_>,
        leaving: u64,
    ) -> Result<Uuid, CommandError> {
        let Draft { name, kind, input } = draft;
        check::name("name", name)?;
        let way = given::way(kind, input, ChannelBefore::Nothing, &self.executor)?;
        if channels::count(tx, namespace).await?.saturating_sub(leaving) >= MAX_CHANNELS {
            let problem = format!("is one more than the {MAX_CHANNELS} channels of a namespace");
            let help = "delete one that is not used";
            return Err(BadInput::new("name", name, problem, help).into());
        }
        let now = self.clock.now();
        let id = new_id(now);
        let row = ActiveModel {
            id: Set(id),
            namespace_id: Set(namespace),
            version: Set(1),
            module: Set(module.map(str::to_owned)),
            created_at: Set(now.into()),
            updated_at: Set(now.into()),
            ..self.columns(id, name, kind, &way)?
        };
        if row.key_id.as_ref().is_some() {
            secrets::lock_sealing(tx, self.store.dialect()).await?;
            self.vault.check_in(tx).await.map_err(refused)?;
        }
        channels::insert(tx, row).await.map_err(|error| name_taken(error, name))?;
        let entry = AuditEntry {
            action: "alert_channel.create",
            namespace: Some(namespace),
            subject_id: Some(id),
            subject: name,
            after: Some(snapshot(name, kind, given::shown(&way))),
            ..AuditEntry::default()
        };
        self.audit(tx, who, entry).await?;
        Ok(id)
    }

    /// Applies a change to a channel.
    pub(in crate::commands) fn redrafted<'a>(
        &self,
        row: &Model,
        draft: Draft<'a>,
    ) -> Result<ChangedChannel<'a>, CommandError> {
        let Draft { name, kind, input } = draft;
        check::name("name", name)?;
        let opened = match ChannelConfig::read(row, &self.vault) {
            Ok(way) => Some(way),
            Err(VaultError::Store(error)) => return Err(error.into()),
            // The old values are not needed by a caller that sets every field again.
            Err(error) if input.url.is_none() => return Err(refused(error)),
            Err(_) => None,
        };
        let base = match &opened {
            _ if kind != row.kind => ChannelBefore::Nothing,
            Some(way) => ChannelBefore::Opened(way.clone()),
            None => ChannelBefore::Locked { signed: row.shown["signed"] == true },
        };
        let way = given::way(kind, input, base, &self.executor)?;
        Ok(ChangedChannel { name, kind, before: opened, way })
    }

    /// Writes the changes of a channel. The caller must have locked the sealing lock first and the
    /// row second.
    pub(in crate::commands) async fn revise_channel(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        wanted: ChangedChannel<'_>,
    ) -> Result<(), CommandError> {
        let ChangedChannel { name, kind, way, .. } = wanted;
        let columns = ActiveModel {
            version: Set(row.version + 1),
            updated_at: Set(self.clock.now().into()),
            ..self.columns(row.id, name, kind, &way)?
        };
        if columns.key_id.as_ref().is_some() {
            // Other channels are not checked, so that several channels that cannot be decrypted can
            // be repaired one by one.
            self.vault.check_secrets(tx).await.map_err(refused)?;
        }
        let written = channels::update(tx, row.id, columns).await;
        written.map_err(|error| name_taken(error, name))?;
        let entry = AuditEntry {
            action: "alert_channel.update",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: name,
            reason: None,
            before: Some(snapshot(&row.name, row.kind, row.shown.clone())),
            after: Some(snapshot(name, kind, given::shown(&way))),
        };
        Ok(self.audit(tx, who, entry).await?)
    }

    /// Deletes a channel, if no rule names it.
    pub(in crate::commands) async fn remove_channel(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
    ) -> Result<(), CommandError> {
        let users = rules::list(tx, row.namespace_id, MAX_RULES).await?;
        let names = |rule: &&entity::alert_rule::Model| {
            let rule = serde_json::from_value::<Rule>(rule.definition.clone());
            rule.is_ok_and(|rule| rule.channels.contains(&row.id))
        };
        if let Some(user) = users.iter().find(names) {
            let (rule, channel) = (&user.name, &row.name);
            let problem =
                format!("the rule {rule:?} sends messages through the channel {channel:?}");
            return Err(CommandError::conflict(problem, "give that rule another channel first"));
        }
        channels::delete(tx, row.id).await?;
        let entry = AuditEntry {
            action: "alert_channel.delete",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &row.name,
            before: Some(snapshot(&row.name, row.kind, row.shown.clone())),
            ..AuditEntry::default()
        };
        Ok(self.audit(tx, who, entry).await?)
    }

    fn columns(
        &self,
        id: Uuid,
        name: &str,
        kind: Kind,
        way: &ChannelConfig,
    ) -> Result<ActiveModel, CommandError> {
        let place = SecretScope::Channel { id, name };
        let (key_id, sealed) = way.sealed(place, &self.vault).map_err(refused)?;
        Ok(ActiveModel {
            name: Set(name.to_owned()),
            kind: Set(kind),
            shown: Set(given::kept(way)),
            key_id: Set(key_id),
            sealed: Set(sealed),
            ..ActiveModel::default()
        })
    }
}

/// A channel for the audit log: without its secrets.
fn snapshot(name: &str, kind: Kind, mut shown: Value) -> Value {
    if let Some(shown) = shown.as_object_mut() {
        shown.remove(CHANNEL_SECRETS);
    }
    json!({ "name": name, "kind": kind.to_value(), "shown": shown })
}

fn name_taken(error: StoreError, name: &str) -> CommandError {
    let StoreError::Broken { constraint: Constraint::ChannelName } = error else {
        return error.into();
    };
    let help = "choose another name, or change that one";
    BadInput::new("name", name, "is the name of another channel", help).into()
}

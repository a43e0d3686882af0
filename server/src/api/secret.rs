//! Secrets: names only. No field returns a value.

use std::collections::BTreeSet;

use async_graphql::{Context, Enum, InputObject, Object, SimpleObject};
use entity::secret;
use serde_json::json;
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    loaders::{NamespaceName, SecretUsersIn},
    page::{Connection, Paging, connection, cost},
    payload::DeletePayload,
    query::namespace_id,
    scalar::{Instant, Long},
};
use crate::{
    commands::{Call, CommandError, NewSecret},
    model,
    store::secrets,
};

/// A value that tasks of a namespace may use, as `{{ secrets.name }}`. It cannot be read back.
pub(crate) struct Secret(secret::Model);

/// A value that tasks of a namespace may use, as `{{ secrets.name }}`. It cannot be read back.
#[Object]
impl Secret {
    async fn id(&self) -> Uuid {
        self.0.id
    }

    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.0.namespace_id)).await?.unwrap_or_default())
    }

    async fn name(&self) -> &str {
        &self.0.name
    }

    /// The number of the current value, from 1.
    async fn version(&self) -> i32 {
        self.0.version
    }

    /// The id of the key that the secret is encrypted with.
    async fn key_id(&self) -> &str {
        &self.0.key_id
    }

    /// Who set the value.
    async fn set_by(&self) -> &str {
        &self.0.set_by
    }

    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }

    /// When the value was set.
    async fn updated_at(&self) -> Instant {
        self.0.updated_at.into()
    }

    /// The objects that refer to the secret: current definitions of workflows, the schedules that
    /// run them, addresses of watchdogs, and alert channels.
    #[graphql(complexity = "USED_BY + child_complexity")]
    async fn used_by(&self, cx: &Context<'_>) -> Result<SecretUse> {
        let found = cx.rows().load_one(SecretUsersIn(self.0.namespace_id)).await?;
        let found = found.unwrap_or_default();
        let users = found.users.get(&self.0.name);
        let shown = users.into_iter().flatten().take(MAX_USERS).cloned().map(Into::into);
        Ok(SecretUse {
            count: users.map_or(0, BTreeSet::len).into(),
            users: shown.collect(),
            is_cut: found.is_cut,
        })
    }
}

/// The cost of finding the users of a secret, in addition to [`DEFINITIONS`].
const USED_BY: usize = 30;

/// The cost of reading the definitions of a namespace, once for a page of secrets.
const DEFINITIONS: usize = 5_000;

/// The cost of the definitions for a page of secrets, if they are read: only then does a row cost
/// that much, alone or with its total count.
fn definitions_cost(row: usize) -> usize {
    if row < USED_BY { 0 } else { DEFINITIONS }
}

/// Maximum number of users listed.
const MAX_USERS: usize = 20;

/// The objects that refer to a secret.
#[derive(SimpleObject)]
pub(crate) struct SecretUse {
    /// The number of schedules, workflows and channels.
    count: Long,
    /// The first 20 of these objects, by kind and name.
    users: Vec<SecretUser>,
    /// Whether there may be more. At most 5,000 workflows of the namespace (the first by name),
    /// 5,000 schedules with a watchdog and 500 channels are examined.
    is_cut: bool,
}

/// An object that refers to a secret.
#[derive(SimpleObject)]
pub(crate) struct SecretUser {
    /// What kind of object it is.
    kind: SecretUserKind,
    id: Uuid,
    name: String,
}

impl From<model::SecretUser> for SecretUser {
    fn from(user: model::SecretUser) -> Self {
        let model::SecretUser { kind, name, id } = user;
        Self { kind: kind.into(), id, name }
    }
}

/// The kind of an object that refers to a secret.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "model::UserKind")]
pub(crate) enum SecretUserKind {
    /// A schedule, in a task of the workflow that it runs or in the address of its watchdog.
    Schedule,
    /// A workflow, in one of its tasks. If only the schedule of the same name runs it, it is listed
    /// as that schedule.
    Workflow,
    /// An alert channel, in its address or its key.
    Channel,
}

/// Queries of secrets.
#[derive(Default)]
pub(crate) struct ReadingSecrets;

#[Object]
impl ReadingSecrets {
    /// The secrets of a namespace, by name. For editors, who use them in templates.
    #[graphql(
        complexity = "definitions_cost(child_complexity) + cost(first, None, child_complexity)"
    )]
    async fn secrets(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<Secret>> {
        let right = cx.editor()?;
        let id = namespace_id(cx, &namespace).await?;
        right.permit().over(id, "namespace", &namespace)?;
        let window = Paging::forward(first, after).window(|cursor| Some(cursor.to_owned()))?;
        let page = secrets::page(cx.store().read(), id, &window).await?;
        Ok(connection(page, |row| row.name.clone(), Secret))
    }
}

/// A secret value for tasks to use.
#[derive(InputObject)]
pub(crate) struct SetSecretInput {
    /// The namespace's name.
    #[graphql(default = "default")]
    namespace: String,
    /// The secret's name: letters, digits and `_`.
    name: String,
    /// The value, at least 6 bytes long. It is never shown again.
    value: String,
    /// Reason for the audit log: 0 to 500 characters.
    reason: Option<String>,
}

/// A secret after a mutation.
#[derive(SimpleObject)]
pub(crate) struct SecretPayload {
    secret: Secret,
}

/// Mutations of secrets.
#[derive(Default)]
pub(crate) struct OrderingSecrets;

#[Object]
impl OrderingSecrets {
    /// Creates a secret, or sets a new value. For administrators of the namespace.
    #[graphql(complexity = "1 + definitions_cost(child_complexity) + child_complexity")]
    async fn set_secret(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The secret's name and value.")] input: SetSecretInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<SecretPayload> {
        let right = cx.admin()?;
        let SetSecretInput { namespace, name, value, reason } = input;
        // Without the value, so that the stored call does not help to guess it.
        let arguments = json!([namespace, name, reason]).to_string();
        let call = Call::new("setSecret", &arguments, idempotency_key)?;
        let new = NewSecret { namespace, name, value: value.into(), reason };
        let id = cx.commands().set_secret(&right, new, &call).await?;
        let row = secrets::by_id(cx.store().read(), id).await?;
        let row = row.filter(|row| cx.is_home(row.namespace_id));
        let row = row.ok_or_else(|| CommandError::not_found("secret", id))?;
        Ok(SecretPayload { secret: Secret(row) })
    }

    /// Deletes a secret. Tasks that use it fail from now on. For administrators of the namespace.
    async fn delete_secret(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "The secret's name.")] name: String,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let right = cx.admin()?;
        let arguments = json!([namespace, name, reason]).to_string();
        let call = Call::new("deleteSecret", &arguments, idempotency_key)?;
        let (commands, reason) = (cx.commands(), reason.as_deref());
        let id = commands.delete_secret(&right, &namespace, &name, reason, &call).await?;
        Ok(DeletePayload { id })
    }
}

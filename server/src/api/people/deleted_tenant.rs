//! Namespaces that are deleted, and those that would be.

use async_graphql::{Context, Object, SimpleObject};
use entity::{Timestamp, namespace};
use serde_json::json;
use uuid::Uuid;

use super::tenant::NamespacePayload;
use crate::{
    api::{
        context::ContextExt,
        error::Result,
        page::{Connection, Paging, connection, cost},
        payload::DeletePayload,
        scalar::{Instant, Long},
    },
    commands::Call,
    store::{deleted_namespaces::NamespaceContents, retention::DELETED_DAYS},
};

const DAY_MS: i64 = 86_400_000;
/// The cost of counting what is in a namespace.
const COUNTED: usize = 100;

/// Queries of deleted namespaces.
#[derive(Default)]
pub(crate) struct DeletedTenantQuery;

#[Object]
impl DeletedTenantQuery {
    /// Deleted namespaces that can be restored, in order of creation. For administrators of the
    /// instance.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn deleted_namespaces(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<DeletedNamespace>> {
        let right = cx.owner()?;
        let key = |text: &str| Uuid::try_parse(text).ok();
        let window = Paging::forward(first, after).window(key)?;
        let page = cx.commands().deleted_namespaces(&right, &window).await?;
        Ok(connection(page, |row| row.id.simple().to_string(), DeletedNamespace::from))
    }

    /// What the deletion of a namespace would affect. For administrators of the instance.
    #[graphql(complexity = "COUNTED + child_complexity")]
    async fn namespace_impact(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The namespace's name.")] namespace: String,
    ) -> Result<NamespaceImpact> {
        let right = cx.owner()?;
        Ok(cx.commands().namespace_impact(&right, &namespace).await?.into())
    }
}

/// Deletes and restores namespaces.
#[derive(Default)]
pub(crate) struct DeletedTenantMutation;

#[Object]
impl DeletedTenantMutation {
    /// Deletes a namespace with its schedules; `undeleteNamespace` restores it within 7 days. From
    /// then on nothing of it is visible to anyone, its name is free, its tokens are refused, and
    /// its secrets are not read any more. Its live runs finish on their own. For administrators of
    /// the instance.
    async fn delete_namespace(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The namespace's name.")] name: String,
        #[graphql(desc = "Reason for the audit log: 1 to 500 characters.")] reason: String,
        #[graphql(
            desc = "How many schedules are deleted with it, 0 to 10,000. If this is not their \
                    number, nothing is deleted; if absent, the namespace must have none."
        )]
        expected_schedule_count: Option<i32>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let right = cx.owner()?;
        let arguments = json!([name, reason, expected_schedule_count]).to_string();
        let call = Call::new("deleteNamespace", &arguments, idempotency_key)?;
        let expected = expected_schedule_count.map(i64::from);
        let deleted = cx.commands().delete_namespace(&right, &name, expected, &reason, &call);
        let id = deleted.await?;
        Ok(DeletePayload { id })
    }

    /// Restores the namespace of this name that was deleted last, with everything in it. Its
    /// schedules come back paused; resume those that should fire. For administrators of the
    /// instance.
    async fn undelete_namespace(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The name that it had.")] name: String,
        #[graphql(desc = "Another name, if that one is taken: 1 to 128 of A-Z a-z 0-9 . _ / -")]
        new_name: Option<String>,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<NamespacePayload> {
        let right = cx.owner()?;
        let arguments = json!([name, new_name, reason]).to_string();
        let call = Call::new("undeleteNamespace", &arguments, idempotency_key)?;
        let (commands, new_name, reason) = (cx.commands(), new_name.as_deref(), reason.as_deref());
        let id = commands.undelete_namespace(&right, &name, new_name, reason, &call).await?;
        NamespacePayload::load(cx, id).await
    }
}

/// A namespace that was deleted. Until it is purged, `undeleteNamespace` restores it.
#[derive(SimpleObject)]
pub(crate) struct DeletedNamespace {
    id: Uuid,
    /// Its name before the deletion. Another namespace may have the name by now.
    name: String,
    deleted_at: Instant,
    /// The name of the user or token that deleted it.
    deleted_by: Option<String>,
    /// It is purged some time after this instant.
    kept_until: Instant,
}

impl From<namespace::Model> for DeletedNamespace {
    fn from(row: namespace::Model) -> Self {
        let at = row.deleted_at.unwrap_or(row.created_at);
        Self {
            id: row.id,
            name: row.deleted_name.unwrap_or(row.name),
            deleted_at: at.into(),
            deleted_by: row.deleted_by,
            kept_until: Timestamp(at.0 + i64::from(DELETED_DAYS) * DAY_MS).into(),
        }
    }
}

/// What the deletion of a namespace would affect.
#[derive(SimpleObject)]
pub(crate) struct NamespaceImpact {
    /// Its schedules, which are deleted with it: the value for `expectedScheduleCount`.
    schedules: Long,
    /// Its workflows.
    workflows: Long,
    /// Its secrets, which no run reads any more.
    secrets: Long,
    /// Users with a role in it.
    members: Long,
    /// Tokens that are valid in this namespace alone.
    tokens: Long,
    /// Its live runs, which finish on their own.
    live_runs: Long,
}

impl From<NamespaceContents> for NamespaceImpact {
    fn from(contents: NamespaceContents) -> Self {
        Self {
            schedules: contents.schedules.into(),
            workflows: contents.workflows.into(),
            secrets: contents.secrets.into(),
            members: contents.members.into(),
            tokens: contents.tokens.into(),
            live_runs: contents.live_runs.into(),
        }
    }
}

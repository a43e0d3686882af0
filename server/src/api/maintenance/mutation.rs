use async_graphql::{Context, Object, SimpleObject};
use serde_json::json;
use uuid::Uuid;

use super::window::{MaintenanceInput, MaintenanceWindow};
use crate::{
    api::{call::text, context::ContextExt, error::Result},
    commands::{Call, CommandError, SavedWindow},
    store::maintenance,
};

/// Mutations of maintenance windows.
#[derive(Default)]
pub(crate) struct OrderingMaintenance;

/// Mutations of maintenance windows.
#[Object]
impl OrderingMaintenance {
    /// Plans a maintenance window: a pause, from one instant to another, of all schedules that match
    /// a search, those that are created before its end included. At most 100 windows of a namespace
    /// that are not over.
    async fn plan_maintenance(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The window to plan.")] input: MaintenanceInput,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<MaintenancePayload> {
        let right = cx.operator()?;
        let arguments = json!([text(&input), reason]).to_string();
        let call = Call::new("planMaintenance", &arguments, idempotency_key)?;
        let (spec, reason) = (input.into(), reason.as_deref());
        let saved = cx.commands().plan_maintenance(&right, &spec, reason, &call).await?;
        MaintenancePayload::of(cx, saved).await
    }

    /// Changes a maintenance window. While it is ACTIVE, only its title, its ticket and its end can
    /// change; once it is over, nothing can: CONFLICT.
    async fn change_maintenance(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The window's id.")] id: Uuid,
        #[graphql(desc = "The window's new content; its namespace cannot change.")]
        input: MaintenanceInput,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<MaintenancePayload> {
        let right = cx.operator()?;
        let arguments = json!([id, text(&input), reason]).to_string();
        let call = Call::new("changeMaintenance", &arguments, idempotency_key)?;
        let (spec, reason) = (input.into(), reason.as_deref());
        let saved = cx.commands().change_maintenance(&right, id, &spec, reason, &call).await?;
        MaintenancePayload::of(cx, saved).await
    }

    /// Cancels a maintenance window. If it is ACTIVE, the pauses that it began end now, and `missed`
    /// decides about their fires.
    async fn cancel_maintenance(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The window's id.")] id: Uuid,
        #[graphql(desc = "Reason for the audit log: 1 to 500 characters.")] reason: String,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<MaintenancePayload> {
        let right = cx.operator()?;
        let arguments = json!([id, reason]).to_string();
        let call = Call::new("cancelMaintenance", &arguments, idempotency_key)?;
        let saved = cx.commands().cancel_maintenance(&right, id, &reason, &call).await?;
        MaintenancePayload::of(cx, saved).await
    }
}

/// A maintenance window after a mutation.
#[derive(SimpleObject)]
pub(crate) struct MaintenancePayload {
    window: MaintenanceWindow,
}

impl MaintenancePayload {
    async fn of(cx: &Context<'_>, SavedWindow { id }: SavedWindow) -> Result<Self> {
        let row = maintenance::by_id(cx.store().read(), id).await?;
        let row = row.filter(|row| cx.is_home(row.namespace_id));
        let row = row.ok_or_else(|| CommandError::not_found("maintenance window", id))?;
        Ok(Self { window: MaintenanceWindow(row) })
    }
}

//! Workflows, and what schedules share: calendars and concurrency groups.

use async_graphql::{Context, Object};
use serde_json::json;
use uuid::Uuid;

use crate::{
    api::{
        calendar::{CreateCalendarInput, UpdateCalendarInput},
        call::call,
        context::ContextExt,
        error::Result,
        group::{CreateConcurrencyGroupInput, UpdateConcurrencyGroupInput},
        payload::{CalendarPayload, ConcurrencyGroupPayload, DeletePayload, WorkflowPayload},
        workflow_input::{CreateWorkflowInput, UpdateWorkflowInput},
    },
    commands::{Call, GroupEdit},
};

/// Mutations of workflows, calendars and concurrency groups.
#[derive(Default)]
pub(crate) struct OrderingShared;

/// Mutations of workflows, calendars and concurrency groups.
#[Object]
impl OrderingShared {
    /// Creates a workflow.
    async fn create_workflow(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The workflow to create.")] input: CreateWorkflowInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<WorkflowPayload> {
        let right = cx.editor()?;
        let call = call("createWorkflow", &input, idempotency_key)?;
        let id = cx.commands().create_workflow(&right, input.try_into()?, &call).await?;
        WorkflowPayload::of(cx, id).await
    }

    /// Changes a workflow. Runs that have already begun keep their definition.
    async fn update_workflow(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The workflow's id and what to change.")] input: UpdateWorkflowInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<WorkflowPayload> {
        let right = cx.editor()?;
        let call = call("updateWorkflow", &input, idempotency_key)?;
        let id = cx.commands().update_workflow(&right, input.try_into()?, &call).await?;
        WorkflowPayload::of(cx, id).await
    }

    /// Deletes a workflow. Refused while a schedule uses it. Runs in flight end normally, and its
    /// history stays.
    async fn delete_workflow(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The workflow's id.")] id: Uuid,
        #[graphql(desc = "The version that the caller saw; fails with CONFLICT if outdated.")]
        expected_version: Option<i32>,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let right = cx.editor()?;
        let arguments = json!([id, expected_version, reason]).to_string();
        let call = Call::new("deleteWorkflow", &arguments, idempotency_key)?;
        let id = cx
            .commands()
            .delete_workflow(&right, id, expected_version, reason.as_deref(), &call)
            .await?;
        Ok(DeletePayload { id })
    }

    /// Creates a calendar.
    async fn create_calendar(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The calendar to create.")] input: CreateCalendarInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<CalendarPayload> {
        let right = cx.editor()?;
        let call = call("createCalendar", &input, idempotency_key)?;
        let saved = cx.commands().create_calendar(&right, input.into(), &call).await?;
        CalendarPayload::of(cx, saved).await
    }

    /// Changes a calendar. The change applies to the next fires of the schedules that use it.
    /// Refused if it would suppress every future fire of one of them.
    async fn update_calendar(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The calendar's id and what to change.")] input: UpdateCalendarInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<CalendarPayload> {
        let right = cx.editor()?;
        let call = call("updateCalendar", &input, idempotency_key)?;
        let saved = cx.commands().update_calendar(&right, input.into(), &call).await?;
        CalendarPayload::of(cx, saved).await
    }

    /// Deletes a calendar. Refused while a schedule uses it.
    async fn delete_calendar(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The calendar's id.")] id: Uuid,
        #[graphql(desc = "The version that the caller saw; fails with CONFLICT if outdated.")]
        expected_version: i32,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let right = cx.editor()?;
        let arguments = json!([id, expected_version, reason]).to_string();
        let call = Call::new("deleteCalendar", &arguments, idempotency_key)?;
        let reason = reason.as_deref();
        let id = cx.commands().delete_calendar(&right, id, expected_version, reason, &call).await?;
        Ok(DeletePayload { id })
    }

    /// Creates a concurrency group.
    async fn create_concurrency_group(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The concurrency group to create.")] input: CreateConcurrencyGroupInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<ConcurrencyGroupPayload> {
        let right = cx.editor()?;
        let call = call("createConcurrencyGroup", &input, idempotency_key)?;
        let CreateConcurrencyGroupInput { namespace, name, max_runs } = &input;
        let made = cx.commands().create_group(&right, namespace, name, *max_runs, &call).await?;
        ConcurrencyGroupPayload::of(cx, made).await
    }

    /// Changes a concurrency group. Runs over a lowered limit continue; no other run of the group
    /// starts until there is room.
    async fn update_concurrency_group(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The concurrency group's id and what to change.")]
        input: UpdateConcurrencyGroupInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<ConcurrencyGroupPayload> {
        let right = cx.editor()?;
        let call = call("updateConcurrencyGroup", &input, idempotency_key)?;
        let (name, max_runs) = (input.name, input.max_runs);
        let edit = GroupEdit { expected_version: input.expected_version, name, max_runs };
        let changed = cx.commands().update_group(&right, input.id, &edit, &call).await?;
        ConcurrencyGroupPayload::of(cx, changed).await
    }

    /// Deletes a concurrency group. Refused while a schedule uses it.
    async fn delete_concurrency_group(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The concurrency group's id.")] id: Uuid,
        #[graphql(desc = "The version that the caller saw; fails with CONFLICT if outdated.")]
        expected_version: Option<i32>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let right = cx.editor()?;
        let arguments = json!([id, expected_version]).to_string();
        let call = Call::new("deleteConcurrencyGroup", &arguments, idempotency_key)?;
        let deleted = cx.commands().delete_group(&right, id, expected_version, &call).await?;
        Ok(DeletePayload { id: deleted.id })
    }
}

//! Creating, editing, rolling back, deleting and restoring schedules.

use async_graphql::{Context, Object};
use serde_json::json;
use uuid::Uuid;

use crate::{
    api::{
        call::call,
        context::ContextExt,
        error::Result,
        payload::{CreatedSchedule, DeletePayload, SchedulePayload},
        schedule_input::{CreateScheduleInput, UpdateScheduleInput, new_schedules},
    },
    commands::{Call, Rollback, Undelete},
};

/// Mutations of schedules' definitions.
#[derive(Default)]
pub(crate) struct OrderingSchedules;

/// Mutations of schedules' definitions.
#[Object]
impl OrderingSchedules {
    /// Creates a schedule.
    async fn create_schedule(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule to create.")] input: CreateScheduleInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<SchedulePayload> {
        let right = cx.editor()?;
        let call = call("createSchedule", &input, idempotency_key)?;
        let saved = cx.commands().create_schedule(&right, input.try_into()?, &call).await?;
        SchedulePayload::of(cx, saved).await
    }

    /// Creates 1 to 1000 schedules, all or none; an error names the input that it concerns, such as
    /// `inputs[3].timing.zone`.
    #[graphql(complexity = "inputs.len() + child_complexity")]
    async fn create_schedules(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedules to create, 1 to 1000.")] inputs: Vec<CreateScheduleInput>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<Vec<CreatedSchedule>> {
        let right = cx.editor()?;
        let call = call("createSchedules", &inputs, idempotency_key)?;
        let all = new_schedules(inputs)?;
        let names: Vec<String> = all.iter().map(|new| new.spec.name.clone()).collect();
        let saved = cx.commands().create_schedules(&right, all, &call).await?;
        Ok(CreatedSchedule::all(names, saved))
    }

    /// Changes a schedule's definition, as a new version. Its fires follow the new one from now on.
    async fn update_schedule(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id and what to change.")] input: UpdateScheduleInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<SchedulePayload> {
        let right = cx.editor()?;
        let call = call("updateSchedule", &input, idempotency_key)?;
        let saved = cx.commands().update_schedule(&right, input.try_into()?, &call).await?;
        SchedulePayload::of(cx, saved).await
    }

    /// Creates a new version with the definition of an earlier one. Its timing applies from now on.
    async fn rollback_schedule(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] id: Uuid,
        #[graphql(desc = "The version to restore.")] to_version: i32,
        #[graphql(desc = "The version that the caller saw; fails with CONFLICT if outdated.")]
        expected_version: i32,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<SchedulePayload> {
        let right = cx.editor()?;
        let arguments = json!([id, to_version, expected_version, reason]).to_string();
        let call = Call::new("rollbackSchedule", &arguments, idempotency_key)?;
        let order = Rollback { id, to_version, expected_version, reason };
        let saved = cx.commands().rollback_schedule(&right, &order, &call).await?;
        SchedulePayload::of(cx, saved).await
    }

    /// Restores a deleted schedule together with its own workflow. It fires from now on, unless it
    /// was paused when it was deleted: then it stays paused.
    async fn undelete_schedule(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] id: Uuid,
        #[graphql(desc = "A new name, in case the old one is taken.")] name: Option<String>,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<SchedulePayload> {
        let right = cx.editor()?;
        let arguments = json!([id, name, reason]).to_string();
        let call = Call::new("undeleteSchedule", &arguments, idempotency_key)?;
        let order = Undelete { id, name, reason };
        let saved = cx.commands().undelete_schedule(&right, &order, &call).await?;
        SchedulePayload::of(cx, saved).await
    }

    /// Deletes a schedule together with its own workflow; its history stays. Both can be restored
    /// for a week: see `deletedSchedules`.
    async fn delete_schedule(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] id: Uuid,
        #[graphql(desc = "The version that the caller saw; fails with CONFLICT if outdated.")]
        expected_version: Option<i32>,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let right = cx.editor()?;
        let arguments = json!([id, expected_version, reason]).to_string();
        let call = Call::new("deleteSchedule", &arguments, idempotency_key)?;
        let id = cx
            .commands()
            .delete_schedule(&right, id, expected_version, reason.as_deref(), &call)
            .await?;
        Ok(DeletePayload { id })
    }
}

use async_graphql::{Context, InputType, Object, SimpleObject};
use serde_json::json;
use uuid::Uuid;

use super::{
    context::Ask,
    error::Result,
    scalar::Instant,
    schedule::{CatchUp, Schedule},
    schedule_input::{CreateScheduleInput, UpdateScheduleInput},
    timing::TimingWarning,
};
use crate::{
    engine::commands::{Call, CommandError, Saved},
    store::schedules,
};

/// What can be changed. Each takes an optional idempotency key: repeated with the same key and the
/// same arguments, it answers and does nothing.
pub struct Mutation;

/// What can be changed. Each takes an optional idempotency key: repeated with the same key and the
/// same arguments, it answers and does nothing.
#[Object]
impl Mutation {
    async fn create_schedule(
        &self,
        cx: &Context<'_>,
        input: CreateScheduleInput,
        idempotency_key: Option<String>,
    ) -> Result<SchedulePayload> {
        let right = cx.editor()?;
        let call = Call::new("createSchedule", &text(&input), idempotency_key)?;
        let saved = cx.commands().create_schedule(&right, input.try_into()?, &call).await?;
        SchedulePayload::of(cx, saved).await
    }

    async fn update_schedule(
        &self,
        cx: &Context<'_>,
        input: UpdateScheduleInput,
        idempotency_key: Option<String>,
    ) -> Result<SchedulePayload> {
        let right = cx.editor()?;
        let call = Call::new("updateSchedule", &text(&input), idempotency_key)?;
        let saved = cx.commands().update_schedule(&right, input.try_into()?, &call).await?;
        SchedulePayload::of(cx, saved).await
    }

    /// Stops it from firing. Runs in flight are not touched.
    async fn pause_schedule(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        reason: String,
        until: Option<Instant>,
        idempotency_key: Option<String>,
    ) -> Result<SchedulePayload> {
        let right = cx.operator()?;
        let until = until.map(|until| until.0);
        let arguments = json!([id, reason, until]).to_string();
        let call = Call::new("pauseSchedule", &arguments, idempotency_key)?;
        let saved = cx.commands().pause(&right, id, &reason, until, &call).await?;
        SchedulePayload::of(cx, saved).await
    }

    /// Lets it fire again. `missed` says what becomes of the fires that fell into the pause.
    async fn resume_schedule(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        #[graphql(default_with = "CatchUp::Skip")] missed: CatchUp,
        idempotency_key: Option<String>,
    ) -> Result<SchedulePayload> {
        let right = cx.operator()?;
        let missed = missed.into();
        let call = Call::new("resumeSchedule", &json!([id, missed]).to_string(), idempotency_key)?;
        let saved = cx.commands().resume(&right, id, missed, &call).await?;
        SchedulePayload::of(cx, saved).await
    }

    /// It fires no more; its history stays.
    async fn delete_schedule(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        reason: Option<String>,
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let right = cx.editor()?;
        let call = Call::new("deleteSchedule", &json!([id, reason]).to_string(), idempotency_key)?;
        let reason = reason.as_deref();
        let id = cx.commands().delete_schedule(&right, id, reason, &call).await?;
        Ok(DeletePayload { id })
    }
}

/// An input in a form that is the same for the same values, defaults filled in.
fn text(input: &impl InputType) -> String {
    InputType::to_value(input).to_string()
}

/// A schedule as a command left it.
#[derive(SimpleObject)]
pub(crate) struct SchedulePayload {
    schedule: Schedule,
    /// What is likely not meant by its timing.
    warnings: Vec<TimingWarning>,
}

impl SchedulePayload {
    async fn of(cx: &Context<'_>, saved: Saved) -> Result<Self> {
        let row = schedules::by_id(cx.store().read(), saved.id).await?;
        let row = row.ok_or_else(|| CommandError::not_found("schedule", saved.id))?;
        let warnings = saved.warnings.into_iter().map(Into::into).collect();
        Ok(Self { schedule: Schedule(row), warnings })
    }
}

/// What was deleted.
#[derive(SimpleObject)]
pub(crate) struct DeletePayload {
    id: Uuid,
}

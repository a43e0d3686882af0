//! Operating schedules: pause, resume, skip, trigger, and their buffers.

use async_graphql::{Context, Object};
use serde_json::json;
use uuid::Uuid;

use crate::{
    api::{
        context::ContextExt,
        error::Result,
        payload::{BufferPayload, RunPayload, SchedulePayload, SkipPayload, schedule},
        scalar::Instant,
        schedule_policy::CatchUp,
    },
    commands::{AutomaticEnd, ByHand, Call},
};

/// Mutations that operate schedules.
#[derive(Default)]
pub(crate) struct Operating;

/// Mutations that operate schedules.
#[Object]
impl Operating {
    /// Stops a schedule from firing. Runs in flight are not affected.
    async fn pause_schedule(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] id: Uuid,
        #[graphql(desc = "Reason for the audit log: 1 to 500 characters.")] reason: String,
        #[graphql(
            desc = "When the pause ends, in the future; if absent, when the schedule is resumed."
        )]
        until: Option<Instant>,
        #[graphql(
            desc = "What becomes of the fires that fell into the pause when it ends at `until`; SKIP \
                    if absent. Only with `until`."
        )]
        missed: Option<CatchUp>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<SchedulePayload> {
        let right = cx.operator()?;
        let (until, missed) = (until.map(|until| until.0), missed.map(Into::into));
        let end = AutomaticEnd::new(until, missed)?;
        let arguments = json!([id, reason, until, missed]).to_string();
        let call = Call::new("pauseSchedule", &arguments, idempotency_key)?;
        let saved = cx.commands().pause(&right, id, &reason, end, &call).await?;
        SchedulePayload::of(cx, saved).await
    }

    /// Resumes a paused schedule. `missed` determines what becomes of the fires that fell into the
    /// pause.
    async fn resume_schedule(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] id: Uuid,
        #[graphql(
            default_with = "CatchUp::Skip",
            desc = "What becomes of the fires that fell into the pause."
        )]
        missed: CatchUp,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<SchedulePayload> {
        let right = cx.operator()?;
        let missed = missed.into();
        let call = Call::new("resumeSchedule", &json!([id, missed]).to_string(), idempotency_key)?;
        let saved = cx.commands().resume(&right, id, missed, &call).await?;
        SchedulePayload::of(cx, saved).await
    }

    /// Skips a schedule's next fires, from `nextFireAt` on: the ledger shows them at once as
    /// skipped by request. Fires that a calendar suppresses anyway do not count.
    async fn skip_next(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] id: Uuid,
        #[graphql(default = 1, desc = "The number of fires, 1 to 100.")] count: i32,
        #[graphql(desc = "Reason for the audit log: 1 to 500 characters.")] reason: String,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<SkipPayload> {
        let right = cx.operator()?;
        let arguments = json!([id, count, reason]).to_string();
        let call = Call::new("skipNext", &arguments, idempotency_key)?;
        let skipped = cx.commands().skip_next(&right, id, count.into(), &reason, &call).await?;
        let skipped_at = skipped.instants.into_iter().map(Into::into).collect();
        Ok(SkipPayload { schedule: schedule(cx, skipped.id).await?, skipped_at })
    }

    /// Runs a schedule once in addition to its timing: now, or as of a given instant. `context` is
    /// merged into the schedule's, and its keys take precedence.
    async fn trigger_schedule(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] id: Uuid,
        #[graphql(
            desc = "A JSON object of at most 256 KiB, merged into the schedule's context: its keys \
                    take precedence."
        )]
        context: Option<serde_json::Value>,
        #[graphql(desc = "The scheduled instant; now if absent.")] as_of: Option<Instant>,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<RunPayload> {
        let right = cx.operator()?;
        let as_of = as_of.map(|at| at.0);
        let arguments = json!([id, context, as_of, reason]).to_string();
        let call = Call::new("triggerSchedule", &arguments, idempotency_key)?;
        let order = ByHand { context, as_of, reason };
        let ordered = cx.commands().trigger(&right, id, &order, &call).await?;
        RunPayload::of(cx, ordered).await
    }

    /// Removes all or the given fires from a schedule's buffer. The ledger shows them as skipped,
    /// and names the user who removed them.
    async fn purge_buffer(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] schedule_id: Uuid,
        #[graphql(desc = "1 to 1000 waiting fires; all if absent.")] fire_ids: Option<Vec<Uuid>>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<BufferPayload> {
        let right = cx.operator()?;
        let arguments = json!([schedule_id, fire_ids]).to_string();
        let call = Call::new("purgeBuffer", &arguments, idempotency_key)?;
        let fires = fire_ids.as_deref();
        let done = cx.commands().purge_buffer(&right, schedule_id, fires, &call).await?;
        BufferPayload::of(cx, done).await
    }

    /// Moves the given fires to the head of a schedule's buffer, in that order; the others follow
    /// in their current order.
    async fn reorder_buffer(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] schedule_id: Uuid,
        #[graphql(desc = "1 to 1000 waiting fires, in their new order.")] fire_ids: Vec<Uuid>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<BufferPayload> {
        let right = cx.operator()?;
        let arguments = json!([schedule_id, fire_ids]).to_string();
        let call = Call::new("reorderBuffer", &arguments, idempotency_key)?;
        let done = cx.commands().reorder_buffer(&right, schedule_id, &fire_ids, &call).await?;
        BufferPayload::of(cx, done).await
    }
}

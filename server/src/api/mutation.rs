use async_graphql::{Context, Object};
use serde_json::json;
use uuid::Uuid;

use super::{
    backfill::{BackfillMode, BackfillOrder, BackfillPayload},
    calendar::{CreateCalendarInput, UpdateCalendarInput},
    call::call,
    context::Ask,
    deploy::DeployPayload,
    error::Result,
    group::{CreateConcurrencyGroupInput, UpdateConcurrencyGroupInput},
    payload::{
        BufferPayload, CalendarPayload, ConcurrencyGroupPayload, CreatedSchedule, DeletePayload,
        RunPayload, SchedulePayload, SkipPayload, WorkflowPayload, schedule,
    },
    retention::NamespaceRetention,
    scalar::Instant,
    schedule::CatchUp,
    schedule_input::{CreateScheduleInput, UpdateScheduleInput, new_schedules},
    workflow_input::{CreateWorkflowInput, UpdateWorkflowInput},
};
use crate::engine::commands::{ByHand, Call, GroupEdit, Manner, Rollback, Wanted};

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
        let call = call("createSchedule", &input, idempotency_key)?;
        let saved = cx.commands().create_schedule(&right, input.try_into()?, &call).await?;
        SchedulePayload::of(cx, saved).await
    }

    /// Makes 1 to 1000 schedules, all or none; a refusal names the one that cannot be made, as in
    /// `inputs[3].timing.zone`.
    async fn create_schedules(
        &self,
        cx: &Context<'_>,
        inputs: Vec<CreateScheduleInput>,
        idempotency_key: Option<String>,
    ) -> Result<Vec<CreatedSchedule>> {
        let right = cx.editor()?;
        let call = call("createSchedules", &inputs, idempotency_key)?;
        let all = new_schedules(inputs)?;
        let names: Vec<String> = all.iter().map(|new| new.spec.name.clone()).collect();
        let saved = cx.commands().create_schedules(&right, all, &call).await?;
        Ok(CreatedSchedule::all(names, saved))
    }

    async fn update_schedule(
        &self,
        cx: &Context<'_>,
        input: UpdateScheduleInput,
        idempotency_key: Option<String>,
    ) -> Result<SchedulePayload> {
        let right = cx.editor()?;
        let call = call("updateSchedule", &input, idempotency_key)?;
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

    /// Leaves out its next fires, from `nextFireAt` on: they are in the ledger at once, as skipped
    /// by request. Those that a calendar suppresses anyway are not counted.
    async fn skip_next(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        #[graphql(default = 1, desc = "1 to 100.")] count: i32,
        reason: String,
        idempotency_key: Option<String>,
    ) -> Result<SkipPayload> {
        let right = cx.operator()?;
        let arguments = json!([id, count, reason]).to_string();
        let call = Call::new("skipNext", &arguments, idempotency_key)?;
        let skipped = cx.commands().skip_next(&right, id, count.into(), &reason, &call).await?;
        let skipped_at = skipped.instants.into_iter().map(Into::into).collect();
        Ok(SkipPayload { schedule: schedule(cx, skipped.id).await?, skipped_at })
    }

    /// Makes a new version with the definition of an earlier one. It begins anew from now.
    async fn rollback_schedule(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        to_version: i32,
        #[graphql(desc = "The version in force; a newer one in the database is a CONFLICT.")]
        expected_version: i32,
        reason: Option<String>,
        idempotency_key: Option<String>,
    ) -> Result<SchedulePayload> {
        let right = cx.editor()?;
        let arguments = json!([id, to_version, expected_version, reason]).to_string();
        let call = Call::new("rollbackSchedule", &arguments, idempotency_key)?;
        let order = Rollback { id, to_version, expected_version, reason };
        let saved = cx.commands().rollback_schedule(&right, &order, &call).await?;
        SchedulePayload::of(cx, saved).await
    }

    async fn create_calendar(
        &self,
        cx: &Context<'_>,
        input: CreateCalendarInput,
        idempotency_key: Option<String>,
    ) -> Result<CalendarPayload> {
        let right = cx.editor()?;
        let call = call("createCalendar", &input, idempotency_key)?;
        let saved = cx.commands().create_calendar(&right, input.into(), &call).await?;
        CalendarPayload::of(cx, saved).await
    }

    /// The schedules that name it obey from their next fire on.
    async fn update_calendar(
        &self,
        cx: &Context<'_>,
        input: UpdateCalendarInput,
        idempotency_key: Option<String>,
    ) -> Result<CalendarPayload> {
        let right = cx.editor()?;
        let call = call("updateCalendar", &input, idempotency_key)?;
        let saved = cx.commands().update_calendar(&right, input.into(), &call).await?;
        CalendarPayload::of(cx, saved).await
    }

    /// Refused while a schedule names it.
    async fn delete_calendar(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        #[graphql(desc = "The version that the caller saw; a newer one is a CONFLICT.")]
        expected_version: i32,
        reason: Option<String>,
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let right = cx.editor()?;
        let arguments = json!([id, expected_version, reason]).to_string();
        let call = Call::new("deleteCalendar", &arguments, idempotency_key)?;
        let reason = reason.as_deref();
        let id = cx.commands().delete_calendar(&right, id, expected_version, reason, &call).await?;
        Ok(DeletePayload { id })
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

    /// Runs it once, beside its timing: now, or as of an instant. `context` is laid over the
    /// schedule's, key by key.
    async fn trigger_schedule(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        context: Option<serde_json::Value>,
        as_of: Option<Instant>,
        reason: Option<String>,
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

    /// Stops a run: one that waits at once, one that is at work through its node.
    async fn cancel_run(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        reason: Option<String>,
        idempotency_key: Option<String>,
    ) -> Result<RunPayload> {
        let right = cx.operator()?;
        let call = Call::new("cancelRun", &json!([id, reason]).to_string(), idempotency_key)?;
        let ordered = cx.commands().cancel(&right, id, reason.as_deref(), &call).await?;
        RunPayload::of(cx, ordered).await
    }

    /// Does a settled run again, for the same instant and with the same idempotency key for the
    /// receiver.
    async fn retry_run(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        idempotency_key: Option<String>,
    ) -> Result<RunPayload> {
        let right = cx.operator()?;
        let call = Call::new("retryRun", &json!([id]).to_string(), idempotency_key)?;
        let ordered = cx.commands().retry(&right, id, &call).await?;
        RunPayload::of(cx, ordered).await
    }

    /// Takes fires out of a schedule's buffer, all or those that are named: each is skipped, and
    /// says who did it.
    async fn purge_buffer(
        &self,
        cx: &Context<'_>,
        schedule_id: Uuid,
        fire_ids: Option<Vec<Uuid>>,
        idempotency_key: Option<String>,
    ) -> Result<BufferPayload> {
        let right = cx.operator()?;
        let arguments = json!([schedule_id, fire_ids]).to_string();
        let call = Call::new("purgeBuffer", &arguments, idempotency_key)?;
        let fires = fire_ids.as_deref();
        let done = cx.commands().purge_buffer(&right, schedule_id, fires, &call).await?;
        BufferPayload::of(cx, done).await
    }

    /// Puts the named fires at the head of a schedule's buffer, in that order; the others follow
    /// as they are.
    async fn reorder_buffer(
        &self,
        cx: &Context<'_>,
        schedule_id: Uuid,
        fire_ids: Vec<Uuid>,
        idempotency_key: Option<String>,
    ) -> Result<BufferPayload> {
        let right = cx.operator()?;
        let arguments = json!([schedule_id, fire_ids]).to_string();
        let call = Call::new("reorderBuffer", &arguments, idempotency_key)?;
        let done = cx.commands().reorder_buffer(&right, schedule_id, &fire_ids, &call).await?;
        BufferPayload::of(cx, done).await
    }

    async fn create_concurrency_group(
        &self,
        cx: &Context<'_>,
        input: CreateConcurrencyGroupInput,
        idempotency_key: Option<String>,
    ) -> Result<ConcurrencyGroupPayload> {
        let right = cx.editor()?;
        let call = call("createConcurrencyGroup", &input, idempotency_key)?;
        let group = (&*input.name, input.max_runs);
        let made = cx.commands().create_group(&right, &input.namespace, group, &call).await?;
        ConcurrencyGroupPayload::of(cx, made).await
    }

    /// Runs over a lowered limit go on; no other of the group starts until there is room.
    async fn update_concurrency_group(
        &self,
        cx: &Context<'_>,
        input: UpdateConcurrencyGroupInput,
        idempotency_key: Option<String>,
    ) -> Result<ConcurrencyGroupPayload> {
        let right = cx.editor()?;
        let call = call("updateConcurrencyGroup", &input, idempotency_key)?;
        let edit = GroupEdit { name: input.name, max_runs: input.max_runs };
        let changed = cx.commands().update_group(&right, input.id, &edit, &call).await?;
        ConcurrencyGroupPayload::of(cx, changed).await
    }

    /// Only one that no schedule names.
    async fn delete_concurrency_group(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let right = cx.editor()?;
        let call = Call::new("deleteConcurrencyGroup", &json!([id]).to_string(), idempotency_key)?;
        let deleted = cx.commands().delete_group(&right, id, &call).await?;
        Ok(DeletePayload { id: deleted.id })
    }

    /// Does a settled run again from where it failed: as its workflow was defined when it began,
    /// with the results of the tasks that succeeded and have nothing to be done again before them.
    async fn rerun_from_failed(
        &self,
        cx: &Context<'_>,
        run_id: Uuid,
        idempotency_key: Option<String>,
    ) -> Result<RunPayload> {
        let right = cx.operator()?;
        let call = Call::new("rerunFromFailed", &json!([run_id]).to_string(), idempotency_key)?;
        let ordered = cx.commands().rerun_from_failed(&right, run_id, &call).await?;
        RunPayload::of(cx, ordered).await
    }

    async fn create_workflow(
        &self,
        cx: &Context<'_>,
        input: CreateWorkflowInput,
        idempotency_key: Option<String>,
    ) -> Result<WorkflowPayload> {
        let right = cx.editor()?;
        let call = call("createWorkflow", &input, idempotency_key)?;
        let id = cx.commands().create_workflow(&right, input.try_into()?, &call).await?;
        WorkflowPayload::of(cx, id).await
    }

    /// Runs that have begun keep the definition that they began with.
    async fn update_workflow(
        &self,
        cx: &Context<'_>,
        input: UpdateWorkflowInput,
        idempotency_key: Option<String>,
    ) -> Result<WorkflowPayload> {
        let right = cx.editor()?;
        let call = call("updateWorkflow", &input, idempotency_key)?;
        let id = cx.commands().update_workflow(&right, input.try_into()?, &call).await?;
        WorkflowPayload::of(cx, id).await
    }

    /// Refused while a schedule runs it. Its runs in flight end by themselves, its history stays.
    async fn delete_workflow(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        reason: Option<String>,
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let right = cx.editor()?;
        let call = Call::new("deleteWorkflow", &json!([id, reason]).to_string(), idempotency_key)?;
        let reason = reason.as_deref();
        let id = cx.commands().delete_workflow(&right, id, reason, &call).await?;
        Ok(DeletePayload { id })
    }

    /// Runs a schedule for instants of the past: what `previewBackfill` says, written down now and
    /// run one after the other, `concurrency` (1 to 100) at once. Paused schedules, too.
    #[expect(clippy::too_many_arguments, reason = "a backfill is ordered with so many")]
    async fn create_backfill(
        &self,
        cx: &Context<'_>,
        schedule_id: Uuid,
        from: Instant,
        to: Instant,
        #[graphql(default_with = "BackfillMode::Missing")] mode: BackfillMode,
        #[graphql(default_with = "BackfillOrder::OldestFirst")] order: BackfillOrder,
        #[graphql(default = 1)] concurrency: i32,
        reason: String,
        context: Option<serde_json::Value>,
        idempotency_key: Option<String>,
    ) -> Result<BackfillPayload> {
        let right = cx.operator()?;
        let wanted = Wanted { schedule_id, from: from.0, to: to.0, mode: mode.into() };
        let (order, concurrency) = (order.into(), concurrency.into());
        let manner = Manner { order, concurrency, reason, context };
        let arguments = json!([
            schedule_id,
            wanted.from,
            wanted.to,
            wanted.mode,
            manner.order,
            manner.concurrency,
            manner.reason,
            manner.context,
        ]);
        let call = Call::new("createBackfill", &arguments.to_string(), idempotency_key)?;
        let ordered = cx.commands().create_backfill(&right, wanted, &manner, &call).await?;
        BackfillPayload::of(cx, ordered).await
    }

    /// Starts no more of its runs until it is resumed; those that are alive go on.
    async fn pause_backfill(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        idempotency_key: Option<String>,
    ) -> Result<BackfillPayload> {
        let right = cx.operator()?;
        let call = Call::new("pauseBackfill", &json!([id]).to_string(), idempotency_key)?;
        let ordered = cx.commands().pause_backfill(&right, id, &call).await?;
        BackfillPayload::of(cx, ordered).await
    }

    /// Lets it go on.
    async fn resume_backfill(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        idempotency_key: Option<String>,
    ) -> Result<BackfillPayload> {
        let right = cx.operator()?;
        let call = Call::new("resumeBackfill", &json!([id]).to_string(), idempotency_key)?;
        let ordered = cx.commands().resume_backfill(&right, id, &call).await?;
        BackfillPayload::of(cx, ordered).await
    }

    /// Stops it for good: what waits for its turn never runs, runs that are alive are asked to
    /// stop.
    async fn cancel_backfill(
        &self,
        cx: &Context<'_>,
        id: Uuid,
        reason: Option<String>,
        idempotency_key: Option<String>,
    ) -> Result<BackfillPayload> {
        let right = cx.operator()?;
        let call = Call::new("cancelBackfill", &json!([id, reason]).to_string(), idempotency_key)?;
        let ordered = cx.commands().cancel_backfill(&right, id, reason.as_deref(), &call).await?;
        BackfillPayload::of(cx, ordered).await
    }

    /// Says for how many days a namespace keeps what has settled, 1 to 3650; null is as the server
    /// is configured. What is older goes with the next round: see `retentionPreview`.
    async fn set_namespace_retention(
        &self,
        cx: &Context<'_>,
        namespace: String,
        days: Option<i64>,
        reason: Option<String>,
        idempotency_key: Option<String>,
    ) -> Result<NamespaceRetention> {
        let right = cx.admin()?;
        let arguments = json!([namespace, days, reason]).to_string();
        let call = Call::new("setNamespaceRetention", &arguments, idempotency_key)?;
        let reason = reason.as_deref();
        let kept = cx.commands().set_retention(&right, &namespace, days, reason, &call).await?;
        Ok(kept.into())
    }

    /// Makes schedules and workflows what a module's file (YAML) declares, all or nothing. What
    /// the module declared before and no longer does is deleted, unless `prune` is false.
    async fn deploy_module(
        &self,
        cx: &Context<'_>,
        source: String,
        #[graphql(default = false)] dry_run: bool,
        #[graphql(default = true)] prune: bool,
        idempotency_key: Option<String>,
    ) -> Result<DeployPayload> {
        let right = cx.editor()?;
        let arguments = json!([source, dry_run, prune]).to_string();
        let call = Call::new("deployModule", &arguments, idempotency_key)?;
        let deployed = cx.commands().deploy(&right, &source, dry_run, prune, &call).await?;
        Ok(deployed.into())
    }
}

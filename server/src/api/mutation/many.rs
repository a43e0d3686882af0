//! Bulk operations: the mutations that take a search instead of an id.

use async_graphql::{Context, InputObject, MaybeUndefined, Object, SimpleObject};
use serde_json::json;
use uuid::Uuid;

use crate::{
    api::{
        call::text,
        context::ContextExt,
        error::Result,
        loaders::{RunRow, ScheduleRow},
        page::DECLARED,
        run::Run,
        scalar::Instant,
        schedule::Schedule,
        schedule_input::{MisfireInput, given},
        schedule_policy::{CatchUp, OverlapPolicy},
    },
    commands::{
        AutomaticEnd, BadInput, BulkItems, BulkRefusal, ByHand, Call, MAX_AT_ONCE, ManyDone,
        ManyEdit,
    },
};

/// The cost of a bulk operation beside the ten objects that its answer shows, so that a request may
/// contain only a few.
const MANY: usize = 10_000;

/// Bulk operations. Objects are processed one by one: some may be refused while others succeed.
#[derive(Default)]
pub(crate) struct OrderingMany;

/// Bulk operations.
#[Object]
impl OrderingMany {
    /// Pauses all schedules that match a search.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn pause_schedules(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The search that selects the schedules.")] which: ManyInput,
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
    ) -> Result<SchedulesPayload> {
        let right = cx.operator()?;
        let (until, missed) = (until.map(|until| until.0), missed.map(Into::into));
        let end = AutomaticEnd::new(until, missed)?;
        let call = which.call("pauseSchedules", json!([reason, until, missed]), idempotency_key)?;
        let which = which.into();
        let done = cx.commands().pause_many(&right, &which, &reason, end, &call).await?;
        SchedulesPayload::of(cx, done, which.dry_run).await
    }

    /// Resumes all schedules that match a search. Schedules that are not paused stay as they are.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn resume_schedules(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The search that selects the schedules.")] which: ManyInput,
        #[graphql(
            default_with = "CatchUp::Skip",
            desc = "What becomes of the fires that fell into the pause."
        )]
        missed: CatchUp,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<SchedulesPayload> {
        let right = cx.operator()?;
        let missed = missed.into();
        let call = which.call("resumeSchedules", json!([missed]), idempotency_key)?;
        let which = which.into();
        let done = cx.commands().resume_many(&right, &which, missed, &call).await?;
        SchedulesPayload::of(cx, done, which.dry_run).await
    }

    /// Skips the next fires of all schedules that match a search. Schedules that are paused or have
    /// no fires left are refused.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn skip_next_of_schedules(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The search that selects the schedules.")] which: ManyInput,
        #[graphql(default = 1, desc = "The number of fires per schedule, 1 to 100.")] count: i32,
        #[graphql(desc = "Reason for the audit log: 1 to 500 characters.")] reason: String,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<SchedulesPayload> {
        let right = cx.operator()?;
        let call = which.call("skipNextOfSchedules", json!([count, reason]), idempotency_key)?;
        let which = which.into();
        let done =
            cx.commands().skip_next_many(&right, &which, count.into(), &reason, &call).await?;
        SchedulesPayload::of(cx, done, which.dry_run).await
    }

    /// Runs all schedules that match a search once, in addition to their timing.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn trigger_schedules(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The search that selects the schedules.")] which: ManyInput,
        #[graphql(
            desc = "A JSON object of at most 256 KiB, merged into the schedule's context: its keys \
                    take precedence."
        )]
        context: Option<serde_json::Value>,
        #[graphql(desc = "The scheduled instant; now if absent.")] as_of: Option<Instant>,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<SchedulesPayload> {
        let right = cx.operator()?;
        let as_of = as_of.map(|at| at.0);
        let arguments = json!([context, as_of, reason]);
        let call = which.call("triggerSchedules", arguments, idempotency_key)?;
        let (which, order) = (which.into(), ByHand { context, as_of, reason });
        let done = cx.commands().trigger_many(&right, &which, &order, &call).await?;
        SchedulesPayload::of(cx, done, which.dry_run).await
    }

    /// Changes all schedules that match a search, each as `updateSchedule` would. Schedules
    /// declared by a module are refused.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn update_schedules(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The search that selects the schedules.")] which: ManyInput,
        #[graphql(desc = "What to change.")] change: ChangeSchedulesInput,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<SchedulesPayload> {
        let right = cx.editor()?;
        let arguments = json!([text(&change), reason]);
        let call = which.call("updateSchedules", arguments, idempotency_key)?;
        let (which, change) = (which.into(), change.into());
        let reason = reason.as_deref();
        let done = cx.commands().update_many(&right, &which, &change, reason, &call).await?;
        SchedulesPayload::of(cx, done, which.dry_run).await
    }

    /// Deletes all schedules that match a search. Schedules declared by a module are refused.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn delete_schedules(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The search that selects the schedules.")] which: ManyInput,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<SchedulesPayload> {
        let right = cx.editor()?;
        let call = which.call("deleteSchedules", json!([reason]), idempotency_key)?;
        let which = which.into();
        let done = cx.commands().delete_many(&right, &which, reason.as_deref(), &call).await?;
        SchedulesPayload::of(cx, done, which.dry_run).await
    }

    /// Cancels all runs that match a search. Settled runs are refused.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn cancel_runs(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The search that selects the runs.")] which: ManyInput,
        #[graphql(desc = "Reason for the audit log: 0 to 500 characters.")] reason: Option<String>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<RunsPayload> {
        let right = cx.operator()?;
        let call = which.call("cancelRuns", json!([reason]), idempotency_key)?;
        let which = which.into();
        let done = cx.commands().cancel_many(&right, &which, reason.as_deref(), &call).await?;
        RunsPayload::of(cx, done, which.dry_run).await
    }

    /// Retries all runs that match a search. Runs that have not settled are refused.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn retry_runs(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The search that selects the runs.")] which: ManyInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<RunsPayload> {
        let right = cx.operator()?;
        let call = which.call("retryRuns", json!([]), idempotency_key)?;
        let which = which.into();
        let done = cx.commands().retry_many(&right, &which, &call).await?;
        RunsPayload::of(cx, done, which.dry_run).await
    }
}

/// Selects all objects that match a search; at most 10,000.
#[derive(InputObject)]
pub(crate) struct ManyInput {
    /// The namespace's name.
    #[graphql(default = "default")]
    namespace: String,
    /// The search, in the language of docs/search.md, such as `state:failed tag:billing next:<1h`.
    search: String,
    /// If true, only counts the matches and shows the first ones.
    #[graphql(default = false)]
    dry_run: bool,
    /// The number that the caller expects, as `dryRun` counted it; fails with CONFLICT if the
    /// number differs.
    expected_count: Option<i32>,
}

impl ManyInput {
    /// The call as it is stored under its key: the selection and the operation.
    fn call(
        &self,
        name: &str,
        what: serde_json::Value,
        key: Option<String>,
    ) -> std::result::Result<Call, BadInput> {
        let Self { namespace, search, expected_count, dry_run: _ } = self;
        Call::new(name, &json!([namespace, search, expected_count, what]).to_string(), key)
    }
}

impl From<ManyInput> for BulkItems {
    fn from(ManyInput { namespace, search, dry_run, expected_count }: ManyInput) -> Self {
        Self { namespace, search, expected: expected_count.map(Into::into), dry_run }
    }
}

/// Absent fields keep their current values.
#[derive(InputObject)]
pub(crate) struct ChangeSchedulesInput {
    /// Tags to add; a schedule may have at most 32.
    #[graphql(default)]
    add_tags: Vec<String>,
    /// Tags to remove.
    #[graphql(default)]
    remove_tags: Vec<String>,
    /// Replaces the zone of the current timing: IANA name.
    zone: Option<String>,
    /// The complete list: calendars not named here are removed.
    calendars: Option<Vec<String>>,
    /// An existing workflow's name.
    workflow: Option<String>,
    /// Replaces the whole policy for missed fires.
    misfire: Option<MisfireInput>,
    /// The policy for a fire while a run is alive.
    overlap: Option<OverlapPolicy>,
    /// Null resets the limit to the default of 100; changing to another overlap policy removes it.
    buffer_limit: MaybeUndefined<i64>,
    /// Null removes the schedules from their groups.
    group: MaybeUndefined<String>,
    /// -100 to 100: among waiting runs, those with a higher priority are taken first.
    priority: Option<i64>,
    /// Null removes the deadline.
    start_deadline_seconds: MaybeUndefined<i64>,
    /// Null removes the schedules' own retention.
    retention_days: MaybeUndefined<i64>,
}

impl From<ChangeSchedulesInput> for ManyEdit {
    fn from(input: ChangeSchedulesInput) -> Self {
        Self {
            add_tags: input.add_tags,
            remove_tags: input.remove_tags,
            zone: input.zone,
            calendars: input.calendars,
            workflow: input.workflow,
            misfire: input.misfire.map(Into::into),
            overlap: input.overlap.map(Into::into),
            buffer_limit: given(input.buffer_limit),
            group: given(input.group),
            priority: input.priority,
            start_deadline_seconds: given(input.start_deadline_seconds),
            retention_days: given(input.retention_days),
        }
    }
}

/// The outcome of a bulk operation on schedules.
#[derive(SimpleObject)]
pub(crate) struct SchedulesPayload {
    #[graphql(flatten)]
    outcome: BulkOutcome,
    /// The first ten matches in their current state.
    sample: Vec<Schedule>,
}

/// The outcome of a bulk operation on runs.
#[derive(SimpleObject)]
pub(crate) struct RunsPayload {
    #[graphql(flatten)]
    outcome: BulkOutcome,
    /// The first ten matches in their current state.
    sample: Vec<Run>,
}

/// The outcome of a bulk operation.
#[derive(SimpleObject)]
pub(crate) struct BulkOutcome {
    /// Whether nothing was changed.
    dry_run: bool,
    /// How many objects matched.
    matched: u64,
    /// Whether more objects match than one operation allows; `matched` then stopped counting.
    too_many: bool,
    /// The number of items for which the action succeeded.
    done: u64,
    /// The number of items that were refused; in a dry run, of those that would be.
    refused: u64,
    /// The first refusals; at most 100.
    #[graphql(complexity = "DECLARED * child_complexity")]
    refusals: Vec<OrderRefusal>,
    /// The number of items that are left because the request ran out of time or the database became
    /// unreachable. Repeat the request with the same idempotency key to continue with them. In a dry
    /// run, the number of items that were not checked.
    remaining: u64,
}

/// An object for which a bulk request was refused.
#[derive(SimpleObject)]
pub(crate) struct OrderRefusal {
    id: Uuid,
    /// The `extensions.code` that a request for this object alone would return.
    code: String,
    /// Why it was refused, and what to do.
    message: String,
}

impl BulkOutcome {
    fn new(done: ManyDone, dry_run: bool) -> Self {
        let told = |BulkRefusal { id, code, message }| OrderRefusal { id, code, message };
        Self {
            dry_run,
            matched: done.matched,
            too_many: done.matched > MAX_AT_ONCE,
            done: done.done,
            refused: done.refused,
            refusals: done.refusals.into_iter().map(told).collect(),
            remaining: done.remaining,
        }
    }
}

impl SchedulesPayload {
    async fn of(cx: &Context<'_>, done: ManyDone, dry_run: bool) -> Result<Self> {
        let mut rows = cx.rows().load_many(done.sample.iter().copied().map(ScheduleRow)).await?;
        let sample = done.sample.iter().filter_map(|id| rows.remove(&ScheduleRow(*id)));
        // The answer to a repeated call may be read after the caller has lost access: the namespace
        // of that name may be another one by then.
        let sample = sample.filter(|row| cx.is_home(row.namespace_id)).map(Schedule).collect();
        Ok(Self { outcome: BulkOutcome::new(done, dry_run), sample })
    }
}

impl RunsPayload {
    async fn of(cx: &Context<'_>, done: ManyDone, dry_run: bool) -> Result<Self> {
        let mut rows = cx.rows().load_many(done.sample.iter().copied().map(RunRow)).await?;
        let sample = done.sample.iter().filter_map(|id| rows.remove(&RunRow(*id)));
        let sample = sample.filter(|row| cx.is_home(row.namespace_id)).map(Run).collect();
        Ok(Self { outcome: BulkOutcome::new(done, dry_run), sample })
    }
}

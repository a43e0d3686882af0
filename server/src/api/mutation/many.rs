//! One order for many: the mutations that take a search instead of a key.

use async_graphql::{Context, InputObject, MaybeUndefined, Object, SimpleObject};
use serde_json::json;
use uuid::Uuid;

use crate::{
    api::{
        call::text,
        context::Ask,
        error::Result,
        loaders::{RunRow, ScheduleRow},
        page::DECLARED,
        run::Run,
        scalar::Instant,
        schedule::{CatchUp, OverlapPolicy, Schedule},
        schedule_input::{MisfireInput, given},
    },
    commands::{BadInput, ByHand, Call, MAX_AT_ONCE, ManyDone, ManyEdit, Refusal, Which},
};

/// What an order costs, beside the ten that its answer shows: so a request holds a handful.
const MANY: usize = 10_000;

/// Orders for many. Each is carried out one by one: some may be refused while others are done.
#[derive(Default)]
pub(crate) struct OrderingMany;

/// Orders for many.
#[Object]
impl OrderingMany {
    /// Pauses all schedules that a search finds.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn pause_schedules(
        &self,
        cx: &Context<'_>,
        which: ManyInput,
        reason: String,
        until: Option<Instant>,
        idempotency_key: Option<String>,
    ) -> Result<SchedulesPayload> {
        let right = cx.operator()?;
        let until = until.map(|until| until.0);
        let call = which.call("pauseSchedules", json!([reason, until]), idempotency_key)?;
        let which = which.into();
        let done = cx.commands().pause_many(&right, &which, &reason, until, &call).await?;
        SchedulesPayload::of(cx, done, which.dry_run).await
    }

    /// Resumes all schedules that a search finds. One that is not paused stays as it is.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn resume_schedules(
        &self,
        cx: &Context<'_>,
        which: ManyInput,
        #[graphql(default_with = "CatchUp::Skip")] missed: CatchUp,
        idempotency_key: Option<String>,
    ) -> Result<SchedulesPayload> {
        let right = cx.operator()?;
        let missed = missed.into();
        let call = which.call("resumeSchedules", json!([missed]), idempotency_key)?;
        let which = which.into();
        let done = cx.commands().resume_many(&right, &which, missed, &call).await?;
        SchedulesPayload::of(cx, done, which.dry_run).await
    }

    /// Leaves out the next fires of all schedules that a search finds. Those that are paused or have
    /// no fire left are refused.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn skip_next_of_schedules(
        &self,
        cx: &Context<'_>,
        which: ManyInput,
        #[graphql(default = 1, desc = "Of each, 1 to 100.")] count: i32,
        reason: String,
        idempotency_key: Option<String>,
    ) -> Result<SchedulesPayload> {
        let right = cx.operator()?;
        let call = which.call("skipNextOfSchedules", json!([count, reason]), idempotency_key)?;
        let which = which.into();
        let done =
            cx.commands().skip_next_many(&right, &which, count.into(), &reason, &call).await?;
        SchedulesPayload::of(cx, done, which.dry_run).await
    }

    /// Runs all schedules that a search finds once, beside their timing.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn trigger_schedules(
        &self,
        cx: &Context<'_>,
        which: ManyInput,
        context: Option<serde_json::Value>,
        as_of: Option<Instant>,
        reason: Option<String>,
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

    /// Changes all schedules that a search finds, each as `updateSchedule` would. Those that a module
    /// declares are refused.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn update_schedules(
        &self,
        cx: &Context<'_>,
        which: ManyInput,
        change: ChangeSchedulesInput,
        reason: Option<String>,
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

    /// Deletes all schedules that a search finds. Those that a module declares are refused.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn delete_schedules(
        &self,
        cx: &Context<'_>,
        which: ManyInput,
        reason: Option<String>,
        idempotency_key: Option<String>,
    ) -> Result<SchedulesPayload> {
        let right = cx.editor()?;
        let call = which.call("deleteSchedules", json!([reason]), idempotency_key)?;
        let which = which.into();
        let done = cx.commands().delete_many(&right, &which, reason.as_deref(), &call).await?;
        SchedulesPayload::of(cx, done, which.dry_run).await
    }

    /// Cancels all runs that a search finds. Those that have settled are refused.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn cancel_runs(
        &self,
        cx: &Context<'_>,
        which: ManyInput,
        reason: Option<String>,
        idempotency_key: Option<String>,
    ) -> Result<RunsPayload> {
        let right = cx.operator()?;
        let call = which.call("cancelRuns", json!([reason]), idempotency_key)?;
        let which = which.into();
        let done = cx.commands().cancel_many(&right, &which, reason.as_deref(), &call).await?;
        RunsPayload::of(cx, done, which.dry_run).await
    }

    /// Does all runs again that a search finds. Those that have not settled are refused.
    #[graphql(complexity = "MANY + 10 * child_complexity")]
    async fn retry_runs(
        &self,
        cx: &Context<'_>,
        which: ManyInput,
        idempotency_key: Option<String>,
    ) -> Result<RunsPayload> {
        let right = cx.operator()?;
        let call = which.call("retryRuns", json!([]), idempotency_key)?;
        let which = which.into();
        let done = cx.commands().retry_many(&right, &which, &call).await?;
        RunsPayload::of(cx, done, which.dry_run).await
    }
}

/// All that a search finds, 10,000 at the most.
#[derive(InputObject)]
pub(crate) struct ManyInput {
    #[graphql(default = "default")]
    namespace: String,
    /// In the search language of docs/search.md, as in `state:failed tag:billing next:<1h`.
    search: String,
    /// Only count them and show the first.
    #[graphql(default = false)]
    dry_run: bool,
    /// How many are meant, as `dryRun` counted them; another number is a CONFLICT.
    expected_count: Option<i32>,
}

impl ManyInput {
    /// The order as its key remembers it: which ones, and what is done to them.
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

impl From<ManyInput> for Which {
    fn from(ManyInput { namespace, search, dry_run, expected_count }: ManyInput) -> Self {
        Self { namespace, search, expected: expected_count.map(Into::into), dry_run }
    }
}

/// Absent fields keep their current values.
#[derive(InputObject)]
pub(crate) struct ChangeSchedulesInput {
    #[graphql(default)]
    add_tags: Vec<String>,
    #[graphql(default)]
    remove_tags: Vec<String>,
    /// A zone for the timing as it is: IANA name.
    zone: Option<String>,
    /// All of them: what is not named is taken away.
    calendars: Option<Vec<String>>,
    /// An existing workflow's name.
    workflow: Option<String>,
    misfire: Option<MisfireInput>,
    overlap: Option<OverlapPolicy>,
    /// Null makes it the usual 100; another overlap policy takes it away.
    buffer_limit: MaybeUndefined<i64>,
    /// Null takes it away.
    group: MaybeUndefined<String>,
    priority: Option<i64>,
    /// Null takes it away.
    start_deadline_seconds: MaybeUndefined<i64>,
    /// Null takes it away.
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

/// What became of an order for many schedules.
#[derive(SimpleObject)]
pub(crate) struct SchedulesPayload {
    #[graphql(flatten)]
    outcome: Outcome,
    /// The first ten that were found, as they are now.
    sample: Vec<Schedule>,
}

/// What became of an order for many runs.
#[derive(SimpleObject)]
pub(crate) struct RunsPayload {
    #[graphql(flatten)]
    outcome: Outcome,
    /// The first ten that were found, as they are now.
    sample: Vec<Run>,
}

/// What became of an order for many.
#[derive(SimpleObject)]
pub(crate) struct Outcome {
    /// Whether they were only counted.
    dry_run: bool,
    /// How many were found.
    matched: u64,
    /// There are more than may be ordered at once; `matched` has stopped counting.
    too_many: bool,
    /// For how many it was done.
    done: u64,
    /// For how many it was refused.
    refused: u64,
    /// The first hundred of these.
    #[graphql(complexity = "DECLARED * child_complexity")]
    refusals: Vec<OrderRefusal>,
    /// How many are left because the request ran out of time or the database became unreachable.
    /// Repeat the request with the same idempotency key to continue with them.
    remaining: u64,
}

/// An object for which a bulk request was refused.
#[derive(SimpleObject)]
pub(crate) struct OrderRefusal {
    id: Uuid,
    /// As in `extensions.code` of an order for it alone.
    code: String,
    message: String,
}

impl Outcome {
    fn new(done: ManyDone, dry_run: bool) -> Self {
        let told = |Refusal { id, code, message }| OrderRefusal { id, code, message };
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
        let sample = sample.map(Schedule).collect();
        Ok(Self { outcome: Outcome::new(done, dry_run), sample })
    }
}

impl RunsPayload {
    async fn of(cx: &Context<'_>, done: ManyDone, dry_run: bool) -> Result<Self> {
        let mut rows = cx.rows().load_many(done.sample.iter().copied().map(RunRow)).await?;
        let sample = done.sample.iter().filter_map(|id| rows.remove(&RunRow(*id)));
        let sample = sample.map(Run).collect();
        Ok(Self { outcome: Outcome::new(done, dry_run), sample })
    }
}

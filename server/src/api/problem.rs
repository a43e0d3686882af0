//! Problems of schedules, and what to do about them.

use async_graphql::{ComplexObject, Context, Enum, Object, SimpleObject};
use chrono::{DateTime, TimeDelta, Utc};
use entity::problem_acknowledgement::Model;
use serde_json::json;
use uuid::Uuid;

use super::{
    calm::Calm,
    context::ContextExt,
    error::Result,
    fire::ReasonCode,
    loaders::{RunRow, ScheduleRow},
    page::{bounded, cost},
    query::within,
    run::Run,
    scalar::{Instant, Long},
    schedule::Schedule,
};
use crate::{
    commands::{AcknowledgedProblem, AcknowledgementInput, BadInput, Call},
    store::{
        alerts::acknowledgements,
        reads::problems::{self, FailureCause},
    },
    vault::MASK,
};

/// The cost of reading failed runs and lost and skipped fires, in addition to the answer.
const LOOKED_AT: usize = 3_000;
/// The default range and the longest one.
const USUAL: TimeDelta = TimeDelta::hours(24);
const LONGEST: TimeDelta = TimeDelta::days(30);

/// Queries of problems.
#[derive(Default)]
pub(super) struct ReadingProblems;

/// Queries of problems.
#[Object]
impl ReadingProblems {
    /// Schedules that fail, lose fires or skip them for load, one entry per schedule and error, the
    /// latest first. Based on the newest 2,000 failed runs, 2,000 lost fires and 100,000 skipped
    /// fires. A schedule that skips fires is a problem if it skipped at least 3, and at least 1 %
    /// of those that were due; with more than 1,500 rows in the range, at least 15. Only the 20
    /// schedules that skipped most are examined.
    #[graphql(complexity = "LOOKED_AT + cost(Some(first), None, child_complexity)")]
    async fn problems(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "If absent, all namespaces that you may see.")] namespace: Option<String>,
        #[graphql(desc = "24 hours ago if absent; at the earliest 30 days ago.")] since: Option<
            Instant,
        >,
        #[graphql(default = 50, desc = "The number of entries, 1 to 200.")] first: i32,
    ) -> Result<Vec<Calm<Problem>>> {
        cx.viewer()?;
        let limit = usize::try_from(bounded("first", first)?).unwrap_or_default();
        let within = within(cx, namespace.as_deref()).await?;
        let since = checked(since, cx.commands().clock.now())?;
        let mut found = problems::since(cx.store(), &within, since.into()).await?;
        let keys = found.iter().map(|one| ScheduleRow(one.schedule_id));
        let rows = cx.rows().load_many(keys).await?;
        let is_there =
            |id: Uuid| rows.get(&ScheduleRow(id)).is_some_and(|row| row.deleted_at.is_none());
        found.retain(|one| is_there(one.schedule_id));
        found.truncate(limit);
        let over = problems::over(cx.store(), &found).await?;
        let now = cx.commands().clock.now();
        let acknowledged = acknowledgements::counting(cx.store(), &found, &over, now).await?;
        let mut told = Vec::with_capacity(found.len());
        for (place, one) in (0_i64..).zip(found) {
            let Some(row) = rows.get(&ScheduleRow(one.schedule_id)) else { continue };
            let shown = cx.sees_payloads(row.namespace_id);
            let acknowledgement = acknowledged.get(&one.key()).map(Acknowledgement::of);
            let is_open = !over.contains(&place);
            let problem = Problem::of(one, Schedule(row.clone()), shown, is_open);
            told.push(Calm(Problem { acknowledgement, ..problem }));
        }
        Ok(told)
    }
}

/// Mutations of problems.
#[derive(Default)]
pub(super) struct OrderingProblems;

/// Mutations of problems.
#[Object]
impl OrderingProblems {
    /// Acknowledges a problem of a schedule: until it is over, or until an instant within 90 days.
    #[graphql(complexity = "LOOKED_AT + child_complexity")]
    async fn acknowledge_problem(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] schedule_id: Uuid,
        #[graphql(desc = "The id of the problem.")] id: Uuid,
        #[graphql(desc = "A note for other people who see the problem.")] note: Option<String>,
        #[graphql(desc = "When the acknowledgement ends; if absent, when the problem is over.")]
        until: Option<Instant>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<ProblemPayload> {
        let right = cx.operator()?;
        let until = until.map(|until| until.0);
        let arguments = json!([schedule_id, id, note, until]).to_string();
        let call = Call::new("acknowledgeProblem", &arguments, idempotency_key)?;
        let given = AcknowledgementInput { note, until };
        let commands = cx.commands();
        let done = commands.acknowledge_problem(&right, schedule_id, id, &given, &call).await?;
        ProblemPayload::of(cx, done).await
    }

    /// Withdraws the acknowledgement of a problem.
    #[graphql(complexity = "LOOKED_AT + child_complexity")]
    async fn unacknowledge_problem(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The schedule's id.")] schedule_id: Uuid,
        #[graphql(desc = "The id of the problem.")] id: Uuid,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<ProblemPayload> {
        let right = cx.operator()?;
        let arguments = json!([schedule_id, id]).to_string();
        let call = Call::new("unacknowledgeProblem", &arguments, idempotency_key)?;
        let commands = cx.commands();
        let done = commands.unacknowledge_problem(&right, schedule_id, id, &call).await?;
        ProblemPayload::of(cx, done).await
    }
}

/// A problem after a mutation.
#[derive(SimpleObject)]
pub(crate) struct ProblemPayload {
    /// The problem's id.
    id: Uuid,
    /// Null if the acknowledgement was withdrawn.
    acknowledgement: Option<Acknowledgement>,
}

impl ProblemPayload {
    async fn of(cx: &Context<'_>, done: AcknowledgedProblem) -> Result<Self> {
        let row = acknowledgements::by_ids(cx.store().read(), &[done.id]).await?.pop();
        Ok(Self { id: done.id, acknowledgement: row.as_ref().map(Acknowledgement::of) })
    }
}

/// Who has acknowledged a problem.
#[derive(SimpleObject)]
pub(crate) struct Acknowledgement {
    /// When the problem was acknowledged.
    at: Instant,
    /// The name of the user or token that acknowledged the problem.
    by: String,
    /// The note that they left; at most 500 characters.
    note: Option<String>,
    /// When the acknowledgement ends; null if it lasts until the problem is over.
    until: Option<Instant>,
}

impl Acknowledgement {
    fn of(row: &Model) -> Self {
        Self {
            at: row.acknowledged_at.into(),
            by: row.acknowledged_by.clone(),
            note: row.acknowledged_note.clone(),
            until: row.acknowledged_until.map(Into::into),
        }
    }
}

fn checked(
    since: Option<Instant>,
    now: DateTime<Utc>,
) -> std::result::Result<DateTime<Utc>, BadInput> {
    let since = since.map_or(now - USUAL, |since| since.0);
    if since < now - LONGEST {
        let help = "give an instant within the last 30 days";
        return Err(BadInput::new("since", since.to_rfc3339(), "is too long ago", help));
    }
    Ok(since)
}

/// Runs of one schedule that failed with the same error, or its fires that were lost or skipped for
/// the same reason.
#[derive(SimpleObject)]
#[graphql(complex)]
pub(crate) struct Problem {
    /// Stays the same while runs fail with the same error, or fires are lost or skipped for the
    /// same reason.
    id: Uuid,
    /// Whether runs failed, or fires were lost or skipped.
    kind: ProblemKind,
    /// The schedule that they belong to.
    schedule: Schedule,
    /// The number of runs or instants.
    count: Long,
    /// For skipped fires, the number of instants in the range at which the schedule was due; null
    /// if it has more than 1,500 rows in the ledger, and for other problems.
    expected: Option<Long>,
    /// When the first of these runs or fires in the range occurred.
    since: Instant,
    /// When the last of these runs or fires occurred.
    last: Instant,
    /// The first line of the error; masked for callers who may not see payloads. Null for fires.
    error: Option<String>,
    /// Why the fires were lost or skipped; null for runs.
    reason: Option<ReasonCode>,
    /// Whether the problem is ongoing: no later run of the schedule has succeeded, or no later fire
    /// has started. For skipped fires, that one must be due more than an hour after the last of
    /// them, with no other skipped in the hour before it.
    is_open: bool,
    /// The acknowledgement; null if the problem is not acknowledged now.
    acknowledgement: Option<Acknowledgement>,
    #[graphql(skip)]
    last_run: Option<Uuid>,
}

#[ComplexObject]
impl Problem {
    /// The last run that failed with this error; null for fires.
    async fn last_run(&self, cx: &Context<'_>) -> Result<Option<Run>> {
        let Some(id) = self.last_run else { return Ok(None) };
        Ok(cx.rows().load_one(RunRow(id)).await?.map(Run))
    }
}

/// Whether runs failed, or fires were lost or skipped.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    /// Runs failed or timed out.
    Failing,
    /// Fires were missed or abandoned.
    LosingFires,
    /// Fires were skipped for load: because of a live run, a full buffer, a start deadline or a
    /// quota.
    SkippingFires,
}

impl Problem {
    fn of(found: problems::ProblemGroup, schedule: Schedule, shown: bool, is_open: bool) -> Self {
        let id = found.key();
        let mut expected = None;
        let (kind, error, reason, last_run) = match found.what {
            FailureCause::Failing { error, last_run } => {
                let error = if shown { error } else { MASK.to_owned() };
                (ProblemKind::Failing, Some(error), None, Some(last_run))
            }
            FailureCause::Losing { reason } => {
                (ProblemKind::LosingFires, None, Some(reason.into()), None)
            }
            FailureCause::Skipping { reason, expected: due } => {
                expected = due.map(Into::into);
                (ProblemKind::SkippingFires, None, Some(reason.into()), None)
            }
        };
        Self {
            id,
            kind,
            schedule,
            count: found.count.into(),
            expected,
            since: found.since.into(),
            last: found.last.into(),
            error,
            reason,
            is_open,
            acknowledgement: None,
            last_run,
        }
    }
}

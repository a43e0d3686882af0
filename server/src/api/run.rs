//! A run as the API shows it.

use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use entity::run;
use uuid::Uuid;

use super::{
    backfill::Backfill,
    context::ContextExt,
    error::Result,
    fire::Fire,
    group::group_name,
    loaders::{EndingOf, FireRow, FirstTaskRuns, NamespaceName, ScheduleRow, TaskRunCount},
    node::node_name,
    page::{DECLARED, bounded_by, cost_by},
    run_forecast::{self, RunForecast},
    run_task::{RunTask, run_tasks},
    run_wait::{RunWait, waits_for},
    scalar::{Instant, Long},
    schedule::Schedule,
    task_run::TaskRun,
    workflow::Workflow,
};

use crate::{commands::secrets, engine::merged_results, store::reads::batches, vault::MASK};

/// One execution of a workflow.
pub(crate) struct Run(pub(crate) run::Model);

/// One execution of a workflow.
#[Object]
impl Run {
    pub(crate) async fn id(&self) -> ID {
        self.0.id.into()
    }

    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.0.namespace_id)).await?.unwrap_or_default())
    }

    /// The schedule that the run belongs to, deleted or not.
    async fn schedule(&self, cx: &Context<'_>) -> Result<Option<Schedule>> {
        let Some(id) = self.0.schedule_id else { return Ok(None) };
        Ok(cx.rows().load_one(ScheduleRow(id)).await?.map(Schedule))
    }

    /// The workflow, with the definition that this run keeps until it ends.
    async fn workflow(&self, cx: &Context<'_>) -> Result<Workflow> {
        Workflow::load(cx, self.0.workflow_id, Some(self.0.workflow_version)).await
    }

    /// The version of that definition.
    async fn workflow_version(&self) -> i32 {
        self.0.workflow_version
    }

    /// The fire that started the run; null for a run that no fire started.
    async fn fire(&self, cx: &Context<'_>) -> Result<Option<Fire>> {
        let Some(id) = self.0.fire_id else { return Ok(None) };
        Ok(cx.rows().load_one(FireRow(id)).await?.map(Fire))
    }

    /// What started the run.
    async fn trigger(&self) -> RunTrigger {
        self.0.trigger.into()
    }

    /// Whether the run waits or is running, or how it ended.
    async fn state(&self) -> RunState {
        self.0.state.into()
    }

    /// The instant that the run is for, before jitter.
    async fn scheduled_at(&self) -> Instant {
        self.0.scheduled_at.into()
    }

    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }

    /// The earliest start of the next attempt.
    async fn available_at(&self) -> Instant {
        self.0.available_at.into()
    }

    /// When the run's first attempt started; null before that.
    async fn started_at(&self) -> Option<Instant> {
        self.0.started_at.map(Into::into)
    }

    /// When the run settled; null before that.
    async fn finished_at(&self) -> Option<Instant> {
        self.0.finished_at.map(Into::into)
    }

    /// Time from the due instant to the first start.
    async fn lateness_ms(&self) -> Option<Long> {
        self.0.started_at.map(|started| (started.0 - self.0.due_at.0).into())
    }

    /// Time from the first start to the end, waits between attempts included; null before the end.
    async fn duration_ms(&self) -> Option<Long> {
        Some((self.0.finished_at?.0 - self.0.started_at?.0).into())
    }

    /// The current attempt, from 1; 0 before the first. For a run of several tasks, this counts how
    /// often a node has taken it; each task counts its own attempts.
    async fn attempt(&self) -> i32 {
        self.0.attempt
    }

    /// How many attempts its task is allowed; 1 for a run of several tasks.
    async fn max_attempts(&self) -> i32 {
        self.0.max_attempts
    }

    /// The name of the node that last took the run; null before the first.
    async fn node(&self, cx: &Context<'_>) -> Result<Option<String>> {
        node_name(cx, self.0.node_id).await
    }

    /// Why the run failed. It may contain a program's output, so it is masked for callers who may
    /// not see payloads.
    async fn error(&self, cx: &Context<'_>) -> Option<&str> {
        let shown = cx.sees_payloads(self.0.namespace_id);
        self.0.error.as_deref().map(|error| if shown { error } else { MASK })
    }

    /// Null unless the run's cancellation was requested.
    async fn cancel(&self) -> Option<Cancel> {
        let at = self.0.cancel_requested_at?;
        Some(Cancel {
            by: self.0.cancel_by.clone().unwrap_or_default(),
            reason: self.0.cancel_reason.clone(),
            at: at.into(),
        })
    }

    /// The context that the run began with. Values whose names suggest secrets are masked; for
    /// callers who may not see payloads, all values are.
    async fn context(&self, cx: &Context<'_>) -> serde_json::Value {
        cx.payload(self.0.namespace_id, secrets::masked_json(&self.0.context))
    }

    /// The outputs of the run's tasks, merged in the order of the definition; null if there are
    /// none, and for callers who may not see payloads.
    async fn output(&self, cx: &Context<'_>) -> Result<Option<serde_json::Value>> {
        if !cx.sees_payloads(self.0.namespace_id) {
            return Ok(None);
        }
        let tasks = run_tasks(cx, &self.0).await?;
        let merged = merged_results(tasks.iter().map(RunTask::result));
        Ok(merged.map(|merged| secrets::masked_json(&merged)))
    }

    /// The tasks of the run's workflow, in the order of the definition; at most 100.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn tasks(&self, cx: &Context<'_>) -> Result<Vec<RunTask>> {
        run_tasks(cx, &self.0).await
    }

    /// Whether recovery started the run, or took it over from a lost node.
    async fn is_recovery(&self) -> bool {
        self.0.is_recovery
    }

    /// The idempotency key that the receiver gets, the same for all attempts.
    async fn idempotency_key(&self) -> &str {
        &self.0.idempotency_key
    }

    /// The run that this one repeats.
    async fn retry_of(&self) -> Option<Uuid> {
        self.0.retry_of
    }

    /// The concurrency group whose limit the run counts towards.
    async fn group(&self, cx: &Context<'_>) -> Result<Option<String>> {
        group_name(cx, self.0.group_id).await
    }

    /// Among waiting runs, those with a higher priority are taken first.
    async fn priority(&self) -> i32 {
        self.0.priority.into()
    }

    /// The tags that a node must have to take the run.
    async fn runs_on(&self) -> &[String] {
        self.0.runs_on.as_ref().map_or(&[], |tags| &tags.0)
    }

    /// Why the run waits although it could start; null if it is not waiting, waits only until a
    /// given time, or is about to be taken. `waitsFor` lists everything.
    #[graphql(complexity = "3")]
    async fn stuck(&self, cx: &Context<'_>) -> Result<Option<String>> {
        let waits = waits_for(cx, &self.0).await?;
        Ok(waits.into_iter().find(RunWait::is_stuck).map(RunWait::into_text))
    }

    /// What the run is waiting for: a time, a node, its group, a share, or room on the node that
    /// answers. Empty if it is running, has settled or is about to be taken.
    #[graphql(complexity = "3 + 3 * child_complexity")]
    async fn waits_for(&self, cx: &Context<'_>) -> Result<Vec<RunWait>> {
        waits_for(cx, &self.0).await
    }

    /// The backfill that the run belongs to.
    async fn backfill(&self, cx: &Context<'_>) -> Result<Option<Backfill>> {
        Backfill::of_run(cx, self.0.backfill_id).await
    }

    /// How the last attempt ended; null while the run is live, or if its target reports none of
    /// these.
    async fn ending(&self, cx: &Context<'_>) -> Result<Option<Ending>> {
        if self.0.state.is_live() {
            return Ok(None);
        }
        Ok(cx.rows().load_one(EndingOf(self.0.id)).await?.and_then(Ending::of))
    }

    /// How the run compares with the usual runs of its schedule. Null unless it is running, and if
    /// fewer than 5 runs of its schedule have succeeded in the last 30 days.
    #[graphql(complexity = "run_forecast::COST + child_complexity")]
    async fn forecast(&self, cx: &Context<'_>) -> Result<Option<RunForecast>> {
        RunForecast::of(cx, &self.0).await
    }

    /// The total number of attempts at the run's tasks.
    async fn task_run_count(&self, cx: &Context<'_>) -> Result<Long> {
        Ok(cx.rows().load_one(TaskRunCount(self.0.id)).await?.unwrap_or_default().into())
    }

    /// The first attempts at the run's tasks, in order: 50 by default, at most 1000, of
    /// `taskRunCount` in total. `tasks` has all attempts of each task.
    #[graphql(complexity = "cost_by(first, 1_000, child_complexity)")]
    async fn task_runs(
        &self,
        cx: &Context<'_>,
        #[graphql(default = 50, desc = "The number of entries, 1 to 1000.")] first: i32,
    ) -> Result<Vec<TaskRun>> {
        let limit = bounded_by("first", first, 1_000)?;
        let rows = cx.rows().load_one(FirstTaskRuns(self.0.id, limit)).await?.unwrap_or_default();
        let shown = cx.sees_payloads(self.0.namespace_id);
        Ok(rows.into_iter().map(|row| TaskRun::shown(row, shown)).collect())
    }
}

/// How an attempt ended.
#[derive(SimpleObject, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// The exit code of a program that was not killed.
    exit_code: Option<i32>,
    /// The signal that killed a program: `SIGKILL`.
    signal: Option<String>,
    /// The HTTP status of the response.
    http_status: Option<i32>,
}

impl Ending {
    fn of(row: batches::AttemptEnding) -> Option<Self> {
        let number = |text: Option<String>| text.and_then(|text| text.parse().ok());
        let ending = Self {
            exit_code: number(row.exit_code),
            signal: row.signal.filter(|signal| signal.starts_with("SIG")),
            http_status: number(row.status),
        };
        (ending != Self { exit_code: None, signal: None, http_status: None }).then_some(ending)
    }
}

/// The state of a run.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "run::State")]
pub(crate) enum RunState {
    /// The run waits for a node with room.
    Queued,
    /// A node is executing it.
    Running,
    /// An attempt failed; the run waits for the next one.
    Retrying,
    /// The run succeeded.
    Succeeded,
    /// All attempts failed.
    Failed,
    /// The last attempt took too long.
    TimedOut,
    /// The run was stopped on request or by the overlap policy.
    Cancelled,
}

/// What started a run.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "run::Trigger")]
pub(crate) enum RunTrigger {
    /// A fire of the run's schedule.
    Schedule,
    /// A person or a tool.
    Manual,
    /// A request to repeat a settled run.
    Retry,
    /// A backfill.
    Backfill,
}

/// Who requested the cancellation of a run, and why.
#[derive(SimpleObject)]
pub(crate) struct Cancel {
    /// The user or token that requested it, or `carillon` if the server did.
    by: String,
    /// The reason given, if any.
    reason: Option<String>,
    /// When it was requested.
    at: Instant,
}

use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use entity::{run, task_run};
use uuid::Uuid;

use super::{
    backfill::Backfill,
    context::Ask,
    error::Result,
    fire::Fire,
    group::group_name,
    loaders::{
        EndingOf, FireRow, FirstTaskRuns, NamespaceName, NodeRow, ScheduleRow, TaskRunCount,
    },
    page::{DECLARED, bounded_by, cost_by},
    run_forecast::{self, RunForecast},
    run_task::{RunTask, run_tasks},
    run_wait::{RunWait, waits_for},
    scalar::{Instant, Long},
    schedule::Schedule,
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

    /// The schedule that it belongs to, deleted or not.
    async fn schedule(&self, cx: &Context<'_>) -> Result<Option<Schedule>> {
        let Some(id) = self.0.schedule_id else { return Ok(None) };
        Ok(cx.rows().load_one(ScheduleRow(id)).await?.map(Schedule))
    }

    /// With the definition that this run keeps to its end.
    async fn workflow(&self, cx: &Context<'_>) -> Result<Workflow> {
        Workflow::load(cx, self.0.workflow_id, Some(self.0.workflow_version)).await
    }

    async fn workflow_version(&self) -> i32 {
        self.0.workflow_version
    }

    async fn fire(&self, cx: &Context<'_>) -> Result<Option<Fire>> {
        let Some(id) = self.0.fire_id else { return Ok(None) };
        Ok(cx.rows().load_one(FireRow(id)).await?.map(Fire))
    }

    async fn trigger(&self) -> RunTrigger {
        self.0.trigger.into()
    }

    async fn state(&self) -> RunState {
        self.0.state.into()
    }

    async fn scheduled_at(&self) -> Instant {
        self.0.scheduled_at.into()
    }

    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }

    /// Not started before.
    async fn available_at(&self) -> Instant {
        self.0.available_at.into()
    }

    async fn started_at(&self) -> Option<Instant> {
        self.0.started_at.map(Into::into)
    }

    async fn finished_at(&self) -> Option<Instant> {
        self.0.finished_at.map(Into::into)
    }

    /// From due to first start.
    async fn lateness_ms(&self) -> Option<Long> {
        self.0.started_at.map(|started| (started.0 - self.0.due_at.0).into())
    }

    async fn duration_ms(&self) -> Option<Long> {
        Some((self.0.finished_at?.0 - self.0.started_at?.0).into())
    }

    /// The current one, from 1; 0 before the first. Of a run of several tasks: how often a node
    /// has taken it; each task counts its own attempts.
    async fn attempt(&self) -> i32 {
        self.0.attempt
    }

    async fn max_attempts(&self) -> i32 {
        self.0.max_attempts
    }

    async fn node(&self, cx: &Context<'_>) -> Result<Option<String>> {
        node_name(cx, self.0.node_id).await
    }

    /// Why it ended badly. It may repeat what a program printed: masked for those who may not see
    /// payloads.
    async fn error(&self, cx: &Context<'_>) -> Option<&str> {
        let shown = cx.sees_payloads(self.0.namespace_id);
        self.0.error.as_deref().map(|error| if shown { error } else { MASK })
    }

    async fn cancel(&self) -> Option<Cancel> {
        let at = self.0.cancel_requested_at?;
        Some(Cancel {
            by: self.0.cancel_by.clone().unwrap_or_default(),
            reason: self.0.cancel_reason.clone(),
            at: at.into(),
        })
    }

    /// What it began with; texts under secret names are masked, all of it for those who may not
    /// see payloads.
    async fn context(&self, cx: &Context<'_>) -> serde_json::Value {
        cx.payload(self.0.namespace_id, secrets::masked_json(&self.0.context))
    }

    /// What its tasks gave back, merged in the order of the definition; null if nothing, and for
    /// those who may not see payloads.
    async fn output(&self, cx: &Context<'_>) -> Result<Option<serde_json::Value>> {
        if !cx.sees_payloads(self.0.namespace_id) {
            return Ok(None);
        }
        let tasks = run_tasks(cx, &self.0).await?;
        let merged = merged_results(tasks.iter().map(RunTask::result));
        Ok(merged.map(|merged| secrets::masked_json(&merged)))
    }

    /// The tasks of its workflow, in the order in which they are declared: at most 100.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn tasks(&self, cx: &Context<'_>) -> Result<Vec<RunTask>> {
        run_tasks(cx, &self.0).await
    }

    async fn is_recovery(&self) -> bool {
        self.0.is_recovery
    }

    /// The same over all attempts, for the receiver.
    async fn idempotency_key(&self) -> &str {
        &self.0.idempotency_key
    }

    /// The run that this one does again.
    async fn retry_of(&self) -> Option<Uuid> {
        self.0.retry_of
    }

    /// The concurrency group whose limit it counts in.
    async fn group(&self, cx: &Context<'_>) -> Result<Option<String>> {
        group_name(cx, self.0.group_id).await
    }

    /// Of the runs that wait, those of a higher priority are taken first.
    async fn priority(&self) -> i32 {
        self.0.priority.into()
    }

    /// The tags that the node must have that takes it.
    async fn runs_on(&self) -> &[String] {
        self.0.runs_on.as_ref().map_or(&[], |tags| &tags.0)
    }

    /// Why it waits although it could start; null for one that does not wait, waits for its time
    /// or is taken in a moment. `waitsFor` says all of it.
    #[graphql(complexity = "3")]
    async fn stuck(&self, cx: &Context<'_>) -> Result<Option<String>> {
        let waits = waits_for(cx, &self.0).await?;
        Ok(waits.into_iter().find(RunWait::is_stuck).map(RunWait::into_text))
    }

    /// What it waits for: its time, a node, its group, a share or places of the node that answers;
    /// nothing for one that is at work, has settled or is taken in a moment.
    #[graphql(complexity = "3 + 3 * child_complexity")]
    async fn waits_for(&self, cx: &Context<'_>) -> Result<Vec<RunWait>> {
        waits_for(cx, &self.0).await
    }

    /// The backfill that it belongs to.
    async fn backfill(&self, cx: &Context<'_>) -> Result<Option<Backfill>> {
        Backfill::of_run(cx, self.0.backfill_id).await
    }

    /// How the last attempt ended; null while the run is live, and where its target has neither.
    async fn ending(&self, cx: &Context<'_>) -> Result<Option<Ending>> {
        if self.0.state.is_live() {
            return Ok(None);
        }
        Ok(cx.rows().load_one(EndingOf(self.0.id)).await?.and_then(Ending::of))
    }

    /// How it compares with what is usual; null unless it has started and goes on, and where fewer
    /// than 5 runs of its schedule have succeeded in the last 30 days.
    #[graphql(complexity = "run_forecast::COST + child_complexity")]
    async fn forecast(&self, cx: &Context<'_>) -> Result<Option<RunForecast>> {
        RunForecast::of(cx, &self.0).await
    }

    /// How many attempts at its tasks there are in all.
    async fn task_run_count(&self, cx: &Context<'_>) -> Result<Long> {
        Ok(cx.rows().load_one(TaskRunCount(self.0.id)).await?.unwrap_or_default().into())
    }

    /// The first attempts at its tasks, in order: 50 unless told otherwise, at most 1000, of
    /// `taskRunCount`. A task's own are all in `tasks`.
    #[graphql(complexity = "cost_by(first, 1_000, child_complexity)")]
    async fn task_runs(
        &self,
        cx: &Context<'_>,
        #[graphql(default = 50)] first: i32,
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
    /// Of a program that ended by itself.
    exit_code: Option<i32>,
    /// Of a program that was killed: `SIGKILL`.
    signal: Option<String>,
    /// Of the answer to a request.
    http_status: Option<i32>,
}

impl Ending {
    fn of(row: batches::Ending) -> Option<Self> {
        let number = |text: Option<String>| text.and_then(|text| text.parse().ok());
        let ending = Self {
            exit_code: number(row.exit_code),
            signal: row.signal.filter(|signal| signal.starts_with("SIG")),
            http_status: number(row.status),
        };
        (ending != Self { exit_code: None, signal: None, http_status: None }).then_some(ending)
    }
}

async fn node_name(cx: &Context<'_>, id: Option<Uuid>) -> Result<Option<String>> {
    let Some(id) = id else { return Ok(None) };
    Ok(cx.rows().load_one(NodeRow(id)).await?.map(|node| node.name))
}

/// Where a run stands.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "run::State")]
pub(crate) enum RunState {
    /// Waits for a node with room.
    Queued,
    /// A node works on it.
    Running,
    /// An attempt failed; waits for the next.
    Retrying,
    /// Done.
    Succeeded,
    /// All attempts failed.
    Failed,
    /// The last attempt took too long.
    TimedOut,
    /// Stopped on request or by the overlap policy.
    Cancelled,
}

/// What started a run.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "run::Trigger")]
pub(crate) enum RunTrigger {
    /// A fire.
    Schedule,
    /// A person or a tool.
    Manual,
    /// Somebody had a settled run done again.
    Retry,
    /// A backfill.
    Backfill,
}

/// Who asked to stop a run, and why.
#[derive(SimpleObject)]
pub(crate) struct Cancel {
    by: String,
    reason: Option<String>,
    at: Instant,
}

/// One attempt at one task of a run.
pub(crate) struct TaskRun(task_run::Model);

impl TaskRun {
    /// Without its output, and with its error masked, for those who may not see payloads.
    pub(crate) fn shown(mut row: task_run::Model, with_payload: bool) -> Self {
        if !with_payload {
            row.output = None;
            row.error = row.error.map(|_| MASK.to_owned());
        }
        Self(row)
    }
}

/// One attempt at one task of a run.
#[Object]
impl TaskRun {
    async fn id(&self) -> ID {
        ID(format!("{}.{}.{}", self.0.run_id.simple(), self.0.task, self.0.attempt))
    }

    async fn task(&self) -> &str {
        &self.0.task
    }

    async fn attempt(&self) -> i32 {
        self.0.attempt
    }

    async fn state(&self) -> TaskRunState {
        self.0.state.into()
    }

    async fn started_at(&self) -> Instant {
        self.0.started_at.into()
    }

    async fn finished_at(&self) -> Option<Instant> {
        self.0.finished_at.map(Into::into)
    }

    async fn duration_ms(&self) -> Option<Long> {
        self.0.finished_at.map(|finished| (finished.0 - self.0.started_at.0).into())
    }

    async fn node(&self, cx: &Context<'_>) -> Result<Option<String>> {
        node_name(cx, Some(self.0.node_id)).await
    }

    /// Why it ended badly; masked for those who may not see payloads.
    async fn error(&self) -> Option<&str> {
        self.0.error.as_deref()
    }

    /// What the target gave back; null for those who may not see payloads.
    async fn output(&self) -> Option<serde_json::Value> {
        self.0.output.as_ref().map(secrets::masked_json)
    }
}

/// Where an attempt stands.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "task_run::State")]
pub(crate) enum TaskRunState {
    /// At work.
    Running,
    /// Done.
    Succeeded,
    /// Ended badly.
    Failed,
    /// Took too long.
    TimedOut,
    /// Stopped on request or by the overlap policy.
    Cancelled,
    /// The node that ran it died.
    Lost,
    /// Its turn never came: the tasks that it needs did not end as it asks for.
    Skipped,
}

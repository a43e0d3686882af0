use async_graphql::{Context, Enum, SimpleObject};
use entity::{run, task_run};
use serde_json::{Map, Value};

use super::{
    context::ContextExt,
    error::Result,
    loaders::TaskRuns,
    page::DECLARED,
    task_run::TaskRun,
    workflow::{TaskCondition, definition},
};
use crate::{
    commands::secrets,
    engine::{self, ShownTaskState},
    target::result_of,
};

/// A task of a run: its state and its attempts.
#[derive(SimpleObject)]
pub(crate) struct RunTask {
    name: String,
    /// The tasks that must have ended before this one starts.
    needs: Vec<String>,
    /// How the tasks in `needs` must have ended; otherwise this task is skipped.
    when: TaskCondition,
    /// The state of the task in this run.
    state: RunTaskState,
    /// The task's attempts, in order: as many as its retry policy allows, at most 100, plus those
    /// that recovery took over.
    #[graphql(complexity = "DECLARED * child_complexity")]
    attempts: Vec<TaskRun>,
    /// The output that the task returned to the run. Values whose names suggest secrets are masked.
    /// Null for callers who may not see payloads.
    output: Option<Value>,
    /// Whether this task's success was taken over from the run that this run repeats.
    kept: bool,
    #[graphql(skip)]
    result: Option<Map<String, Value>>,
}

impl RunTask {
    /// The output that it returned.
    pub(crate) fn result(&self) -> Option<&Map<String, Value>> {
        self.result.as_ref()
    }
}

/// The state of a task of a run.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "ShownTaskState")]
pub(crate) enum RunTaskState {
    /// The task's turn has not come yet.
    Waiting,
    /// The task is running.
    Running,
    /// An attempt failed; the task waits for the next one.
    Retrying,
    /// The task succeeded.
    Succeeded,
    /// The task failed for good.
    Failed,
    /// The task's last attempt took too long.
    TimedOut,
    /// The task was stopped on request or by the overlap policy.
    Cancelled,
    /// The tasks that it needs did not end as `when` requires.
    Skipped,
    /// The run ended before it was this task's turn.
    NotRun,
}

/// The tasks of a run, in the order of its workflow.
pub(super) async fn run_tasks(cx: &Context<'_>, run: &run::Model) -> Result<Vec<RunTask>> {
    let definition = definition(cx, run.workflow_id, run.workflow_version).await?;
    let mut rows = cx.rows().load_one(TaskRuns(run.id)).await?.unwrap_or_default();
    rows.sort_by_key(|row| row.attempt);
    let shown = cx.sees_payloads(run.namespace_id);
    let task = |task: crate::model::Task| {
        let (own, others) = rows.drain(..).partition(|row| row.task == task.name);
        rows = others;
        run_task(run, task, own, shown)
    };
    Ok(definition.tasks.into_iter().map(task).collect())
}

fn run_task(
    run: &run::Model,
    task: crate::model::Task,
    rows: Vec<task_run::Model>,
    with_payload: bool,
) -> RunTask {
    let last = rows.last();
    let succeeded = last.filter(|row| row.state == task_run::State::Succeeded);
    let output = succeeded.and_then(|row| row.output.as_ref());
    let result = output.filter(|_| with_payload).and_then(result_of).cloned();
    let kept = succeeded.is_some_and(|row| row.started_at < run.created_at);
    let state = engine::shown(&task, run.id, run.state, &rows);
    RunTask {
        name: task.name,
        needs: task.needs,
        when: task.when.into(),
        state: state.into(),
        output: result.clone().map(|result| secrets::masked_json(&Value::Object(result))),
        kept,
        result,
        attempts: rows.into_iter().map(|row| TaskRun::shown(row, with_payload)).collect(),
    }
}

use async_graphql::{Context, Enum, ID, Object};
use entity::task_run;

use super::{
    error::Result,
    node::node_name,
    scalar::{Instant, Long},
};
use crate::{commands::secrets, vault::MASK};

/// One attempt at one task of a run.
pub(crate) struct TaskRun(task_run::Model);

impl TaskRun {
    /// Without its output, and with its error masked, for callers who may not see payloads.
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

    /// The name of the task.
    async fn task(&self) -> &str {
        &self.0.task
    }

    /// The number of the attempt among those at this task, from 1.
    async fn attempt(&self) -> i32 {
        self.0.attempt
    }

    /// Whether the attempt is running, or how it ended.
    async fn state(&self) -> TaskRunState {
        self.0.state.into()
    }

    async fn started_at(&self) -> Instant {
        self.0.started_at.into()
    }

    async fn finished_at(&self) -> Option<Instant> {
        self.0.finished_at.map(Into::into)
    }

    /// Time from start to end; null before the end.
    async fn duration_ms(&self) -> Option<Long> {
        self.0.finished_at.map(|finished| (finished.0 - self.0.started_at.0).into())
    }

    /// The name of the node that made the attempt.
    async fn node(&self, cx: &Context<'_>) -> Result<Option<String>> {
        node_name(cx, Some(self.0.node_id)).await
    }

    /// Why the attempt failed; masked for callers who may not see payloads.
    async fn error(&self) -> Option<&str> {
        self.0.error.as_deref()
    }

    /// The target's output; null for callers who may not see payloads.
    async fn output(&self) -> Option<serde_json::Value> {
        self.0.output.as_ref().map(secrets::masked_json)
    }
}

/// The state of an attempt.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "task_run::State")]
pub(crate) enum TaskRunState {
    /// The attempt is running.
    Running,
    /// The attempt succeeded.
    Succeeded,
    /// The attempt failed.
    Failed,
    /// The attempt timed out.
    TimedOut,
    /// The attempt was stopped on request or by the overlap policy.
    Cancelled,
    /// The node that ran the attempt died.
    Lost,
    /// The task never started: the tasks that it needs did not end as `when` requires.
    Skipped,
}

use async_graphql::{Context, Enum, Object, SimpleObject};
use entity::workflow;
use uuid::Uuid;

use super::{
    context::Ask,
    error::Result,
    loaders::{NamespaceName, WorkflowRow, WorkflowVersion},
    target::Target,
};
use crate::engine::{self, Definition, commands::CommandError};

/// What to do: named, versioned tasks.
pub(crate) struct Workflow {
    row: workflow::Model,
    version: i32,
}

impl Workflow {
    /// As it is now.
    pub(crate) fn current(row: workflow::Model) -> Self {
        Self { version: row.version, row }
    }

    /// The workflow of that key: as it is now, or as it was in a version.
    pub(crate) async fn load(cx: &Context<'_>, id: Uuid, version: Option<i32>) -> Result<Self> {
        let row = cx.rows().load_one(WorkflowRow(id)).await?;
        let row = row.ok_or_else(|| CommandError::not_found("workflow", id))?;
        Ok(Self { version: version.unwrap_or(row.version), row })
    }
}

/// What to do: named, versioned tasks.
#[Object]
impl Workflow {
    async fn id(&self) -> Uuid {
        self.row.id
    }

    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.row.namespace_id)).await?.unwrap_or_default())
    }

    async fn name(&self) -> &str {
        &self.row.name
    }

    async fn version(&self) -> i32 {
        self.version
    }

    async fn tasks(&self, cx: &Context<'_>) -> Result<Vec<Task>> {
        let key = WorkflowVersion(self.row.id, self.version);
        let json = cx.rows().load_one(key).await?.unwrap_or_default();
        let definition: Definition = serde_json::from_value(json).map_err(|source| {
            let what = format!("workflow {} version {}", self.row.name, self.version);
            CommandError::Unreadable { what, source }
        })?;
        Ok(definition.tasks.iter().map(Task::from).collect())
    }

    /// The module file that declares it, if one does.
    async fn module(&self) -> Option<&str> {
        self.row.module.as_deref()
    }
}

/// One step of a workflow.
#[derive(SimpleObject)]
pub(crate) struct Task {
    name: String,
    target: Target,
    timeout_seconds: f64,
    kill_grace_seconds: f64,
    retry: Retry,
}

/// When a failed attempt is followed by another.
#[derive(SimpleObject)]
pub(crate) struct Retry {
    max_attempts: i32,
    backoff: Backoff,
    initial_seconds: f64,
    max_seconds: f64,
    /// Share of the delay that is random, 0 to 1.
    jitter: f64,
}

/// How the delay grows from one attempt to the next.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "timetable::retry::Backoff")]
pub(crate) enum Backoff {
    /// Not at all.
    Fixed,
    /// It doubles.
    Exponential,
}

impl From<&engine::Task> for Task {
    fn from(task: &engine::Task) -> Self {
        let retry = &task.retry;
        Self {
            name: task.name.clone(),
            target: Target::from(&task.target),
            timeout_seconds: seconds(task.timeout_ms),
            kill_grace_seconds: seconds(task.kill_grace_ms),
            retry: Retry {
                max_attempts: retry.max_attempts,
                backoff: retry.backoff.into(),
                initial_seconds: seconds(retry.initial_ms),
                max_seconds: seconds(retry.max_ms),
                jitter: retry.jitter,
            },
        }
    }
}

fn seconds(ms: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "durations are far below 2^53 ms")]
    let ms = ms as f64;
    ms / 1_000.0
}

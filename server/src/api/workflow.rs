//! A workflow as the API shows it.

use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use entity::{workflow, workflow_version};
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    loaders::{NamespaceName, WorkflowRow, WorkflowVersion},
    page::{Connection, DECLARED, Paging, connection, cost},
    scalar::Instant,
    target::Target,
};
use crate::{
    commands::{CommandError, UnsetSecret, modules::file::write_workflow, stored, unset_secrets},
    model::Definition,
    store::workflows,
};

/// The cost of writing a definition as text, and of reading it back.
const WRITTEN: usize = 100;

/// What to do: named, versioned tasks.
pub(crate) struct Workflow {
    row: workflow::Model,
    version: i32,
}

impl Workflow {
    /// The workflow in its current version.
    pub(crate) fn current(row: workflow::Model) -> Self {
        Self { version: row.version, row }
    }

    /// The workflow with this id: its current version, or the given one.
    pub(crate) async fn load(cx: &Context<'_>, id: Uuid, version: Option<i32>) -> Result<Self> {
        let row = cx.rows().load_one(WorkflowRow(id)).await?;
        let row = row.filter(|row| cx.is_home(row.namespace_id));
        let row = row.ok_or_else(|| CommandError::not_found("workflow", id))?;
        Ok(Self { version: version.unwrap_or(row.version), row })
    }

    /// The secrets that its tasks use but that are not set.
    pub(crate) async fn unset_secrets(&self, cx: &Context<'_>) -> Result<Vec<UnsetSecret>> {
        let definition = definition(cx, self.row.id, self.version).await?;
        let (read, namespace) = (cx.store().read(), self.row.namespace_id);
        Ok(unset_secrets(read, namespace, &definition).await?)
    }
}

/// What to do: named, versioned tasks.
#[Object]
impl Workflow {
    pub(crate) async fn id(&self) -> ID {
        self.row.id.into()
    }

    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.row.namespace_id)).await?.unwrap_or_default())
    }

    async fn name(&self) -> &str {
        &self.row.name
    }

    /// The number of the current version, from 1.
    async fn version(&self) -> i32 {
        self.version
    }

    /// The tasks, in the order of the definition; at most 100.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn tasks(&self, cx: &Context<'_>) -> Result<Vec<Task>> {
        let definition = definition(cx, self.row.id, self.version).await?;
        Ok(definition.tasks.iter().map(Task::from).collect())
    }

    /// How long the whole run may take, in seconds.
    async fn timeout_seconds(&self, cx: &Context<'_>) -> Result<Option<f64>> {
        let definition = definition(cx, self.row.id, self.version).await?;
        Ok(definition.timeout_ms.map(seconds))
    }

    /// Maximum number of tasks of one run in progress at once.
    async fn max_parallel(&self, cx: &Context<'_>) -> Result<i64> {
        Ok(definition(cx, self.row.id, self.version).await?.max_parallel)
    }

    /// The tags that a node must have to take a run.
    async fn runs_on(&self, cx: &Context<'_>) -> Result<Vec<String>> {
        Ok(definition(cx, self.row.id, self.version).await?.runs_on)
    }

    /// The definition as it stands under `workflows:` of a module's file, with secrets masked;
    /// `readWorkflow` reads it. Null if it is larger than such a file may be.
    #[graphql(complexity = "WRITTEN")]
    async fn yaml(&self, cx: &Context<'_>) -> Result<Option<String>> {
        let definition = definition(cx, self.row.id, self.version).await?;
        Ok(write_workflow(&self.row.name, &definition))
    }

    /// The workflow's definitions, newest first. A run keeps the definition that it began with.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn versions(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
        #[graphql(desc = "Only the version with this number and earlier ones.")] up_to: Option<i32>,
    ) -> Result<Connection<PastWorkflow>> {
        let window = Paging::forward(first, after).window(|text| text.parse().ok())?;
        let page = workflows::history(cx.store().read(), self.row.id, up_to, &window).await?;
        let past = |row| PastWorkflow { row, name: self.row.name.clone() };
        Ok(connection(page, |row| row.version.to_string(), past))
    }

    async fn created_at(&self) -> Instant {
        self.row.created_at.into()
    }

    /// When the current version was created.
    async fn updated_at(&self) -> Instant {
        self.row.updated_at.into()
    }

    /// When the workflow was deleted; null unless it is reached from a run that it had before.
    async fn deleted_at(&self) -> Option<Instant> {
        self.row.deleted_at.map(Into::into)
    }

    /// The module file that declares the workflow, if one does.
    async fn module(&self) -> Option<&str> {
        self.row.module.as_deref()
    }
}

/// The definition of a version.
pub(crate) async fn definition(cx: &Context<'_>, id: Uuid, version: i32) -> Result<Definition> {
    let json = cx.rows().load_one(WorkflowVersion(id, version)).await?.unwrap_or_default();
    Ok(read(id, version, json)?)
}

fn read(
    id: Uuid,
    version: i32,
    json: serde_json::Value,
) -> std::result::Result<Definition, CommandError> {
    stored::read(json, || format!("workflow {id} version {version}"))
}

/// A version of a workflow's definition.
pub(crate) struct PastWorkflow {
    row: workflow_version::Model,
    /// The workflow's.
    name: String,
}

impl PastWorkflow {
    fn definition(&self) -> Result<Definition> {
        let row = &self.row;
        Ok(read(row.workflow_id, row.version, row.definition.clone())?)
    }
}

/// A version of a workflow's definition.
#[Object(name = "WorkflowVersion")]
impl PastWorkflow {
    /// The number of the version, from 1.
    async fn version(&self) -> i32 {
        self.row.version
    }

    /// The user or token that created this version.
    async fn by(&self) -> &str {
        &self.row.created_by
    }

    /// When it was created.
    async fn at(&self) -> Instant {
        self.row.created_at.into()
    }

    /// The tasks, in the order of the definition; at most 100.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn tasks(&self) -> Result<Vec<Task>> {
        Ok(self.definition()?.tasks.iter().map(Task::from).collect())
    }

    /// Like the workflow's `yaml`, with the workflow's current name.
    #[graphql(complexity = "WRITTEN")]
    async fn yaml(&self) -> Result<Option<String>> {
        Ok(write_workflow(&self.name, &self.definition()?))
    }
}

/// One step of a workflow.
#[derive(SimpleObject)]
pub(crate) struct Task {
    /// Unique in the workflow.
    name: String,
    /// The tasks that must have ended before this one starts.
    needs: Vec<String>,
    /// How the tasks in `needs` must have ended; otherwise this task is skipped.
    when: TaskCondition,
    /// Whether the run may succeed although this task failed.
    allow_failure: bool,
    /// What the task does.
    target: Target,
    /// How long an attempt may take before it is asked to stop.
    timeout_seconds: f64,
    /// How long stopping may take before the attempt is ended by force.
    kill_grace_seconds: f64,
    /// When a failed attempt is retried.
    retry: Retry,
    /// Only these failures are retried; all failures if empty.
    retry_on: Vec<String>,
}

/// How the tasks that a task needs must have ended for it to start.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "crate::model::When")]
pub(crate) enum TaskCondition {
    /// All tasks that it needs have succeeded.
    Success,
    /// One of the tasks that it needs failed, or was skipped because a task before it failed.
    Failure,
    /// All tasks that it needs have ended, with any outcome.
    Always,
}

/// When a failed attempt is retried.
#[derive(SimpleObject)]
pub(crate) struct Retry {
    /// The number of attempts, the first one included.
    max_attempts: i32,
    /// How the delay grows between attempts.
    backoff: Backoff,
    /// The delay before the second attempt.
    initial_seconds: f64,
    /// The longest delay.
    max_seconds: f64,
    /// Share of the delay that is random, 0 to 1.
    jitter: f64,
}

/// How the delay grows between attempts.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "timetable::retry::Backoff")]
pub(crate) enum Backoff {
    /// The delay is the same after each attempt.
    Fixed,
    /// The delay doubles after each attempt.
    Exponential,
}

impl From<&crate::model::Task> for Task {
    fn from(task: &crate::model::Task) -> Self {
        let retry = &task.retry;
        Self {
            name: task.name.clone(),
            needs: task.needs.clone(),
            when: task.when.into(),
            allow_failure: task.allow_failure,
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
            retry_on: task.retry_on.iter().map(ToString::to_string).collect(),
        }
    }
}

pub(super) fn seconds(ms: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "durations are far below 2^53 ms")]
    let ms = ms as f64;
    ms / 1_000.0
}

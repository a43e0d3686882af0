//! Tries a target once, without a schedule or a run.
//!
//! A test call does the same as an attempt: secrets are decrypted, templates are rendered, and the
//! request passes the same guard. So it may have the same effects, and needs the same permission as
//! saving the target. Nothing is stored except its entry in the audit log, which is written before
//! the call begins.

use std::{collections::BTreeMap, time::Duration};

use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    BadInput, Call, CommandError, Commands, audit::AuditEntry, secrets, workflows::DefinitionPlace,
};
use crate::{
    access::Editor,
    model::{Definition, Task, check},
    random::new_id,
    store::{schedules, workflows as rows},
    target::{AttemptOutcome, Invocation, Line, Target, TemplateNames},
    vault::{Mask, SecretNamespace, VaultError},
};

/// Maximum number of concurrent test calls on a node.
pub(super) const AT_ONCE: usize = 8;
/// Maximum number of concurrent test calls of one namespace on a node.
pub(super) const OF_A_NAMESPACE: usize = 2;
/// Maximum duration of a test call, because its caller waits for the answer.
const MAX_SECONDS: f64 = 20.0;
/// Maximum number of lines to keep. Later lines are dropped.
const MAX_LINES: usize = 200;

/// A target to try.
#[derive(Clone, Debug)]
pub struct TestCall {
    /// The name of the namespace whose secrets it may use.
    pub namespace: String,
    /// The target, and its timeout.
    pub task: Task,
    /// The value of `context` in templates.
    pub context: Option<Value>,
    /// The schedule being edited, if any: masks stand for the secrets of its task.
    pub schedule_id: Option<Uuid>,
}

/// The result of a test call.
#[derive(Debug)]
pub struct TestCalled {
    /// The outcome, with secrets masked.
    pub outcome: AttemptOutcome,
    /// How long the call took.
    pub took: Duration,
    /// The lines that the target wrote, with secrets masked.
    pub lines: Vec<Line>,
}

impl Commands {
    /// Carries out a target once, on this node.
    pub async fn test_call(
        &self,
        right: &Editor,
        order: TestCall,
        call: &Call,
    ) -> Result<TestCalled, CommandError> {
        let TestCall { namespace: name, task, context, schedule_id } = order;
        let context = context.unwrap_or_else(|| json!({}));
        check::context("context", &context)?;
        let limit = Duration::from_secs_f64(MAX_SECONDS);
        if task.timeout().is_zero() || task.timeout() > limit {
            let (field, value) = ("task.timeoutSeconds", task.timeout().as_secs_f64());
            let help = format!("give more than 0 and at most {MAX_SECONDS}");
            return Err(BadInput::new(
                field,
                value,
                "is not a valid time limit for a test call",
                help,
            )
            .into());
        }
        let connection = self.store.read();
        let namespace = self.namespace(connection, right.permit(), &name).await?;
        right.permit().over(namespace, "namespace", &name)?;
        let old = self.edited(right, namespace, schedule_id).await?;
        let mut definition = Definition::single(task);
        let at = DefinitionPlace::Task("task");
        let judgement = self.judge(namespace, &definition, old.as_ref()).await?;
        judgement.pass(at, &mut definition, old.as_ref())?;
        self.check_namespace(connection, namespace, at, &definition).await?;
        let Some(task) = definition.tasks.pop() else {
            return Err(BadInput::new("task.target", "", "is missing", "give one").into());
        };
        let place = self.test_calls.try_enter(namespace).ok_or(CommandError::TooOften(1))?;
        self.note_test_call(right, namespace, &name, &task.target, call).await?;
        let called = self.try_out(namespace, &name, &task, context).await;
        drop(place);
        called
    }

    /// The definition of the schedule being edited.
    async fn edited(
        &self,
        right: &Editor,
        namespace: Uuid,
        schedule: Option<Uuid>,
    ) -> Result<Option<Definition>, CommandError> {
        let Some(id) = schedule else { return Ok(None) };
        let connection = self.store.read();
        let row = schedules::by_id(connection, id).await?.filter(|row| row.deleted_at.is_none());
        let row = row.filter(|row| row.namespace_id == namespace);
        let row = row.ok_or_else(|| CommandError::not_found("schedule", id))?;
        right.permit().over(row.namespace_id, "schedule", id)?;
        let workflow = rows::by_ids(connection, &[row.workflow_id]).await?.pop();
        match workflow {
            Some(workflow) => Ok(Some(self.definition_of(connection, &workflow).await?)),
            None => Ok(None),
        }
    }

    /// Audits the test call before it begins. A call that is repeated with the same key is refused,
    /// because the first answer is not stored.
    async fn note_test_call(
        &self,
        right: &Editor,
        namespace: Uuid,
        name: &str,
        target: &Target,
        call: &Call,
    ) -> Result<(), CommandError> {
        let tx = self.store.begin().await?;
        if self.recall::<bool>(&tx, right.who(), call).await?.is_some() {
            let problem = "this call was already made, and its answer was not kept";
            return Err(CommandError::conflict(problem, "give another key to call again"));
        }
        let shown = serde_json::to_value(secrets::masked(target)).unwrap_or_default();
        let entry = AuditEntry {
            action: "target.test",
            namespace: Some(namespace),
            subject: name,
            after: Some(json!({ "target": shown })),
            ..AuditEntry::default()
        };
        self.audit(&tx, right.who(), entry).await?;
        self.remember(&tx, right.who(), call, &true).await?;
        Ok(self.store.commit(tx).await?)
    }

    async fn try_out(
        &self,
        namespace: Uuid,
        name: &str,
        task: &Task,
        context: Value,
    ) -> Result<TestCalled, CommandError> {
        let began = self.clock.instant();
        let failed = |message: String| TestCalled {
            outcome: AttemptOutcome::Failed { message, output: Value::Null },
            took: self.clock.instant().duration_since(began),
            lines: vec![],
        };
        let opened = match self.test_secrets(namespace, task).await {
            Ok(opened) => opened,
            Err(message) => return Ok(failed(message)),
        };
        let now = self.clock.now();
        let id = new_id(now);
        let invocation = Invocation {
            run_id: id,
            attempt: 1,
            task: task.name.clone(),
            namespace: name.to_owned(),
            namespace_id: namespace,
            priority: 0,
            schedule: None,
            schedule_id: None,
            schedule_version: None,
            scheduled_at: Some(now),
            idempotency_key: format!("test-{}", id.simple()),
            traceparent: None,
            context,
            timeout: task.timeout(),
            kill_grace: Duration::from_secs(1).min(task.kill_grace()),
        };
        let names = TemplateNames {
            invocation: &invocation,
            scheduled_at: now,
            previous_fire: None,
            tasks: &json!({}),
            secrets: &opened,
        };
        let target = match self.executor.fill_in(&task.target, &names).await {
            Ok(target) => target,
            // Template errors contain no values, so they need no masking.
            Err(error) => return Ok(failed(error.to_string())),
        };
        let mask = Mask::of(opened.values());
        let (lines, written) = mpsc::channel(MAX_LINES);
        let stop = CancellationToken::new();
        let work = self.executor.execute(&target, &invocation, lines, stop);
        let (outcome, lines) = tokio::join!(work, kept(written, &mask));
        let took = self.clock.instant().duration_since(began);
        Ok(TestCalled { outcome: mask.outcome(outcome), took, lines })
    }

    /// The secrets that the target names, or why one of them is unavailable.
    async fn test_secrets(
        &self,
        namespace: Uuid,
        task: &Task,
    ) -> Result<BTreeMap<String, SecretString>, String> {
        let names = task.target.secret_names();
        let whose = SecretNamespace::Namespace(namespace);
        let opening = self.vault.opened(&self.store, &self.clock, whose, &names);
        match self.clock.timeout(task.timeout(), opening).await {
            Ok(Ok(opened)) => Ok(opened),
            Ok(Err(error @ VaultError::Store(_))) => Err(format!("failed to {error}")),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("failed to read its secrets in time".to_owned()),
        }
    }
}

/// The first lines, masked. Later lines are read and dropped, so that the target is never blocked.
async fn kept(mut written: mpsc::Receiver<Line>, mask: &Mask) -> Vec<Line> {
    let mut lines = Vec::new();
    while let Some(line) = written.recv().await {
        if lines.len() < MAX_LINES {
            let is_cut = line.left_out > 0;
            lines.push(Line { text: mask.text(line.text, is_cut), ..line });
        }
    }
    lines
}

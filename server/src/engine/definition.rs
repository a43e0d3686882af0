//! What a workflow's version says: its tasks, and how each is carried out.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use sea_orm::ConnectionTrait;
use serde::{Deserialize, Serialize};
use timetable::retry;
use uuid::Uuid;

use super::EngineError;
use crate::{store::Store, target::Target};

/// The tasks of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Exactly one for now.
    pub tasks: Vec<Task>,
}

/// One step of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Unique within the workflow.
    pub name: String,
    /// How it acts.
    pub target: Target,
    /// After so many milliseconds it is asked to stop: 1 to 7 days.
    pub timeout_ms: i64,
    /// And so many later it is killed: up to 1 hour.
    pub kill_grace_ms: i64,
    /// When a failed attempt is followed by another.
    pub retry: retry::Policy,
}

/// A definition that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: '{value}' {problem}; {help}")]
pub struct Problem {
    /// Where, from the definition down.
    pub field: String,
    /// As given.
    pub value: String,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub help: String,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl Definition {
    /// A workflow of one task.
    pub fn single(task: Task) -> Self {
        Self { tasks: vec![task] }
    }

    /// Checks all limits but those of the target, which the executor knows.
    pub fn validate(&self) -> Result<(), Problem> {
        let [task] = self.tasks.as_slice() else {
            return Err(Problem {
                field: "tasks".to_owned(),
                value: self.tasks.len().to_string(),
                problem: "tasks given".to_owned(),
                help: "give exactly one".to_owned(),
            });
        };
        task.validate("tasks[0]")
    }

    /// The task that a run starts with. A definition that was saved has one.
    pub fn first_task(&self) -> Option<&Task> {
        self.tasks.first()
    }
}

impl Task {
    fn validate(&self, at: &str) -> Result<(), Problem> {
        let name_is_fine = (1..=64).contains(&self.name.len())
            && self.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if !name_is_fine {
            return Err(Problem {
                field: format!("{at}.name"),
                value: self.name.chars().take(64).collect(),
                problem: "is not a task's name".to_owned(),
                help: "use 1 to 64 letters, digits, '.', '_' or '-'".to_owned(),
            });
        }
        let policy = &self.retry;
        within(at, "timeout_ms", self.timeout_ms, 1, 7 * DAY_MS)?;
        within(at, "kill_grace_ms", self.kill_grace_ms, 0, DAY_MS / 24)?;
        within(at, "retry.max_attempts", policy.max_attempts.into(), 1, 100)?;
        within(at, "retry.initial_ms", policy.initial_ms, 0, DAY_MS)?;
        within(at, "retry.max_ms", policy.max_ms, policy.initial_ms, DAY_MS)?;
        if !(0.0..=1.0).contains(&policy.jitter) {
            return Err(Problem {
                field: format!("{at}.retry.jitter"),
                value: policy.jitter.to_string(),
                problem: "is not a share".to_owned(),
                help: "give a number from 0 to 1".to_owned(),
            });
        }
        Ok(())
    }

    /// When the task is asked to stop.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.unsigned_abs())
    }

    /// How long it may take to stop.
    pub fn kill_grace(&self) -> Duration {
        Duration::from_millis(self.kill_grace_ms.unsigned_abs())
    }
}

fn within(at: &str, field: &str, value: i64, low: i64, high: i64) -> Result<(), Problem> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Problem {
        field: format!("{at}.{field}"),
        value: value.to_string(),
        problem: "is out of range".to_owned(),
        help: format!("give {low} to {high}"),
    })
}

/// The definitions that runs on this node use. A version never changes, so what was read once
/// stays true.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    known: Mutex<HashMap<(Uuid, i32), Arc<Definition>>>,
}

/// So many are kept; then all are forgotten, which costs a few reads.
const KEPT: usize = 10_000;

impl Definitions {
    /// The task that runs of a workflow's version carry out, or why it cannot be used. That is
    /// the misfortune of those runs alone; an error of the store is everybody's.
    pub(super) async fn task(
        &self,
        store: &Store,
        connection: &impl ConnectionTrait,
        (workflow_id, version): (Uuid, i32),
    ) -> Result<Result<Task, EngineError>, EngineError> {
        let missing = || EngineError::NoDefinition { workflow_id, version };
        match self.get(store, connection, workflow_id, version).await {
            Ok(definition) => Ok(definition.first_task().cloned().ok_or_else(missing)),
            Err(error @ (EngineError::Store(_) | EngineError::Defect)) => Err(error),
            Err(
                error @ (EngineError::NoDefinition { .. } | EngineError::BrokenDefinition { .. }),
            ) => Ok(Err(error)),
        }
    }

    async fn get(
        &self,
        store: &Store,
        connection: &impl ConnectionTrait,
        workflow_id: Uuid,
        version: i32,
    ) -> Result<Arc<Definition>, EngineError> {
        let key = (workflow_id, version);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(definition) = known().get(&key) {
            return Ok(definition.clone());
        }
        let missing = || EngineError::NoDefinition { workflow_id, version };
        let json = store.definition(connection, workflow_id, version).await?.ok_or_else(missing)?;
        let definition: Definition = serde_json::from_value(json)
            .map_err(|source| EngineError::BrokenDefinition { workflow_id, version, source })?;
        let definition = Arc::new(definition);
        let mut known = known();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(key, definition.clone());
        Ok(definition)
    }
}

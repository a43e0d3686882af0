//! The definitions that runs on this node use. A version never changes, so what was read once
//! stays true.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use sea_orm::ConnectionTrait;
use uuid::Uuid;

use super::{Definition, DefinitionError, Graph, Task};
use crate::{
    store::{Store, StoreError},
    target::{Target, TemplateUse},
};

/// A definition as a node uses it: what follows from it is worked out once.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) definition: Definition,
    pub(crate) graph: Graph,
    templates: Vec<TemplateUse>,
    secrets: Vec<Vec<String>>,
    origin: Option<Arc<str>>,
}

impl Known {
    /// Nothing, if the definition is one that no command would have saved.
    pub(crate) fn new(definition: Definition) -> Option<Self> {
        let graph = Graph::of(&definition.tasks).ok()?;
        definition.tasks.first()?;
        let of = |task: &Task| Target::template_use(&task.target);
        let named = |task: &Task| Target::secret_names(&task.target);
        Some(Self {
            templates: definition.tasks.iter().map(of).collect(),
            secrets: definition.tasks.iter().map(named).collect(),
            origin: definition.origin().map(Arc::from),
            graph,
            definition,
        })
    }

    /// The task at `index`; the first one for a place that there is not.
    pub(crate) fn task(&self, index: usize) -> &Task {
        &self.definition.tasks[if index < self.definition.tasks.len() { index } else { 0 }]
    }

    /// What has to be filled in before the task at `index` can act.
    pub(crate) fn templates(&self, index: usize) -> TemplateUse {
        self.templates.get(index).copied().unwrap_or(TemplateUse::None)
    }

    /// The secrets that the task at `index` asks for.
    pub(crate) fn secrets(&self, index: usize) -> &[String] {
        self.secrets.get(index).map_or(&[], Vec::as_slice)
    }

    /// Where the first task of it goes, as its runs say in their rows.
    pub(crate) fn origin(&self) -> Option<&Arc<str>> {
        self.origin.as_ref()
    }

    /// Whether a run of it needs a plan.
    pub(crate) fn is_flow(&self) -> bool {
        self.definition.only_task().is_none()
    }

    /// With what a run of it starts on a node: the task whose attempt begins with the hold, if it
    /// is the only one, and after how long any node may take the run for stuck.
    pub(crate) fn start(&self, margin: Duration) -> (Option<String>, Duration) {
        match self.definition.only_task() {
            Some(task) => (Some(task.name.clone()), task.timeout() + task.kill_grace() + margin),
            // Its first step says more.
            None => (None, margin * 2),
        }
    }

    /// After how long any step of a run of it has outlived every limit.
    pub(crate) fn longest(&self, margin: Duration) -> Duration {
        let tasks = self.definition.tasks.iter().map(|task| task.timeout() + task.kill_grace());
        let (_, start) = self.start(margin);
        tasks.max().map_or(start, |longest| start.max(longest + margin))
    }
}

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    known: Mutex<HashMap<(Uuid, i32), Arc<Known>>>,
}

/// So many are kept; then all are forgotten, which costs a few reads.
const KEPT: usize = 10_000;

impl Definitions {
    /// What runs of a workflow's version carry out, or why it cannot be used. That is the
    /// misfortune of those runs alone; an error of the store is everybody's.
    pub(crate) async fn known(
        &self,
        store: &Store,
        connection: &impl ConnectionTrait,
        (workflow_id, version): (Uuid, i32),
    ) -> Result<Result<Arc<Known>, DefinitionError>, StoreError> {
        let key = (workflow_id, version);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&key) {
            return Ok(Ok(found.clone()));
        }
        let missing = DefinitionError::Missing { workflow_id, version };
        let Some(json) = store.definition(connection, workflow_id, version).await? else {
            return Ok(Err(missing));
        };
        let definition: Definition = match serde_json::from_value(json) {
            Ok(definition) => definition,
            Err(source) => {
                return Ok(Err(DefinitionError::Broken { workflow_id, version, source }));
            }
        };
        let Some(found) = Known::new(definition).map(Arc::new) else { return Ok(Err(missing)) };
        let mut known = known();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(key, found.clone());
        Ok(Ok(found))
    }
}

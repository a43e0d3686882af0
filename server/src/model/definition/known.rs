//! The definitions that runs on this node use. A version never changes, so a cached one stays
//! valid.

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
    target::{Origin, Target, TemplateUse},
};

/// A definition in the form that a node uses, with derived values computed once.
#[derive(Debug)]
pub(crate) struct CompiledDefinition {
    pub(crate) definition: Definition,
    pub(crate) graph: Graph,
    templates: Vec<TemplateUse>,
    secrets: Vec<Vec<String>>,
    origin: Option<Origin>,
}

impl CompiledDefinition {
    /// Compiles a definition; `None` if it is invalid, although commands save no invalid ones.
    pub(crate) fn new(definition: Definition) -> Option<Self> {
        let graph = Graph::of(&definition.tasks).ok()?;
        definition.tasks.first()?;
        let of = |task: &Task| Target::template_use(&task.target);
        let named = |task: &Task| Target::secret_names(&task.target);
        Some(Self {
            templates: definition.tasks.iter().map(of).collect(),
            secrets: definition.tasks.iter().map(named).collect(),
            origin: definition.origin(),
            graph,
            definition,
        })
    }

    /// The task at `index`; the first one if the index is out of range.
    pub(crate) fn task(&self, index: usize) -> &Task {
        &self.definition.tasks[if index < self.definition.tasks.len() { index } else { 0 }]
    }

    /// How much must be rendered before the task at `index` can be carried out.
    pub(crate) fn templates(&self, index: usize) -> TemplateUse {
        self.templates.get(index).copied().unwrap_or(TemplateUse::None)
    }

    /// The secrets that the task at `index` uses.
    pub(crate) fn secrets(&self, index: usize) -> &[String] {
        self.secrets.get(index).map_or(&[], Vec::as_slice)
    }

    /// The origin of the first task, as stored in the rows of runs in that namespace.
    pub(crate) fn origin(&self, namespace: Uuid) -> Option<Arc<str>> {
        self.origin.as_ref().map(|origin| origin.within(namespace))
    }

    /// Whether runs of this definition need a plan.
    pub(crate) fn is_flow(&self) -> bool {
        self.definition.only_task().is_none()
    }

    /// How a run of this definition starts on a node. Returns the task whose attempt begins
    /// together with the hold, if the definition has a single task, and the time after which any
    /// node may treat the run as stuck.
    pub(crate) fn start(&self, margin: Duration) -> (Option<String>, Duration) {
        match self.definition.only_task() {
            Some(task) => (Some(task.name.clone()), task.timeout() + task.kill_grace() + margin),
            // The first step of the run sets a later time.
            None => (None, margin * 2),
        }
    }

    /// The longest time that one step of a run can take. A step that takes longer has exceeded
    /// every limit.
    pub(crate) fn longest(&self, margin: Duration) -> Duration {
        let tasks = self.definition.tasks.iter().map(|task| task.timeout() + task.kill_grace());
        let (_, start) = self.start(margin);
        tasks.max().map_or(start, |longest| start.max(longest + margin))
    }
}

/// A cache of definitions.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    known: Mutex<HashMap<(Uuid, i32), Arc<CompiledDefinition>>>,
}

/// Maximum number of entries. Beyond it all are dropped, which only costs a few reads.
const KEPT: usize = 10_000;

impl Definitions {
    /// The definition of a workflow's version, or why it cannot be used. An unusable definition
    /// affects only the runs of that version, whereas an error of the store affects all runs.
    pub(crate) async fn known(
        &self,
        store: &Store,
        connection: &impl ConnectionTrait,
        workflow_id: Uuid,
        version: i32,
    ) -> Result<Result<Arc<CompiledDefinition>, DefinitionError>, StoreError> {
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
        let Some(found) = CompiledDefinition::new(definition).map(Arc::new) else {
            return Ok(Err(missing));
        };
        let mut known = known();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(key, found.clone());
        Ok(Ok(found))
    }
}

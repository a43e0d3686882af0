//! Secrets that tasks use and that are not set. Such a task is saved anyway, because the person who
//! sets a namespace's secrets may be another one, and come later. But it is reported then, not only
//! by the first attempt that fails.

use std::collections::BTreeMap;

use sea_orm::ConnectionTrait;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    model::{Definition, Task, naming},
    store::{StoreError, secrets},
};

/// Maximum number to look for: more cannot be an oversight.
const MAX: usize = 100;

/// A secret that is not set, and the first place that uses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsetSecret {
    /// Its name.
    pub name: String,
    /// The task that uses it.
    pub task: String,
    /// The field: `tasks[0].target.http.url`.
    pub field: String,
}

impl UnsetSecret {
    /// The same for a schedule's own task.
    #[must_use]
    pub(in crate::commands) fn of_own_task(self) -> Self {
        Self { field: self.field.replacen("tasks[0]", "task", 1), ..self }
    }

    /// The consequence, in a sentence.
    pub fn message(&self) -> String {
        let Self { name, task, .. } = self;
        format!(
            "the secret `{name}` that the task `{task}` asks for is not set in this namespace: its \
             attempts fail until it is"
        )
    }
}

/// The unset secrets of a definition, by name.
pub async fn unset_secrets<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    definition: &Definition,
) -> Result<Vec<UnsetSecret>, StoreError> {
    let mut asked = asked(&definition.tasks);
    if asked.is_empty() {
        return Ok(vec![]);
    }
    let names: Vec<String> = asked.keys().cloned().collect();
    for row in secrets::of_names(connection, namespace, &names).await? {
        asked.remove(&row.name);
    }
    Ok(asked.into_values().collect())
}

fn asked(tasks: &[Task]) -> BTreeMap<String, UnsetSecret> {
    let mut asked = BTreeMap::new();
    for (index, task) in tasks.iter().enumerate() {
        for (field, name) in task.target.secret_places() {
            if asked.len() == MAX {
                return asked;
            }
            let field = format!("tasks[{index}].target.{}", naming::in_api(&field));
            let first = || UnsetSecret { name: name.clone(), task: task.name.clone(), field };
            asked.entry(name.clone()).or_insert_with(first);
        }
    }
    asked
}

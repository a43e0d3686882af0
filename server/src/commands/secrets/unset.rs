//! Finds secrets that tasks use but that are not set. Such a task is saved anyway, because another
//! person may set the namespace's secrets later. But it is reported at once, and not only when the
//! first attempt fails.

use std::collections::BTreeMap;

use sea_orm::ConnectionTrait;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    model::{Definition, Task, naming},
    store::{StoreError, secrets},
};

/// Maximum number of unset secrets to find; more than this cannot be an oversight.
const MAX: usize = 100;

/// A secret that is not set, and the first place that uses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsetSecret {
    /// The secret's name.
    pub name: String,
    /// The task that uses it.
    pub task: String,
    /// The field: `tasks[0].target.http.url`.
    pub field: String,
}

impl UnsetSecret {
    /// This secret with its place inside a schedule's own task.
    #[must_use]
    pub(in crate::commands) fn of_own_task(self) -> Self {
        Self { field: self.field.replacen("tasks[0]", "task", 1), ..self }
    }

    /// A sentence about the consequence.
    pub fn message(&self) -> String {
        let Self { name, task, .. } = self;
        format!(
            "the secret `{name}` that the task `{task}` uses is not set in this namespace: its \
             attempts fail until it is"
        )
    }
}

/// The secrets that a definition uses, each with the first place that uses it.
#[derive(Clone, Debug, Default)]
pub(in crate::commands) struct UsedSecrets(BTreeMap<String, UnsetSecret>);

impl UsedSecrets {
    /// Finds the secrets in a definition. Parses each template, which takes a while for large ones.
    pub(in crate::commands) fn of(definition: &Definition) -> Self {
        Self(asked(&definition.tasks))
    }

    /// The used secrets that are not set in the namespace, by name.
    pub(in crate::commands) async fn unset<C: ConnectionTrait>(
        &self,
        connection: &C,
        namespace: Uuid,
    ) -> Result<Vec<UnsetSecret>, StoreError> {
        let Self(used) = self;
        if used.is_empty() {
            return Ok(vec![]);
        }
        let (mut unset, names) = (used.clone(), used.keys().cloned().collect::<Vec<String>>());
        for row in secrets::of_names(connection, namespace, &names).await? {
            unset.remove(&row.name);
        }
        Ok(unset.into_values().collect())
    }
}

/// The unset secrets of a definition, by name.
pub async fn unset_secrets<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    definition: &Definition,
) -> Result<Vec<UnsetSecret>, StoreError> {
    UsedSecrets::of(definition).unset(connection, namespace).await
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

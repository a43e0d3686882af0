//! A program's declarations as one module of the server.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Task,
    http::Http,
    task::{Declared, Schedule},
};

const PATIENCE: Duration = Duration::from_secs(60);
const DEPLOY: &str = "
mutation Deploy($source: String!) {
  deployModule(source: $source, format: YAML, prune: true) { changes { action kind name detail } }
}";

/// The declarations of the code, which form a module with this name.
#[derive(Clone)]
pub struct Program {
    name: String,
    namespace: String,
    pub(crate) tasks: BTreeMap<&'static str, Declared>,
    problem: Option<String>,
}

/// The effect of a deployment on one object.
#[derive(Clone, Debug, Deserialize)]
pub struct Change {
    /// `CREATE`, `UPDATE`, `DELETE` and so on.
    pub action: String,
    /// The kind of object.
    pub kind: String,
    /// The object's name.
    pub name: String,
    /// A description of the change.
    pub detail: Option<String>,
}

impl Program {
    /// A program without tasks, in the namespace `default`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let (name, namespace) = (name.into(), "default".to_owned());
        Self { name, namespace, tasks: BTreeMap::new(), problem: None }
    }

    /// Moves the program to another namespace.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Adds a task, under the name of its function.
    #[must_use]
    pub fn with<T: Task>(mut self) -> Self {
        let task = Declared::of::<T>();
        let names: Vec<&str> = self.schedules().map(|(_, schedule)| schedule.name).collect();
        let twin = task.schedules.iter().find(|schedule| names.contains(&schedule.name));
        if let Some(schedule) = twin {
            self.problem = Some(format!("two declare the schedule {}", schedule.name));
        }
        if self.tasks.insert(task.name, task).is_some() {
            self.problem = Some(format!("two declare the task {}", task.name));
        }
        self
    }

    /// Replaces the program's earlier declarations by the current ones in one transaction. A
    /// schedule that the code no longer declares is deleted. The token needs the role EDITOR.
    ///
    /// # Errors
    ///
    /// Two declarations have the same name, the server refuses the module, or it does not answer
    /// for a minute.
    pub async fn deploy(&self, url: &str, token: &str) -> Result<Vec<Change>, Error> {
        let refused = |problem: String| Error::Deploy { module: self.name.clone(), problem };
        // JSON is also valid YAML.
        let source = self.module()?.to_string();
        let body = json!({ "query": DEPLOY, "variables": { "source": source } });
        let (http, given_up) = (Http::new(url, token)?, CancellationToken::new());
        let call = http.call("/graphql", &body, &given_up);
        let answer = tokio::time::timeout(PATIENCE, call).await;
        let mut answer = answer.map_err(|_| refused("the server did not answer".to_owned()))??;
        if let Some(errors) = answer["errors"].as_array() {
            let said: Vec<_> =
                errors.iter().filter_map(|error| error["message"].as_str()).collect();
            return Err(refused(said.join("; ")));
        }
        serde_json::from_value(answer["data"]["deployModule"]["changes"].take())
            .map_err(|error| refused(format!("the answer cannot be read: {error}")))
    }

    /// The module file for the program's declarations.
    ///
    /// # Errors
    ///
    /// Two declarations have the same name.
    pub fn module(&self) -> Result<Value, Error> {
        self.check()?;
        let mut schedules = Map::new();
        for (task, schedule) in self.schedules() {
            schedules.insert(schedule.name.to_owned(), definition(task, schedule));
        }
        Ok(json!({ "module": self.name, "namespace": self.namespace, "schedules": schedules }))
    }

    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        match &self.problem {
            Some(problem) => Err(Error::Setting(format!("{problem}; give one another name"))),
            None => Ok(()),
        }
    }

    fn schedules(&self) -> impl Iterator<Item = (&Declared, &Schedule)> {
        self.tasks.values().flat_map(|task| task.schedules.iter().map(move |each| (task, each)))
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks: Vec<_> = self.tasks.keys().collect();
        formatter.debug_struct("Program").field("name", &self.name).field("tasks", &tasks).finish()
    }
}

/// The definition of a schedule. The attributes generated its texts, so they are valid JSON
/// objects.
fn definition(task: &Declared, schedule: &Schedule) -> Value {
    let object = |text| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let mut worker = json!({ "queue": task.queue, "task": task.name });
    if let Some(input) = schedule.input {
        worker["input"] = Value::Object(object(input));
    }
    if !schedule.worker_tags.is_empty() {
        worker["tags"] = json!(schedule.worker_tags);
    }
    let mut task = object(schedule.task_keys);
    task.insert("target".to_owned(), json!({ "worker": worker }));
    let mut keys = object(schedule.keys);
    keys.insert("task".to_owned(), Value::Object(task));
    Value::Object(keys)
}

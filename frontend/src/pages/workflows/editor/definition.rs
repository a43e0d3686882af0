//! A workflow's definition in the shape that the API accepts.
//!
//! Default values are left out. In JSON that the user types, they may be omitted, too.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::usual::{
    USUAL_GRACE, USUAL_PARALLEL, USUAL_REDIRECTS, USUAL_TIMEOUT, is_false, is_usual_condition,
    is_usual_grace, is_usual_parallel, is_usual_timeout, seconds, some_seconds, usual_condition,
    usual_grace, usual_parallel, usual_timeout,
};
use crate::{
    model::{self, Backoff, Retry, Step, Target, TaskCondition},
    pages::task_form::{Action, NoopAction, TaskPlan},
};

/// The placeholder for a secret that is not shown. When it is sent back, the server keeps the secret.
const MASK: &str = "***";

/// The whole definition of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Definition {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "some_seconds")]
    pub(super) timeout_seconds: Option<f64>,
    #[serde(default = "usual_parallel", skip_serializing_if = "is_usual_parallel")]
    pub(super) max_parallel: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) runs_on: Vec<String>,
    pub(super) tasks: Vec<TaskDefinition>,
}

/// One task of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TaskDefinition {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) needs: Vec<String>,
    #[serde(default = "usual_condition", skip_serializing_if = "is_usual_condition")]
    pub(super) when: TaskCondition,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) allow_failure: bool,
    pub(super) target: Action,
    #[serde(
        default = "usual_timeout",
        skip_serializing_if = "is_usual_timeout",
        serialize_with = "seconds"
    )]
    pub(super) timeout_seconds: f64,
    #[serde(
        default = "usual_grace",
        skip_serializing_if = "is_usual_grace",
        serialize_with = "seconds"
    )]
    pub(super) kill_grace_seconds: f64,
    #[serde(default, skip_serializing_if = "is_usual_retry")]
    pub(super) retry: RetryDefinition,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) retry_on: Vec<String>,
}

/// When a failed attempt is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct RetryDefinition {
    pub(super) max_attempts: i64,
    pub(super) backoff: Backoff,
    #[serde(serialize_with = "seconds")]
    pub(super) initial_seconds: f64,
    #[serde(serialize_with = "seconds")]
    pub(super) max_seconds: f64,
    pub(super) jitter: f64,
}

impl Default for RetryDefinition {
    fn default() -> Self {
        Self {
            max_attempts: 1,
            backoff: Backoff::Exponential,
            initial_seconds: 1.0,
            max_seconds: 300.0,
            jitter: 0.2,
        }
    }
}

fn is_usual_retry(retry: &RetryDefinition) -> bool {
    *retry == RetryDefinition::default()
}

/// Why a text cannot be parsed, and the position. The line and the column, in bytes, are counted from one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Broken {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) message: String,
}

impl Definition {
    /// The definition of an existing workflow.
    pub(super) fn of(workflow: &model::WorkflowDefinition) -> Self {
        Self {
            name: workflow.name.clone(),
            timeout_seconds: workflow.timeout_seconds,
            max_parallel: workflow.max_parallel,
            runs_on: workflow.runs_on.clone(),
            tasks: workflow.tasks.iter().map(TaskDefinition::of).collect(),
        }
    }

    /// A workflow of these tasks, with defaults for everything else.
    pub(super) fn blank(tasks: Vec<TaskDefinition>) -> Self {
        Self {
            name: String::new(),
            timeout_seconds: None,
            max_parallel: USUAL_PARALLEL,
            runs_on: vec![],
            tasks,
        }
    }

    /// Parses a text that is JSON in the shape of the API, which earlier versions of the editor used instead of YAML.
    /// `None` if the text is not JSON.
    pub(super) fn read_json(text: &str) -> Option<Result<Self, Broken>> {
        let value: Value = serde_json::from_str(text).ok()?;
        let is_ours = value.get("tasks").is_some_and(Value::is_array);
        is_ours.then(|| Self::read(text))
    }

    /// # Errors
    /// The position from which on the text is not JSON of that shape.
    pub(super) fn read(text: &str) -> Result<Self, Broken> {
        serde_json::from_str(text).map_err(|wrong| {
            let (line, column) = (wrong.line(), wrong.column());
            let message = wrong.to_string();
            let place = format!(" at line {line} column {column}");
            let message = message.strip_suffix(&place).unwrap_or(&message).to_owned();
            Broken { line, column, message }
        })
    }

    /// The fields of a new workflow's input.
    pub(super) fn to_create(&self) -> Value {
        let mut input = self.limits();
        input["name"] = json!(self.name);
        input["tasks"] = json!(self.tasks);
        input
    }

    /// The fields of an update's input. An absent field would keep its current value, so fields that this definition
    /// does not have are sent as null.
    pub(super) fn to_update(&self) -> Value {
        let mut input = self.limits();
        input["tasks"] = json!(self.tasks);
        let tasks = input["tasks"].as_array_mut().into_iter().flatten();
        for http in tasks.filter_map(|task| task.pointer_mut("/target/http")?.as_object_mut()) {
            for field in ["expectedBody", "clientCertificate", "signingSecret"] {
                http.entry(field).or_insert(json!(""));
            }
            http.entry("maxRedirects").or_insert(json!(USUAL_REDIRECTS));
        }
        input
    }

    fn limits(&self) -> Value {
        json!({
            "timeoutSeconds": self.timeout_seconds,
            "maxParallel": self.max_parallel,
            "runsOn": self.runs_on,
        })
    }
}

impl TaskDefinition {
    /// A task that does nothing.
    pub(super) fn blank(name: String) -> Self {
        Self {
            name,
            needs: vec![],
            when: TaskCondition::Success,
            allow_failure: false,
            target: Action::Noop(NoopAction::default()),
            timeout_seconds: USUAL_TIMEOUT,
            kill_grace_seconds: USUAL_GRACE,
            retry: RetryDefinition::default(),
            retry_on: vec![],
        }
    }

    fn of(step: &Step) -> Self {
        let mut target = Action::of(&step.target);
        if let (Action::Http(action), Target::Http(http)) = (&mut target, &step.target) {
            action.signing_secret = http.signed.then(|| MASK.to_owned());
            action.max_redirects = http.max_redirects.filter(|count| *count != USUAL_REDIRECTS);
        }
        Self {
            name: step.name.clone(),
            needs: step.needs.clone(),
            when: step.when,
            allow_failure: step.allow_failure,
            target,
            timeout_seconds: step.timeout_seconds,
            kill_grace_seconds: step.kill_grace_seconds,
            retry: step.retry.into(),
            retry_on: step.retry_on.clone(),
        }
    }

    /// The fields of a task, apart from its place in the workflow.
    pub(super) fn plan(&self) -> TaskPlan {
        TaskPlan {
            name: self.name.clone(),
            action: self.target.clone(),
            timeout: self.timeout_seconds,
            kill_grace: self.kill_grace_seconds,
            retry: self.retry.into(),
            retry_on: self.retry_on.clone(),
        }
    }
}

impl From<Retry> for RetryDefinition {
    fn from(retry: Retry) -> Self {
        Self {
            max_attempts: retry.max_attempts,
            backoff: retry.backoff,
            initial_seconds: retry.initial_seconds,
            max_seconds: retry.max_seconds,
            jitter: retry.jitter,
        }
    }
}

impl From<RetryDefinition> for Retry {
    fn from(retry: RetryDefinition) -> Self {
        Self {
            max_attempts: retry.max_attempts,
            backoff: retry.backoff,
            initial_seconds: retry.initial_seconds,
            max_seconds: retry.max_seconds,
            jitter: retry.jitter,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
  "name": "report",
  "tasks": [
    {
      "name": "fetch",
      "target": {
        "http": {
          "method": "GET",
          "url": "https://example.org"
        }
      },
      "timeoutSeconds": 12.5
    },
    {
      "name": "send",
      "needs": [
        "fetch"
      ],
      "target": {
        "noop": {}
      }
    }
  ]
}"#;

    #[test]
    fn json_that_is_read_is_written_the_same() {
        let read = Definition::read(TEXT).unwrap();
        assert_eq!(read.max_parallel, 8);
        assert_eq!(read.tasks[1].needs, ["fetch"]);
        assert_eq!(json!(read), serde_json::from_str::<Value>(TEXT).unwrap());
    }

    #[test]
    fn only_json_of_the_apis_shape_is_read_here() {
        assert_eq!(Definition::read_json(TEXT), Some(Definition::read(TEXT)));
        let misspelt = TEXT.replace("\"timeoutSeconds\"", "\"timeout\"");
        assert!(matches!(Definition::read_json(&misspelt), Some(Err(_))));
        for other in ["", "a: {tasks: []}", "{\"a\": {\"tasks\": []}}", "{\"tasks\": [,]}", "[]"] {
            assert_eq!(Definition::read_json(other), None, "{other}");
        }
    }

    #[test]
    fn a_broken_text_says_where() {
        let broken = Definition::read("{\n  \"name\": \"x\"\n  \"tasks\": []\n}").unwrap_err();
        assert_eq!((broken.line, broken.column), (3, 3));
        assert_eq!(broken.message, "expected `,` or `}`");
        let misspelt = TEXT.replace("\"needs\"", "\"need\"");
        let broken = Definition::read(&misspelt).unwrap_err();
        assert_eq!(broken.line, 16);
        assert!(broken.message.contains("unknown field `need`"), "{}", broken.message);
    }

    #[test]
    fn an_update_removes_omitted_values() {
        let definition = Definition::read(TEXT).unwrap();
        let update = definition.to_update();
        assert_eq!(update["timeoutSeconds"], Value::Null);
        assert_eq!(update["runsOn"], json!([]));
        let http = &update["tasks"][0]["target"]["http"];
        assert_eq!((&http["signingSecret"], &http["maxRedirects"]), (&json!(""), &json!(5)));
        assert_eq!(update.get("name"), None);
        let create = definition.to_create();
        assert_eq!(create["name"], "report");
        assert_eq!(create["tasks"][0]["target"]["http"].get("signingSecret"), None);
    }

    #[test]
    fn a_definition_from_the_server_is_sent_back_unchanged() {
        let told = json!({
            "id": "1", "name": "report", "version": 3, "module": null,
            "timeoutSeconds": 60.0, "maxParallel": 2, "runsOn": ["gpu"],
            "tasks": [{
                "name": "call", "needs": [], "when": "SUCCESS", "allowFailure": true,
                "timeoutSeconds": 300.0, "killGraceSeconds": 10.0, "retryOn": ["timeout"],
                "retry": {
                    "maxAttempts": 3, "backoff": "FIXED", "initialSeconds": 1.0,
                    "maxSeconds": 300.0, "jitter": 0.2,
                },
                "target": {
                    "__typename": "HttpTarget", "method": "POST", "url": "https://example.org",
                    "headers": [], "body": null, "expectedStatus": [], "expectedBody": "ok",
                    "maxRedirects": 5, "output": "KEEP", "signed": true, "clientCertificate": null,
                },
            }],
        });
        let definition = Definition::of(&serde_json::from_value(told).unwrap());
        let update = definition.to_update();
        let task = &update["tasks"][0];
        assert_eq!(task["target"]["http"]["signingSecret"], MASK);
        assert_eq!(task["target"]["http"]["expectedBody"], "ok");
        assert_eq!(
            (&task["allowFailure"], &task["retry"]["maxAttempts"]),
            (&json!(true), &json!(3))
        );
        assert_eq!(update["maxParallel"], 2);
        assert_eq!(serde_json::from_value::<Definition>(json!(definition)).unwrap(), definition);
    }
}

//! The action of a task, in the shape that the API accepts: `{ "http": { "url": ... } }`. JSON of
//! that shape is parsed into these types, so that a misspelt key is reported with its line.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::PublishAction;
use crate::model::{HttpAnswer, Pair, Retry};

/// A task that is ready to be sent, without its place in a workflow.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::pages) struct TaskPlan {
    pub(in crate::pages) name: String,
    pub(in crate::pages) action: Action,
    pub(in crate::pages) timeout: f64,
    pub(in crate::pages) kill_grace: f64,
    pub(in crate::pages) retry: Retry,
    pub(in crate::pages) retry_on: Vec<String>,
}

/// The action of the task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::pages) enum Action {
    Http(HttpAction),
    Command(CommandAction),
    Publish(Box<PublishAction>),
    Worker(WorkerAction),
    Noop(NoopAction),
}

impl Action {
    /// The name of the action's kind in the form.
    pub(in crate::pages) fn kind(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::Command(_) => "command",
            Self::Publish(_) => "publish",
            Self::Worker(_) => "worker",
            Self::Noop(_) => "noop",
        }
    }
}

/// An HTTP request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::pages) struct HttpAction {
    #[serde(default = "usual_method")]
    pub(in crate::pages) method: String,
    pub(in crate::pages) url: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::pages) headers: Vec<Pair>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) expected_status: Option<Vec<String>>,
    #[serde(default = "usual_output", skip_serializing_if = "is_usual_output")]
    pub(in crate::pages) output: HttpAnswer,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) signing_secret: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) json: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) expected_body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) max_redirects: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) client_certificate: Option<String>,
}

fn usual_method() -> String {
    "POST".to_owned()
}

fn usual_output() -> HttpAnswer {
    HttpAnswer::Keep
}

fn is_usual_output(output: &HttpAnswer) -> bool {
    *output == HttpAnswer::Keep
}

/// A program or a script.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(in crate::pages) struct CommandAction {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) program: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) args: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) script: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::pages) environment: Vec<Pair>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) directory: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) user: Option<String>,
}

/// A job for a worker that pulls it from a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::pages) struct WorkerAction {
    pub(in crate::pages) queue: String,
    pub(in crate::pages) task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::pages) input: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::pages) tags: Vec<String>,
}

/// An action that does nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(in crate::pages) struct NoopAction {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(in crate::pages) note: String,
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json, to_value};

    use super::*;

    #[test]
    fn a_target_has_the_shape_that_the_api_takes() {
        let text = json!({ "http": { "method": "GET", "url": "https://example.org" } });
        let action: Action = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(action.kind(), "http");
        assert_eq!(to_value(&action).unwrap(), text);
        let empty: Action = from_str(r#"{ "noop": {} }"#).unwrap();
        assert_eq!(empty, Action::Noop(NoopAction::default()));
    }

    #[test]
    fn a_misspelt_key_is_named_with_its_line() {
        let wrong = from_str::<Action>("{ \"http\": {\n \"ulr\": \"x\" } }").unwrap_err();
        assert_eq!(wrong.line(), 2);
        assert!(wrong.to_string().contains("ulr"), "{wrong}");
    }
}

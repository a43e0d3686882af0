use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{command::CommandTarget, http::Http, publish::Publish, worker::WorkerTarget};

/// What a task does. In JSON an object with one key: `{"http": {...}}`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Target {
    /// Sends an HTTP request.
    Http(Http),
    /// Starts a program on the node.
    Command(CommandTarget),
    /// Publishes an event to a broker.
    Publish(Box<Publish>),
    /// Hands the task to a worker, a program that pulls it from a queue.
    Worker(WorkerTarget),
    /// Does nothing and succeeds: for rehearsals, canaries and measurements.
    Noop(Noop),
}

/// The target that does nothing: `{"noop": {}}`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Noop {
    /// A text that people read, such as why the task does nothing; it has no effect.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Target {
    /// The kind's name, as in the definition's key.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::Command(_) => "command",
            Self::Publish(_) => "publish",
            Self::Worker(_) => "worker",
            Self::Noop(_) => "noop",
        }
    }
}

//! Targets for display, with secrets masked.

use std::collections::BTreeMap;

use async_graphql::{Enum, SimpleObject, Union};

use super::{page::DECLARED, publish::PublishTarget};
use crate::{
    commands::secrets,
    target::{self, SecretText},
};

/// The action of a task.
#[derive(Union)]
pub(crate) enum Target {
    Http(HttpTarget),
    Command(CommandTarget),
    Publish(PublishTarget),
    Worker(WorkerTarget),
    Noop(NoopTarget),
}

/// Sends an HTTP request.
#[derive(SimpleObject)]
pub(crate) struct HttpTarget {
    /// GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.
    method: String,
    /// `http` or `https`; it may be a template.
    url: String,
    /// Values of secret headers are masked.
    #[graphql(complexity = "DECLARED * child_complexity")]
    headers: Vec<Header>,
    /// A text or JSON; null for the usual body, which identifies the fire, or for none.
    body: Option<String>,
    /// The same body as a value, if it is JSON; null for a text. Sent back as `json`, it stays JSON.
    json: Option<serde_json::Value>,
    /// The statuses that count as success, each one status or a range: `200-299`
    expected_status: Vec<String>,
    /// A text that the response must contain.
    expected_body: Option<String>,
    /// How many redirects are followed.
    max_redirects: i32,
    /// What happens to the response.
    output: HttpAnswer,
    /// Whether requests carry a signature by the Standard Webhooks specification.
    signed: bool,
    /// The secret that contains the client certificate (mTLS), as `{{ secrets.name }}`.
    client_certificate: Option<String>,
}

/// What happens to a response.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "target::Answers")]
pub(crate) enum HttpAnswer {
    /// The response is stored with the attempt.
    Keep,
    /// The response must be a JSON object, which is merged into the context of the tasks that
    /// follow.
    Merge,
}

/// A name and its value.
#[derive(SimpleObject)]
pub(crate) struct Header {
    name: String,
    /// Its value, `***` where it is masked.
    value: String,
}

/// Starts a program on the node.
#[derive(SimpleObject)]
pub(crate) struct CommandTarget {
    /// A path, or a name to look up in `PATH`; null if there is a `script`.
    program: Option<String>,
    /// The program's arguments, without its own name.
    args: Vec<String>,
    /// A text for `/bin/sh -c`; null if there is a `program`.
    script: Option<String>,
    /// Values of secret variables are masked.
    #[graphql(complexity = "DECLARED * child_complexity")]
    environment: Vec<Header>,
    /// The working directory; null for the home directory of its user.
    directory: Option<String>,
    /// The operating system's user that it runs as; null for the server's `commands.user`.
    user: Option<String>,
}

/// Hands the task to a worker that pulls it from a queue.
#[derive(SimpleObject)]
pub(crate) struct WorkerTarget {
    /// The queue that workers pull it from.
    queue: String,
    /// The name of the worker's task to run.
    task: String,
    /// The input of the task; null for the run's context.
    input: Option<serde_json::Value>,
    /// The tags that the worker must have.
    tags: Vec<String>,
}

/// Does nothing, and succeeds.
#[derive(SimpleObject)]
pub(crate) struct NoopTarget {
    /// A note for readers, without effect.
    note: String,
}

impl From<&target::Target> for Target {
    fn from(stored: &target::Target) -> Self {
        match secrets::masked(stored) {
            target::Target::Http(http) => Self::Http(HttpTarget {
                method: word(&http.method),
                url: http.url,
                headers: pairs(&http.headers),
                json: http.body.clone().filter(|body| !body.is_string()),
                body: http
                    .body
                    .map(|body| body.as_str().map_or_else(|| body.to_string(), str::to_owned)),
                expected_status: http
                    .expected_status
                    .to_string()
                    .split(", ")
                    .map(str::to_owned)
                    .collect(),
                expected_body: http.expected_body,
                max_redirects: http.max_redirects.into(),
                output: http.output.into(),
                signed: http.signing_secret.is_some(),
                client_certificate: http.client_certificate.map(|name| name.expose().to_owned()),
            }),
            target::Target::Command(command) => Self::Command(CommandTarget {
                program: command.program,
                args: command.args,
                script: command.script,
                environment: pairs(&command.env),
                directory: command.directory,
                user: command.user,
            }),
            target::Target::Publish(publish) => Self::Publish((*publish).into()),
            target::Target::Worker(worker) => Self::Worker(WorkerTarget {
                queue: worker.queue,
                task: worker.task,
                input: worker.input,
                tags: worker.tags,
            }),
            target::Target::Noop(noop) => Self::Noop(NoopTarget { note: noop.note }),
        }
    }
}

pub(super) fn word(method: &target::Method) -> String {
    // A unit variant is serialized as a string.
    let word = serde_json::to_value(method).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

pub(super) fn pairs(values: &BTreeMap<String, SecretText>) -> Vec<Header> {
    let pair = |(name, value): (&String, &SecretText)| Header {
        name: name.clone(),
        value: value.expose().to_owned(),
    };
    values.iter().map(pair).collect()
}

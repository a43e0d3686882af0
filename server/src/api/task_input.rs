//! A task as a form sends it.

use std::collections::BTreeMap;

use async_graphql::{InputObject, OneofObject};
use serde_json::Value;

use super::{
    publish_input::PublishTargetInput,
    target::HttpAnswer,
    workflow::{Backoff, TaskCondition},
};
use crate::{
    commands::{BadInput, secrets::KEPT_REDIRECTS},
    model::{Condition, Task},
    target::{self, Secret},
};

/// A task: a schedule's inline task, or one of a workflow.
#[derive(InputObject)]
pub(crate) struct TaskInput {
    #[graphql(default = "main")]
    pub(crate) name: String,
    pub(crate) target: TargetInput,
    #[graphql(default_with = "300.0")]
    pub(crate) timeout_seconds: f64,
    #[graphql(default_with = "10.0")]
    pub(crate) kill_grace_seconds: f64,
    pub(crate) retry: Option<RetryInput>,
    /// Only these failures are retried: `timeout`, `failure`, `error`, `exit 75`, `status 500-599`.
    /// All failures if empty.
    retry_on: Option<Vec<String>>,
    /// The tasks that must have ended before it; at most 20.
    needs: Option<Vec<String>>,
    /// How the tasks in `needs` must have ended; otherwise this task is skipped.
    #[graphql(default_with = "TaskCondition::Success")]
    when: TaskCondition,
    /// Whether the run may succeed although this task failed.
    #[graphql(default)]
    allow_failure: bool,
}

/// When a failed attempt is followed by another.
#[derive(InputObject)]
pub(crate) struct RetryInput {
    #[graphql(default = 1)]
    max_attempts: i32,
    #[graphql(default_with = "Backoff::Exponential")]
    backoff: Backoff,
    #[graphql(default_with = "1.0")]
    initial_seconds: f64,
    #[graphql(default_with = "300.0")]
    max_seconds: f64,
    #[graphql(default_with = "0.2")]
    jitter: f64,
}

/// Exactly one of these.
#[derive(OneofObject)]
pub(crate) enum TargetInput {
    Http(HttpTargetInput),
    Command(CommandTargetInput),
    Publish(PublishTargetInput),
    Worker(WorkerTargetInput),
    Noop(NoopTargetInput),
}

/// An HTTP request to send.
#[derive(InputObject)]
pub(crate) struct HttpTargetInput {
    #[graphql(default = "POST")]
    method: String,
    url: String,
    /// On an update, the mask `***` keeps the current value.
    headers: Option<Vec<HeaderInput>>,
    /// A text. A JSON object or array is sent as `application/json` unless a header says otherwise.
    body: Option<String>,
    /// A JSON body, instead of `body`. Strings in it may be templates.
    json: Option<Value>,
    expected_status: Option<Vec<String>>,
    /// A text that the response must contain. On an update, absent keeps the current one, and an
    /// empty text removes it.
    expected_body: Option<String>,
    /// How many redirects are followed: at most 5, which is the default. On an update, absent keeps
    /// the current number.
    max_redirects: Option<u8>,
    /// What happens to the response.
    #[graphql(default_with = "HttpAnswer::Keep")]
    output: HttpAnswer,
    /// On an update, absent keeps the current one, and an empty text removes it.
    signing_secret: Option<String>,
    /// The client certificate (mTLS), as `{{ secrets.name }}`: the secret contains the certificate,
    /// its chain and its private key in PEM. On an update, absent keeps the current one, and an
    /// empty text removes it.
    client_certificate: Option<String>,
}

/// A name and its value.
#[derive(InputObject)]
pub(crate) struct HeaderInput {
    name: String,
    value: String,
}

/// A program to start on the node.
#[derive(InputObject)]
pub(crate) struct CommandTargetInput {
    program: Option<String>,
    args: Option<Vec<String>>,
    script: Option<String>,
    /// All variables, also on an update; there the mask `***` keeps a value.
    environment: Option<Vec<HeaderInput>>,
    directory: Option<String>,
    user: Option<String>,
}

/// A task for a worker that pulls it from a queue.
#[derive(InputObject)]
pub(crate) struct WorkerTargetInput {
    /// The queue that workers pull it from: 1 to 64 of a-z 0-9 . _ -
    queue: String,
    /// The name of the worker's task to run: 1 to 64 of a-z A-Z 0-9 . _ -
    task: String,
    /// The input of the task; strings in it may be templates. The run's context if absent.
    input: Option<Value>,
    /// The tags that the worker must have; at most 16.
    tags: Option<Vec<String>>,
}

/// Does nothing.
#[derive(InputObject)]
pub(crate) struct NoopTargetInput {
    #[graphql(default)]
    note: String,
}

impl TaskInput {
    /// A task that only has a target.
    pub(in crate::api) fn of_target(target: TargetInput, timeout_seconds: f64) -> Self {
        Self {
            name: "main".to_owned(),
            target,
            timeout_seconds,
            kill_grace_seconds: 1.0,
            retry: None,
            retry_on: None,
            needs: None,
            when: TaskCondition::Success,
            allow_failure: false,
        }
    }
}

impl TryFrom<TaskInput> for Task {
    type Error = BadInput;

    fn try_from(input: TaskInput) -> Result<Self, BadInput> {
        let retry = input.retry.map(policy).transpose()?.unwrap_or_default();
        let retry_on = conditions(input.retry_on.unwrap_or_default())?;
        Ok(Self {
            name: input.name,
            target: target(input.target)?,
            timeout_ms: milliseconds("task.timeoutSeconds", input.timeout_seconds)?,
            kill_grace_ms: milliseconds("task.killGraceSeconds", input.kill_grace_seconds)?,
            retry,
            retry_on,
            needs: input.needs.unwrap_or_default(),
            when: input.when.into(),
            allow_failure: input.allow_failure,
        })
    }
}

fn conditions(texts: Vec<String>) -> Result<Vec<Condition>, BadInput> {
    let read = |(index, text): (usize, &String)| {
        text.parse::<Condition>().map_err(|error| {
            let field = format!("task.retryOn[{index}]");
            BadInput::new(field, text, "is not accepted", error.to_string())
        })
    };
    texts.iter().enumerate().map(read).collect()
}

fn policy(input: RetryInput) -> Result<timetable::retry::Policy, BadInput> {
    Ok(timetable::retry::Policy {
        max_attempts: input.max_attempts,
        backoff: input.backoff.into(),
        initial_ms: milliseconds("task.retry.initialSeconds", input.initial_seconds)?,
        max_ms: milliseconds("task.retry.maxSeconds", input.max_seconds)?,
        jitter: input.jitter,
    })
}

/// Converts seconds from a form. Each field's limits are checked with the definition; this refuses
/// only what exceeds every field's limit.
pub(super) fn milliseconds(field: &str, seconds: f64) -> Result<i64, BadInput> {
    const MAX: f64 = 30.0 * 86_400.0;
    if !(0.0..=MAX).contains(&seconds) {
        let help = "give seconds from 0 on, at most 30 days";
        return Err(BadInput::new(field, seconds, "is not such a duration", help));
    }
    #[expect(clippy::cast_possible_truncation, reason = "checked to be small just above")]
    let milliseconds = (seconds * 1_000.0).round() as i64;
    Ok(milliseconds)
}

fn target(input: TargetInput) -> Result<target::Target, BadInput> {
    Ok(match input {
        TargetInput::Http(input) => target::Target::Http(http(input)?),
        TargetInput::Command(input) => target::Target::Command(target::Command {
            program: input.program,
            args: input.args.unwrap_or_default(),
            script: input.script,
            env: secrets("task.target.command.environment", input.environment)?,
            directory: input.directory,
            user: input.user,
        }),
        TargetInput::Publish(input) => target::Target::Publish(Box::new(input.try_into()?)),
        TargetInput::Worker(input) => target::Target::Worker(target::Worker {
            queue: input.queue,
            task: input.task,
            input: input.input,
            tags: input.tags.unwrap_or_default(),
        }),
        TargetInput::Noop(input) => target::Target::Noop(target::Noop { note: input.note }),
    })
}

fn http(input: HttpTargetInput) -> Result<target::Http, BadInput> {
    let mut http = target::Http::post(input.url);
    http.method = read("task.target.http.method", &input.method.to_uppercase())?;
    http.headers = secrets("task.target.http.headers", input.headers)?;
    http.body = match (input.body, input.json) {
        (Some(body), Some(_)) => {
            let shown: String = body.chars().take(40).collect();
            let problem = "is given beside 'json'";
            return Err(BadInput::new("task.target.http.body", shown, problem, "give one of both"));
        }
        (Some(body), None) => Some(Value::String(body)),
        (None, json) => json,
    };
    http.expected_body = input.expected_body;
    http.max_redirects = match input.max_redirects {
        // The marker for "keep" is not a number of redirects.
        Some(KEPT_REDIRECTS) => KEPT_REDIRECTS - 1,
        given => given.unwrap_or(KEPT_REDIRECTS),
    };
    if let Some(expected) = input.expected_status {
        http.expected_status = read("task.target.http.expectedStatus", &expected)?;
    }
    http.output = input.output.into();
    http.signing_secret = input.signing_secret.map(Secret::new);
    http.client_certificate = input.client_certificate.map(Secret::new);
    Ok(http)
}

/// Reads a value as the target's own type does.
fn read<T: serde::de::DeserializeOwned>(
    field: &str,
    value: &(impl serde::Serialize + std::fmt::Debug),
) -> Result<T, BadInput> {
    let json = serde_json::json!(value);
    serde_json::from_value(json).map_err(|error| {
        BadInput::new(field, format!("{value:?}"), "is not accepted", error.to_string())
    })
}

pub(super) fn secrets(
    field: &str,
    pairs: Option<Vec<HeaderInput>>,
) -> Result<BTreeMap<String, Secret>, BadInput> {
    let mut values = BTreeMap::new();
    for HeaderInput { name, value } in pairs.unwrap_or_default() {
        if values.insert(name.clone(), Secret::new(value)).is_some() {
            return Err(BadInput::new(field, name, "is there twice", "give each name once"));
        }
    }
    Ok(values)
}

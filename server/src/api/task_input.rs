//! A task as a form sends it, and as it is handed to a form.

use std::collections::BTreeMap;

use async_graphql::{InputObject, OneofObject};
use serde_json::Value;

use super::{
    publish_input::PublishTargetInput,
    target::{HttpAnswer, word},
    workflow::{Backoff, TaskCondition, seconds},
};
use crate::{
    commands::{BadInput, secrets::KEPT_REDIRECTS},
    model::{Condition, Task},
    target::{self, SecretText, StatusSet},
};

/// A task: a schedule's inline task, or one of a workflow.
#[derive(InputObject)]
pub(crate) struct TaskInput {
    /// Unique in the workflow: 1 to 64 of A-Z a-z 0-9 . _ -
    #[graphql(default = "main")]
    pub(crate) name: String,
    /// What it does.
    pub(crate) target: TargetInput,
    /// How long an attempt may take before it is asked to stop: 0.001 seconds to 7 days.
    #[graphql(default_with = "300.0")]
    pub(crate) timeout_seconds: f64,
    /// How long stopping may take before the attempt is ended by force: 0 to an hour.
    #[graphql(default_with = "10.0")]
    pub(crate) kill_grace_seconds: f64,
    /// When a failed attempt is followed by another; one attempt if absent.
    pub(crate) retry: Option<RetryInput>,
    /// Only these failures are retried: `timeout`, `failure`, `error`, `exit 75`, `status 500-599`.
    /// All failures if empty.
    retry_on: Option<Vec<String>>,
    /// The tasks that must have ended before this one starts; at most 20.
    needs: Option<Vec<String>>,
    /// How the tasks in `needs` must have ended; otherwise this task is skipped.
    #[graphql(default_with = "TaskCondition::Success")]
    when: TaskCondition,
    /// Whether the run may succeed although this task failed.
    #[graphql(default)]
    allow_failure: bool,
}

/// When a failed attempt is repeated.
#[derive(InputObject)]
pub(crate) struct RetryInput {
    /// The number of attempts, the first one included: 1 to 100.
    #[graphql(default = 1)]
    max_attempts: i32,
    /// How the delay grows between attempts.
    #[graphql(default_with = "Backoff::Exponential")]
    backoff: Backoff,
    /// The delay before the second attempt: 0 to a day.
    #[graphql(default_with = "1.0")]
    initial_seconds: f64,
    /// The longest delay: from `initialSeconds` to a day.
    #[graphql(default_with = "300.0")]
    max_seconds: f64,
    /// Share of the delay that is random, 0 to 1.
    #[graphql(default_with = "0.2")]
    jitter: f64,
}

/// What the task does: exactly one of these fields.
#[derive(OneofObject)]
pub(crate) enum TargetInput {
    /// An HTTP request to send.
    Http(HttpTargetInput),
    /// A program to start on the node.
    Command(CommandTargetInput),
    /// An event to publish to a broker.
    Publish(PublishTargetInput),
    /// A task for a worker that pulls it from a queue.
    Worker(WorkerTargetInput),
    /// Nothing to do: it succeeds.
    Noop(NoopTargetInput),
}

/// An HTTP request to send.
#[derive(InputObject)]
pub(crate) struct HttpTargetInput {
    /// GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.
    #[graphql(default = "POST")]
    method: String,
    /// `http` or `https`, without user name or password, at most 8 KiB; it may be a template.
    url: String,
    /// On an update, the mask `***` keeps the current value.
    headers: Option<Vec<HeaderInput>>,
    /// A text. A JSON object or array is sent as `application/json` unless a header specifies
    /// another type.
    body: Option<String>,
    /// A JSON body, instead of `body`. Strings in it may be templates.
    json: Option<Value>,
    /// The statuses that count as success, each one status or a range; `200-299` if absent.
    expected_status: Option<Vec<String>>,
    /// A text that the response must contain. On an update, absent keeps the current one, and an
    /// empty string removes it.
    expected_body: Option<String>,
    /// How many redirects are followed: at most 5, which is the default. On an update, absent keeps
    /// the current number.
    max_redirects: Option<u8>,
    /// What happens to the response.
    #[graphql(default_with = "HttpAnswer::Keep")]
    output: HttpAnswer,
    /// The secret that signs requests. On an update, absent keeps the current one, and an empty
    /// string removes it.
    signing_secret: Option<String>,
    /// The client certificate (mTLS), as `{{ secrets.name }}`: the secret contains the certificate,
    /// its chain and its private key in PEM. On an update, absent keeps the current one, and an
    /// empty string removes it.
    client_certificate: Option<String>,
}

/// A name and its value.
#[derive(InputObject)]
pub(crate) struct HeaderInput {
    /// The name of a header or variable.
    name: String,
    /// Its value; it may be a template.
    value: String,
}

/// A program to start on the node.
#[derive(InputObject)]
pub(crate) struct CommandTargetInput {
    /// A path, or a name to look up in `PATH`. Give either this or `script`.
    program: Option<String>,
    /// The program's arguments, without its own name, passed as they are.
    args: Option<Vec<String>>,
    /// A text for `/bin/sh -c`, instead of `program`.
    script: Option<String>,
    /// All variables, also on an update, where the mask `***` keeps a value.
    environment: Option<Vec<HeaderInput>>,
    /// The working directory; the home directory of its user if absent.
    directory: Option<String>,
    /// The operating system's user to run as: one that the server's `commands.users` allows. Its
    /// `commands.user` if absent.
    user: Option<String>,
}

/// A task for a worker that pulls it from a queue.
#[derive(InputObject)]
pub(crate) struct WorkerTargetInput {
    /// The queue from which workers pull the task: 1 to 64 of a-z 0-9 . _ -
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
    /// A note for readers, without effect.
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

/// A task with its secrets as they are: only for those who have just sent it themselves.
impl From<Task> for TaskInput {
    fn from(task: Task) -> Self {
        let retry_on = task.retry_on.iter().map(ToString::to_string).collect();
        Self {
            name: task.name,
            target: task.target.into(),
            timeout_seconds: seconds(task.timeout_ms),
            kill_grace_seconds: seconds(task.kill_grace_ms),
            retry: Some(RetryInput {
                max_attempts: task.retry.max_attempts,
                backoff: task.retry.backoff.into(),
                initial_seconds: seconds(task.retry.initial_ms),
                max_seconds: seconds(task.retry.max_ms),
                jitter: task.retry.jitter,
            }),
            retry_on: Some(retry_on),
            needs: Some(task.needs),
            when: task.when.into(),
            allow_failure: task.allow_failure,
        }
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

/// Converts seconds from a form. The definition checks the limits of each field; this only refuses
/// values beyond every limit.
pub(super) fn milliseconds(field: &str, seconds: f64) -> Result<i64, BadInput> {
    const MAX: f64 = 30.0 * 86_400.0;
    if !(0.0..=MAX).contains(&seconds) {
        let help = "give seconds, from 0 to 30 days";
        return Err(BadInput::new(field, seconds, "is not a duration in that range", help));
    }
    #[expect(clippy::cast_possible_truncation, reason = "checked to be small just above")]
    let milliseconds = (seconds * 1_000.0).round() as i64;
    Ok(milliseconds)
}

fn target(input: TargetInput) -> Result<target::Target, BadInput> {
    Ok(match input {
        TargetInput::Http(input) => target::Target::Http(http(input)?),
        TargetInput::Command(input) => target::Target::Command(target::CommandTarget {
            program: input.program,
            args: input.args.unwrap_or_default(),
            script: input.script,
            env: secrets("task.target.command.environment", input.environment)?,
            directory: input.directory,
            user: input.user,
        }),
        TargetInput::Publish(input) => target::Target::Publish(Box::new(input.try_into()?)),
        TargetInput::Worker(input) => target::Target::Worker(target::WorkerTarget {
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
            let problem = "is given together with 'json'";
            return Err(BadInput::new(
                "task.target.http.body",
                shown,
                problem,
                "give only one of the two",
            ));
        }
        (Some(body), None) => Some(Value::String(body)),
        (None, json) => json,
    };
    http.expected_body = input.expected_body;
    http.max_redirects = match input.max_redirects {
        // The marker for "keep" is not a valid number of redirects.
        Some(KEPT_REDIRECTS) => KEPT_REDIRECTS - 1,
        given => given.unwrap_or(KEPT_REDIRECTS),
    };
    if let Some(expected) = input.expected_status {
        http.expected_status = read("task.target.http.expectedStatus", &expected)?;
    }
    http.output = input.output.into();
    http.signing_secret = input.signing_secret.map(SecretText::new);
    http.client_certificate = input.client_certificate.map(SecretText::new);
    Ok(http)
}

impl From<target::Target> for TargetInput {
    fn from(target: target::Target) -> Self {
        match target {
            target::Target::Http(http) => Self::Http(http.into()),
            target::Target::Command(command) => Self::Command(CommandTargetInput {
                program: command.program,
                args: Some(command.args),
                script: command.script,
                environment: pairs(&command.env),
                directory: command.directory,
                user: command.user,
            }),
            target::Target::Publish(publish) => Self::Publish((*publish).into()),
            target::Target::Worker(worker) => Self::Worker(WorkerTargetInput {
                queue: worker.queue,
                task: worker.task,
                input: worker.input,
                tags: Some(worker.tags),
            }),
            target::Target::Noop(noop) => Self::Noop(NoopTargetInput { note: noop.note }),
        }
    }
}

impl From<target::Http> for HttpTargetInput {
    fn from(http: target::Http) -> Self {
        let (body, json) = match http.body {
            Some(Value::String(text)) => (Some(text), None),
            json => (None, json),
        };
        let statuses = http.expected_status.to_string();
        let statuses = statuses.split(", ").map(str::to_owned).collect();
        Self {
            method: word(&http.method),
            url: http.url,
            headers: pairs(&http.headers),
            body,
            json,
            expected_status: (http.expected_status != StatusSet::default()).then_some(statuses),
            expected_body: http.expected_body,
            max_redirects: Some(http.max_redirects),
            output: http.output.into(),
            signing_secret: http.signing_secret.as_ref().map(exposed),
            client_certificate: http.client_certificate.as_ref().map(exposed),
        }
    }
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
) -> Result<BTreeMap<String, SecretText>, BadInput> {
    let mut values = BTreeMap::new();
    for HeaderInput { name, value } in pairs.unwrap_or_default() {
        if values.insert(name.clone(), SecretText::new(value)).is_some() {
            return Err(BadInput::new(field, name, "occurs twice", "give each name once"));
        }
    }
    Ok(values)
}

/// The reverse of [`secrets`].
pub(super) fn pairs(values: &BTreeMap<String, SecretText>) -> Option<Vec<HeaderInput>> {
    let pair = |(name, value): (&String, &SecretText)| HeaderInput {
        name: name.clone(),
        value: exposed(value),
    };
    Some(values.iter().map(pair).collect())
}

pub(super) fn exposed(secret: &SecretText) -> String {
    secret.expose().to_owned()
}

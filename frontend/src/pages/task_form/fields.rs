//! The fields of a task, as text.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    action::{Action, HttpAction, TaskPlan},
    credentials::is_open,
    event_fields::EventFields,
    lost::{LostCredentials, credential_words, has_credential},
    reading::as_line,
};
use crate::{
    model::{Backoff, HttpAnswer, Pair, Target, Task},
    time::decimal,
};

type Text = RwSignal<String>;

/// Every field of a task. A copy contains the same handles, not copies of the texts.
#[derive(Clone, Copy)]
pub(in crate::pages) struct TaskFields {
    pub(in crate::pages) name: Text,
    /// The kind of target: `command`, `http`, `publish`, `worker` or `noop`.
    pub(in crate::pages) kind: Text,
    pub(in crate::pages) program: Text,
    /// The arguments, one per line; as a JSON string if a plain line cannot hold the argument.
    pub(in crate::pages) args: Text,
    pub(in crate::pages) script: Text,
    /// The environment, one `NAME=value` per line; the value may be a JSON string, as an argument may.
    pub(in crate::pages) environment: Text,
    pub(in crate::pages) directory: Text,
    pub(in crate::pages) user: Text,
    pub(in crate::pages) method: Text,
    pub(in crate::pages) url: Text,
    /// The headers, one `Name: value` per line.
    pub(in crate::pages) headers: Text,
    pub(in crate::pages) body: Text,
    pub(in crate::pages) expected: Text,
    /// The use of the response: `keep` or `merge`.
    pub(in crate::pages) answer: Text,
    pub(in crate::pages) secret: Text,
    /// Whether the request was signed when the form was opened, and whether the signature should be removed.
    pub(in crate::pages) is_signed: RwSignal<bool>,
    pub(in crate::pages) unsigns: RwSignal<bool>,
    pub(in crate::pages) queue: Text,
    pub(in crate::pages) job: Text,
    /// The worker's input: JSON, or empty.
    pub(in crate::pages) input: Text,
    /// The worker's tags, separated by commas.
    pub(in crate::pages) worker_tags: Text,
    pub(in crate::pages) idle_note: Text,
    pub(in crate::pages) event: EventFields,
    pub(in crate::pages) timeout: Text,
    pub(in crate::pages) kill_grace: Text,
    pub(in crate::pages) attempts: Text,
    pub(in crate::pages) backoff: Text,
    pub(in crate::pages) initial: Text,
    pub(in crate::pages) ceiling: Text,
    pub(in crate::pages) spread: Text,
    /// The failures that are retried, separated by commas.
    pub(in crate::pages) retry_on: Text,
    /// JSON with the settings of an HTTP request that have no field in the form.
    pub(in crate::pages) rest: Text,
    pub(super) lost: LostCredentials,
}

/// The settings of an HTTP request that have no field in the form.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct HttpRest {
    /// The body, if it is JSON. Its text is in the field, which does not say that.
    pub(super) json: Option<Value>,
    /// A body that is blank, but not absent: a request with an absent body has the usual one.
    pub(super) blank_body: Option<String>,
    pub(super) expected_body: Option<String>,
    pub(super) max_redirects: Option<i64>,
    pub(super) client_certificate: Option<String>,
}

impl TaskFields {
    /// Fields with the schema's defaults.
    pub(in crate::pages) fn new() -> Self {
        let text = |value: &str| RwSignal::new(value.to_owned());
        let lost = LostCredentials::new();
        Self {
            name: text("main"),
            kind: text("command"),
            program: text(""),
            args: text(""),
            script: text(""),
            environment: text(""),
            directory: text(""),
            user: text(""),
            method: text("POST"),
            url: text(""),
            headers: text(""),
            body: text(""),
            expected: text(""),
            answer: text("keep"),
            secret: text(""),
            is_signed: RwSignal::new(false),
            unsigns: RwSignal::new(false),
            queue: text("default"),
            job: text(""),
            input: text(""),
            worker_tags: text(""),
            idle_note: text(""),
            event: EventFields::new(lost),
            timeout: text("300"),
            kill_grace: text("10"),
            attempts: text("1"),
            backoff: text("exponential"),
            initial: text("1"),
            ceiling: text("300"),
            spread: text("0.2"),
            retry_on: text(""),
            rest: text(""),
            lost,
        }
    }

    /// Every text except the secrets, each with a name.
    pub(in crate::pages) fn texts(&self) -> Vec<(&'static str, Text)> {
        let own = [
            ("task_name", self.name),
            ("kind", self.kind),
            ("program", self.program),
            ("args", self.args),
            ("script", self.script),
            ("environment", self.environment),
            ("directory", self.directory),
            ("user", self.user),
            ("method", self.method),
            ("url", self.url),
            ("headers", self.headers),
            ("body", self.body),
            ("expected", self.expected),
            ("answer", self.answer),
            ("queue", self.queue),
            ("job", self.job),
            ("input", self.input),
            ("worker_tags", self.worker_tags),
            ("idle_note", self.idle_note),
            ("timeout", self.timeout),
            ("kill_grace", self.kill_grace),
            ("attempts", self.attempts),
            ("backoff", self.backoff),
            ("initial", self.initial),
            ("ceiling", self.ceiling),
            ("spread", self.spread),
            ("retry_on", self.retry_on),
            ("rest", self.rest),
        ];
        own.into_iter().chain(self.event.texts()).collect()
    }

    /// The texts that [`texts`](Self::texts) leaves out, each with a name.
    pub(in crate::pages) fn secrets(&self) -> [(&'static str, Text); 4] {
        let [password, secret_key, session_token] = self.event.secrets();
        [
            ("signing_secret", self.secret),
            ("password", password),
            ("secret_key", secret_key),
            ("session_token", session_token),
        ]
    }

    /// The secrets that may be saved because they reveal nothing, each with its name; tracked.
    pub(in crate::pages) fn open_secrets(
        &self,
    ) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let secrets = self.secrets().map(|(name, text)| (name, text.get()));
        secrets.into_iter().filter(|(_, text)| is_open(text))
    }

    /// The names of the secrets that a draft does not contain: those that it may not save, and those that an earlier
    /// draft lost and that were not entered again; tracked.
    pub(in crate::pages) fn left_out(&self) -> Vec<&'static str> {
        let is_out = |(name, text): &(&'static str, Text)| {
            text.with(|text| !is_open(text)) || self.lost.has(name, *text)
        };
        self.secrets().into_iter().filter(is_out).map(|(name, _)| name).collect()
    }

    /// The names of the secrets that a draft lost and that were not entered again; tracked.
    pub(in crate::pages) fn lost_names(&self) -> Vec<&'static str> {
        let is_missed = |(name, text): &(&'static str, Text)| self.lost.has(name, *text);
        self.secrets().into_iter().filter(is_missed).map(|(name, _)| name).collect()
    }

    /// Marks the secrets that a draft did not contain, once the draft's texts are restored.
    pub(in crate::pages) fn set_lost(&self, names: &[&str]) {
        self.lost.set(self.secrets().into_iter().filter(|(name, _)| names.contains(name)));
    }

    /// Descriptions of the lost secrets that the target needs and that were not entered again; tracked.
    pub(in crate::pages) fn lost_words(&self) -> Vec<&'static str> {
        let (kind, broker) = (self.kind.get(), self.event.broker.get());
        let is_used = |name: &&'static str| has_credential(&kind, &broker, name);
        self.lost_names().into_iter().filter(is_used).map(credential_words).collect()
    }

    /// Fills the fields from a task that the server sent.
    pub(in crate::pages) fn set_task(&self, task: &Task) {
        let is_signed = matches!(&task.target, Target::Http(http) if http.signed);
        self.set(&TaskPlan {
            name: task.name.clone(),
            action: Action::of(&task.target),
            timeout: task.timeout_seconds,
            kill_grace: task.kill_grace_seconds,
            retry: task.retry,
            retry_on: task.retry_on.clone(),
        });
        self.is_signed.set(is_signed);
    }

    /// Prepares the fields for a copy of the task. The copy would be unsigned without a word, because a form never has
    /// the secret of a signature.
    pub(in crate::pages) fn detach(&self) {
        if self.is_signed.get_untracked() {
            self.is_signed.set(false);
            self.set_lost(&["signing_secret"]);
        }
    }

    /// Fills the fields from a plan.
    pub(in crate::pages) fn set(&self, plan: &TaskPlan) {
        self.name.set(plan.name.clone());
        self.timeout.set(decimal(plan.timeout));
        self.kill_grace.set(decimal(plan.kill_grace));
        self.attempts.set(plan.retry.max_attempts.to_string());
        self.backoff.set(backoff_name(plan.retry.backoff).to_owned());
        self.initial.set(decimal(plan.retry.initial_seconds));
        self.ceiling.set(decimal(plan.retry.max_seconds));
        self.spread.set(decimal(plan.retry.jitter));
        self.retry_on.set(plan.retry_on.join(", "));
        match &plan.action {
            Action::Http(http) => self.set_http(http),
            Action::Command(command) => {
                let text = |value: &Option<String>| value.clone().unwrap_or_default();
                self.program.set(text(&command.program));
                let args = command.args.iter().flatten().map(|arg| as_line(arg));
                self.args.set(args.collect::<Vec<_>>().join("\n"));
                self.script.set(text(&command.script));
                let variables = command.environment.iter();
                let variables = variables.map(|Pair { name, value }| match value.as_str() {
                    "" => format!("{name}="),
                    value => format!("{name}={}", as_line(value)),
                });
                self.environment.set(variables.collect::<Vec<_>>().join("\n"));
                self.directory.set(text(&command.directory));
                self.user.set(text(&command.user));
            }
            Action::Publish(publish) => self.event.set(publish),
            Action::Worker(worker) => {
                self.queue.set(worker.queue.clone());
                self.job.set(worker.task.clone());
                let input = worker.input.as_ref().map(serde_json::to_string_pretty);
                self.input.set(input.and_then(Result::ok).unwrap_or_default());
                self.worker_tags.set(worker.tags.join(", "));
            }
            Action::Noop(noop) => self.idle_note.set(noop.note.clone()),
        }
        self.kind.set(plan.action.kind().to_owned());
    }

    fn set_http(&self, http: &HttpAction) {
        self.method.set(http.method.clone());
        self.url.set(http.url.clone());
        self.headers.set(lines(&http.headers, ": "));
        let json = http.json.as_ref().map(serde_json::to_string_pretty).and_then(Result::ok);
        self.body.set(json.or_else(|| http.body.clone()).unwrap_or_default());
        let expected = http.expected_status.as_ref().map(|status| status.join(", "));
        self.expected.set(expected.unwrap_or_default());
        let answer = match http.output {
            HttpAnswer::Keep => "keep",
            HttpAnswer::Merge => "merge",
        };
        self.answer.set(answer.to_owned());
        self.secret.set(http.signing_secret.clone().unwrap_or_default());
        self.unsigns.set(false);
        let rest = HttpRest {
            json: http.json.clone(),
            blank_body: http.body.clone().filter(|body| body.trim().is_empty()),
            expected_body: http.expected_body.clone(),
            max_redirects: http.max_redirects,
            client_certificate: http.client_certificate.clone(),
        };
        self.rest.set(serde_json::to_string(&rest).unwrap_or_default());
    }
}

pub(super) fn lines(pairs: &[Pair], apart: &str) -> String {
    let lines = pairs.iter().map(|pair| format!("{}{apart}{}", pair.name, pair.value));
    lines.collect::<Vec<_>>().join("\n")
}

fn backoff_name(backoff: Backoff) -> &'static str {
    match backoff {
        Backoff::Fixed => "fixed",
        Backoff::Exponential => "exponential",
    }
}

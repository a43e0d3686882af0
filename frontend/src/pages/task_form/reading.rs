//! Parses the fields of a task into values, or reports the field that cannot be parsed and why. Every field that this
//! code reads is tracked.

use leptos::prelude::*;
use serde_json::Value;

use super::{
    action::{Action, CommandAction, HttpAction, NoopAction, TaskPlan, WorkerAction},
    event::{BrokerAction, EventAction, NatsAction, PublishAction},
    fields::{HttpRest, TaskFields},
};
use crate::model::{Backoff, Command, Failure, Http, HttpAnswer, Pair, Publish, Retry, Target};

/// The text, unless it is blank.
pub(in crate::pages) fn given(text: RwSignal<String>) -> Option<String> {
    let text = text.get();
    (!text.trim().is_empty()).then_some(text)
}

/// Parses a whole number.
pub(in crate::pages) fn whole(field: &str, text: &str) -> Result<i64, Failure> {
    text.trim().parse().map_err(|_| no_number(field, text))
}

/// Parses a number that may have a fraction. The JSON parser does it, because it is compiled in anyway.
pub(in crate::pages) fn number(field: &str, text: &str) -> Result<f64, Failure> {
    serde_json::from_str(text.trim()).map_err(|_| no_number(field, text))
}

fn no_number(field: &str, text: &str) -> Failure {
    let message = format!("“{}” is not a valid number here.", text.trim());
    Failure::of_field(field, message)
}

/// The parts of a list; empty ones are left out.
pub(in crate::pages) fn split(text: &str, apart: char) -> Vec<String> {
    text.split(apart).map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The text of one line: the line without the spaces around it, or what a JSON string says. A JSON string holds what a
/// plain line cannot: line breaks, spaces at an end, and no letters at all.
fn of_line(line: &str) -> String {
    let line = line.trim();
    serde_json::from_str(line).unwrap_or_else(|_| line.to_owned())
}

/// A text as one line, from which [`of_line`] returns the same text.
pub(super) fn as_line(text: &str) -> String {
    let is_plain = !text.is_empty() && !text.contains(['\n', '\r']) && of_line(text) == text;
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

/// The texts of lines; empty lines are left out.
fn texts(lines: &str) -> Vec<String> {
    lines.lines().filter(|line| !line.trim().is_empty()).map(of_line).collect()
}

/// Parses the lines of an environment. Other than the value of a header, that of a variable may have several lines.
fn variables(field: &str, text: &str) -> Result<Vec<Pair>, Failure> {
    let pairs = pairs(field, text, '=')?.into_iter();
    Ok(pairs.map(|Pair { name, value }| Pair { name, value: of_line(&value) }).collect())
}

/// Parses lines that each contain a name and a value.
pub(super) fn pairs(field: &str, text: &str, apart: char) -> Result<Vec<Pair>, Failure> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| match line.split_once(apart) {
            Some((name, value)) => {
                Ok(Pair { name: name.trim().to_owned(), value: value.trim().to_owned() })
            }
            None => {
                let message = format!("“{line}” has no “{apart}” between name and value.");
                Err(Failure::of_field(field, message))
            }
        })
        .collect()
}

impl TaskFields {
    /// The values of all fields that apply.
    ///
    /// # Errors
    /// The first field that cannot be parsed.
    pub(in crate::pages) fn plan(&self) -> Result<TaskPlan, Failure> {
        Ok(TaskPlan {
            name: self.name.get().trim().to_owned(),
            action: self.action()?,
            timeout: number("timeoutSeconds", &self.timeout.get())?,
            kill_grace: number("killGraceSeconds", &self.kill_grace.get())?,
            retry: Retry {
                max_attempts: whole("retry.maxAttempts", &self.attempts.get())?,
                backoff: match self.backoff.get().as_str() {
                    "fixed" => Backoff::Fixed,
                    _ => Backoff::Exponential,
                },
                initial_seconds: number("retry.initialSeconds", &self.initial.get())?,
                max_seconds: number("retry.maxSeconds", &self.ceiling.get())?,
                jitter: number("retry.jitter", &self.spread.get())?,
            },
            retry_on: split(&self.retry_on.get(), ','),
        })
    }

    fn action(&self) -> Result<Action, Failure> {
        match self.kind.get().as_str() {
            "http" => self.http().map(Action::Http),
            "worker" => self.worker().map(Action::Worker),
            "noop" => Ok(Action::Noop(NoopAction { note: self.idle_note.get() })),
            "publish" => self.event.action().map(|publish| Action::Publish(Box::new(publish))),
            _ => self.command().map(Action::Command),
        }
    }

    fn command(&self) -> Result<CommandAction, Failure> {
        Ok(CommandAction {
            program: given(self.program),
            args: given(self.args).map(|text| texts(&text)),
            script: given(self.script),
            environment: variables("target.command.environment", &self.environment.get())?,
            directory: given(self.directory),
            user: given(self.user),
        })
    }

    fn http(&self) -> Result<HttpAction, Failure> {
        let rest: HttpRest = serde_json::from_str(&self.rest.get()).unwrap_or_default();
        let text = self.body.get();
        // A JSON body stays one as long as its text is JSON: a text would be a template as a whole.
        let json = rest.json.and_then(|_| serde_json::from_str::<Value>(&text).ok());
        let json = json.filter(|body| !body.is_string() && !body.is_null());
        let blank = rest.blank_body.filter(|blank| *blank == text);
        let body = Some(text).filter(|text| !text.trim().is_empty()).or(blank);
        Ok(HttpAction {
            method: self.method.get(),
            url: self.url.get().trim().to_owned(),
            headers: pairs("target.http.headers", &self.headers.get(), ':')?,
            body: body.filter(|_| json.is_none()),
            expected_status: given(self.expected).map(|text| split(&text, ',')),
            output: match self.answer.get().as_str() {
                "merge" => HttpAnswer::Merge,
                _ => HttpAnswer::Keep,
            },
            // An empty secret removes the signature; an absent secret keeps it.
            signing_secret: if self.unsigns.get() {
                Some(String::new())
            } else {
                given(self.secret)
            },
            json,
            expected_body: rest.expected_body,
            max_redirects: rest.max_redirects,
            client_certificate: rest.client_certificate,
        })
    }

    fn worker(&self) -> Result<WorkerAction, Failure> {
        let read = |text: String| {
            serde_json::from_str(&text).map_err(|why| {
                Failure::of_field("target.worker.input", format!("This is not JSON: {why}."))
            })
        };
        Ok(WorkerAction {
            queue: self.queue.get().trim().to_owned(),
            task: self.job.get().trim().to_owned(),
            input: given(self.input).map(read).transpose()?,
            tags: split(&self.worker_tags.get(), ','),
        })
    }
}

impl Action {
    /// Converts the server's target. The server never sends the secret of a signature.
    pub(in crate::pages) fn of(target: &Target) -> Self {
        match target {
            Target::Http(http) => Self::Http(HttpAction::of(http)),
            Target::Command(command) => Self::Command(CommandAction::of(command)),
            Target::Publish(publish) => Self::publish(publish),
            Target::Worker(worker) => Self::Worker(WorkerAction {
                queue: worker.queue.clone(),
                task: worker.task.clone(),
                input: worker.input.clone(),
                tags: worker.tags.clone(),
            }),
            Target::Noop(noop) => Self::Noop(NoopAction { note: noop.note.clone() }),
        }
    }
}

impl Action {
    /// Converts the server's event. If this console does not know its broker, the fields are left empty, and the server
    /// refuses them.
    fn publish(publish: &Publish) -> Self {
        let read = PublishAction::of(&publish.input);
        Self::Publish(Box::new(read.unwrap_or_else(|| PublishAction {
            to: BrokerAction::Nats(NatsAction::default()),
            event: EventAction::default(),
        })))
    }
}

fn some(values: &[String]) -> Option<Vec<String>> {
    (!values.is_empty()).then(|| values.to_vec())
}

impl HttpAction {
    fn of(http: &Http) -> Self {
        Self {
            method: http.method.clone(),
            url: http.url.clone(),
            headers: http.headers.clone(),
            body: http.body.clone().filter(|_| http.json.is_none()),
            expected_status: some(&http.expected_status),
            output: http.output,
            signing_secret: None,
            json: http.json.clone(),
            expected_body: http.expected_body.clone(),
            max_redirects: http.max_redirects,
            client_certificate: http.client_certificate.clone(),
        }
    }
}

impl CommandAction {
    fn of(command: &Command) -> Self {
        Self {
            program: command.program.clone(),
            args: some(&command.args),
            script: command.script.clone(),
            environment: command.environment.clone(),
            directory: command.directory.clone(),
            user: command.user.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_of_pairs_are_read_and_a_line_without_a_separator_is_named() {
        let pair = |name: &str, value: &str| Pair { name: name.into(), value: value.into() };
        assert_eq!(
            pairs("h", "Accept: text/plain\n\n X-A :b:c", ':'),
            Ok(vec![pair("Accept", "text/plain"), pair("X-A", "b:c")])
        );
        let refused = pairs("target.http.headers", "Accept", ':').unwrap_err();
        assert_eq!(refused.field.as_deref(), Some("target.http.headers"));
        assert!(refused.message.contains("Accept"), "{}", refused.message);
    }

    #[test]
    fn a_command_keeps_what_a_plain_line_cannot_hold() {
        let words =
            ["-c", "set -e\necho hi", " x ", "", "\"quoted\"", "a\"b", "\r", "null", "[1]", "\\n"];
        let pair = |value: &str| Pair { name: "A".to_owned(), value: value.to_owned() };
        let command = CommandAction {
            program: Some("sh".to_owned()),
            args: Some(words.map(str::to_owned).to_vec()),
            environment: words.map(pair).to_vec(),
            ..CommandAction::default()
        };
        Owner::new().with(|| {
            let fields = TaskFields::new();
            let mut plan = untrack(|| fields.plan()).unwrap();
            plan.action = Action::Command(command);
            fields.set(&plan);
            assert_eq!(untrack(|| fields.plan()), Ok(plan));
            let typed = fields.args.get_untracked();
            assert!(typed.starts_with("-c\n\"set -e\\necho hi\"\n"), "{typed}");
        });
    }

    #[test]
    fn a_request_keeps_a_body_that_is_json_or_empty() {
        Owner::new().with(|| {
            let fields = TaskFields::new();
            let plan = || untrack(|| fields.plan()).unwrap();
            let http = || match plan().action {
                Action::Http(http) => http,
                other => panic!("{other:?}"),
            };
            for body in [
                json!({}),
                json!({ "body": "" }),
                json!({ "body": " \n" }),
                json!({ "body": "{\"a\": 1}" }),
                json!({ "json": { "a": "{{ context.a }}" } }),
                json!({ "json": [1] }),
                json!({ "json": 5 }),
            ] {
                let mut sent = json!({ "url": "https://example.org", "expectedBody": "ok" });
                sent.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
                let sent: HttpAction = serde_json::from_value(sent).unwrap();
                fields.set(&TaskPlan { action: Action::Http(sent.clone()), ..plan() });
                assert_eq!(http(), sent, "{body}");
            }
            fields.body.set("{ \"b\": 2 }".to_owned());
            assert_eq!((http().body, http().json), (None, Some(json!({ "b": 2 }))));
            fields.body.set("plain".to_owned());
            assert_eq!((http().body.as_deref(), http().json), (Some("plain"), None));
            fields.body.set(String::new());
            assert_eq!((http().body, http().json), (None, None));
        });
    }

    #[test]
    fn empty_parts_of_a_list_are_left_out() {
        assert_eq!(split(" a, ,b,", ','), ["a", "b"]);
    }

    #[test]
    fn a_number_that_is_none_names_its_field() {
        assert_eq!(whole("x", " 12 "), Ok(12));
        assert_eq!(number("x", " 0.25 "), Ok(0.25));
        for refused in [whole("x", "1.5").map(drop), number("x", "many").map(drop)] {
            assert_eq!(refused.unwrap_err().field.as_deref(), Some("x"));
        }
    }
}

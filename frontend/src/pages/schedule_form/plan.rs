//! The fields' values, or which field cannot be read and why.

use leptos::prelude::*;

use super::draft::Draft;
use crate::{
    api::{Code, Failure},
    model::{
        Backoff, CatchUp, GapPolicy, Misfire, OverlapHourPolicy, OverlapPolicy, Policy, Retry,
    },
    time::Moment,
};

/// A schedule that can be sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) name: String,
    pub(super) note: String,
    pub(super) tags: Vec<String>,
    pub(super) timing: TimingPlan,
    pub(super) misfire: Misfire,
    pub(super) overlap: OverlapPolicy,
    pub(super) start_deadline_seconds: Option<i64>,
    pub(super) context: serde_json::Value,
    pub(super) work: Work,
}

/// When.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TimingPlan {
    pub(super) expressions: Vec<String>,
    pub(super) zone: String,
    pub(super) policy: Policy,
}

/// What: a workflow that exists, or a task of its own.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Work {
    Workflow(String),
    Task { name: String, action: Action, timeout: f64, kill_grace: f64, retry: Retry },
}

/// How the task acts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Http {
        method: String,
        url: String,
        headers: Vec<(String, String)>,
        body: Option<String>,
        expected: Option<Vec<String>>,
        secret: Option<String>,
    },
    Command {
        program: Option<String>,
        args: Option<Vec<String>>,
        script: Option<String>,
        environment: Option<Vec<(String, String)>>,
        directory: Option<String>,
        user: Option<String>,
    },
    Noop {
        note: String,
    },
}

fn wrong(field: &str, message: impl Into<String>) -> Failure {
    let mut failure = Failure::new(Code::BadUserInput, message);
    failure.field = Some(field.to_owned());
    failure
}

fn given(text: RwSignal<String>) -> Option<String> {
    let text = text.get_untracked();
    (!text.trim().is_empty()).then_some(text)
}

fn number<T: std::str::FromStr>(field: &str, text: &str) -> Result<T, Failure> {
    let text = text.trim();
    text.parse().map_err(|_| wrong(field, format!("“{text}” is not a number of the kind wanted.")))
}

fn split(text: &str, apart: char) -> Vec<String> {
    text.split(apart).map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Lines of a name and a value.
fn pairs(field: &str, text: &str, apart: char) -> Result<Vec<(String, String)>, Failure> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| match line.split_once(apart) {
            Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
            None => Err(wrong(field, format!("“{line}” has no “{apart}” between name and value."))),
        })
        .collect()
}

impl Draft {
    /// The timing, read as far as it can be: what cannot be read the server will name. Tracks every field that it reads.
    pub(super) fn timing(&self) -> TimingPlan {
        TimingPlan {
            expressions: self
                .expressions
                .with(|all| all.iter().map(|(_, text)| text.get()).collect()),
            zone: self.zone.get().trim().to_owned(),
            policy: Policy {
                gap: match self.gap.get().as_str() {
                    "skip" => GapPolicy::Skip,
                    _ => GapPolicy::Shift,
                },
                overlap: match self.overlap_hour.get().as_str() {
                    "last" => OverlapHourPolicy::Last,
                    "both" => OverlapHourPolicy::Both,
                    _ => OverlapHourPolicy::First,
                },
                start_at: Moment::parse(&self.start.get()),
                end_at: Moment::parse(&self.end.get()),
                jitter_seconds: self.jitter.get().trim().parse().unwrap_or(0),
            },
        }
    }

    /// Everything.
    ///
    /// # Errors
    /// The first field that cannot be read.
    pub(super) fn plan(&self) -> Result<Plan, Failure> {
        let text = |signal: RwSignal<String>| signal.get_untracked();
        number::<i64>("jitterSeconds", &text(self.jitter))?;
        let context = serde_json::from_str(&text(self.context))
            .map_err(|why| wrong("context", format!("This is not JSON: {why}.")))?;
        Ok(Plan {
            name: text(self.name).trim().to_owned(),
            note: text(self.note).trim().to_owned(),
            tags: split(&text(self.tags), ','),
            timing: untrack(|| self.timing()),
            misfire: Misfire {
                catch_up: match text(self.catch_up).as_str() {
                    "skip" => CatchUp::Skip,
                    "all" => CatchUp::All,
                    _ => CatchUp::Latest,
                },
                grace_seconds: number("misfire.graceSeconds", &text(self.grace))?,
                max: number("misfire.max", &text(self.max))?,
                spacing_seconds: number("misfire.spacingSeconds", &text(self.spacing))?,
                window_seconds: number("misfire.windowSeconds", &text(self.window))?,
            },
            overlap: match text(self.overlap).as_str() {
                "allow" => OverlapPolicy::Allow,
                _ => OverlapPolicy::Skip,
            },
            start_deadline_seconds: given(self.deadline)
                .map(|text| number("startDeadlineSeconds", &text))
                .transpose()?,
            context,
            work: self.work()?,
        })
    }

    fn work(&self) -> Result<Work, Failure> {
        let text = |signal: RwSignal<String>| signal.get_untracked();
        let action = match text(self.kind).as_str() {
            "workflow" => return Ok(Work::Workflow(text(self.workflow).trim().to_owned())),
            "http" => Action::Http {
                method: text(self.method),
                url: text(self.url).trim().to_owned(),
                headers: pairs("target.http.headers", &text(self.headers), ':')?,
                body: given(self.body),
                expected: given(self.expected).map(|text| split(&text, ',')),
                secret: given(self.secret),
            },
            "noop" => Action::Noop { note: text(self.idle_note) },
            _ => {
                let environment =
                    pairs("target.command.environment", &text(self.environment), '=')?;
                Action::Command {
                    program: given(self.program),
                    args: given(self.args).map(|text| split(&text, '\n')),
                    script: given(self.script),
                    environment: (!environment.is_empty()).then_some(environment),
                    directory: given(self.directory),
                    user: given(self.user),
                }
            }
        };
        Ok(Work::Task {
            name: text(self.task_name).trim().to_owned(),
            action,
            timeout: number("timeoutSeconds", &text(self.timeout))?,
            kill_grace: number("killGraceSeconds", &text(self.kill_grace))?,
            retry: Retry {
                max_attempts: number("retry.maxAttempts", &text(self.attempts))?,
                backoff: match text(self.backoff).as_str() {
                    "fixed" => Backoff::Fixed,
                    _ => Backoff::Exponential,
                },
                initial_seconds: number("retry.initialSeconds", &text(self.initial))?,
                max_seconds: number("retry.maxSeconds", &text(self.ceiling))?,
                jitter: number("retry.jitter", &text(self.spread))?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_pairs_are_read_and_a_line_without_a_separator_is_named() {
        assert_eq!(
            pairs("h", "Accept: text/plain\n\n X-A :b:c", ':'),
            Ok(vec![("Accept".into(), "text/plain".into()), ("X-A".into(), "b:c".into())])
        );
        let refused = pairs("target.http.headers", "Accept", ':').unwrap_err();
        assert_eq!(refused.field.as_deref(), Some("target.http.headers"));
        assert!(refused.message.contains("Accept"), "{}", refused.message);
    }

    #[test]
    fn empty_parts_of_a_list_are_left_out() {
        assert_eq!(split(" a, ,b,", ','), ["a", "b"]);
    }

    #[test]
    fn a_number_that_is_none_names_its_field() {
        assert_eq!(number::<i64>("x", " 12 "), Ok(12));
        assert_eq!(
            number::<i64>("misfire.max", "many").unwrap_err().field.as_deref(),
            Some("misfire.max")
        );
    }
}

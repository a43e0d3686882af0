//! The fields' values, or which field cannot be read and why.

use leptos::prelude::*;

use super::draft::Draft;
use crate::{
    model::{
        Backoff, CatchUp, Failure, GapPolicy, HttpAnswer, Misfire, OverlapHourPolicy,
        OverlapPolicy, Pair, Policy, Retry,
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
    pub(super) calendars: Vec<String>,
    pub(super) max_fires: Option<i64>,
    pub(super) misfire: Misfire,
    pub(super) overlap: OverlapPolicy,
    pub(super) buffer_limit: Option<i64>,
    pub(super) group: Option<String>,
    pub(super) priority: i64,
    pub(super) start_deadline_seconds: Option<i64>,
    pub(super) retention_days: Option<i64>,
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
    /// What is there stays: the form has no fields for it.
    Kept,
    Workflow(String),
    Task {
        name: String,
        action: Action,
        timeout: f64,
        kill_grace: f64,
        retry: Retry,
        retry_on: Vec<String>,
    },
}

/// How the task acts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Http {
        method: String,
        url: String,
        headers: Vec<Pair>,
        body: Option<String>,
        expected: Option<Vec<String>>,
        answer: HttpAnswer,
        secret: Option<String>,
    },
    Command {
        program: Option<String>,
        args: Option<Vec<String>>,
        script: Option<String>,
        environment: Vec<Pair>,
        directory: Option<String>,
        user: Option<String>,
    },
    Noop {
        note: String,
    },
}

fn given(text: RwSignal<String>) -> Option<String> {
    let text = text.get_untracked();
    (!text.trim().is_empty()).then_some(text)
}

/// A whole number.
fn whole(field: &str, text: &str) -> Result<i64, Failure> {
    text.trim().parse().map_err(|_| no_number(field, text))
}

/// A number that may have a fraction. JSON's reader does it, which is here anyway.
fn number(field: &str, text: &str) -> Result<f64, Failure> {
    serde_json::from_str(text.trim()).map_err(|_| no_number(field, text))
}

fn no_number(field: &str, text: &str) -> Failure {
    let message = format!("“{}” is not a number of the kind wanted.", text.trim());
    Failure::of_field(field, message)
}

fn split(text: &str, apart: char) -> Vec<String> {
    text.split(apart).map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Lines of a name and a value.
fn pairs(field: &str, text: &str, apart: char) -> Result<Vec<Pair>, Failure> {
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
                start_at: Moment::parse_local(&self.start.get()),
                end_at: Moment::parse_local(&self.end.get()),
                jitter_seconds: self.jitter.get().trim().parse().unwrap_or(0),
            },
        }
    }

    /// The names of the calendars. Tracked.
    pub(super) fn calendars(&self) -> Vec<String> {
        split(&self.calendars.get(), ',')
    }

    /// Everything that applies.
    ///
    /// # Errors
    /// The first field that cannot be read.
    pub(super) fn plan(&self) -> Result<Plan, Failure> {
        let text = |signal: RwSignal<String>| signal.get_untracked();
        whole("jitterSeconds", &text(self.jitter))?;
        let context = serde_json::from_str(&text(self.context))
            .map_err(|why| Failure::of_field("context", format!("This is not JSON: {why}.")))?;
        let deadline = given(self.deadline);
        Ok(Plan {
            name: text(self.name).trim().to_owned(),
            note: text(self.note).trim().to_owned(),
            tags: split(&text(self.tags), ','),
            timing: untrack(|| self.timing()),
            calendars: untrack(|| self.calendars()),
            max_fires: given(self.max_fires).map(|text| whole("maxFires", &text)).transpose()?,
            misfire: self.misfire()?,
            overlap: match text(self.overlap).as_str() {
                "allow" => OverlapPolicy::Allow,
                "buffer_one" => OverlapPolicy::BufferOne,
                "buffer_all" => OverlapPolicy::BufferAll,
                "cancel_other" => OverlapPolicy::CancelOther,
                "terminate_other" => OverlapPolicy::TerminateOther,
                _ => OverlapPolicy::Skip,
            },
            // The other policies have no limit.
            buffer_limit: given(self.buffer_limit)
                .filter(|_| text(self.overlap) == "buffer_all")
                .map(|text| whole("bufferLimit", &text))
                .transpose()?,
            group: given(self.group).map(|group| group.trim().to_owned()),
            priority: whole("priority", &text(self.priority))?,
            start_deadline_seconds: deadline
                .map(|text| whole("startDeadlineSeconds", &text))
                .transpose()?,
            retention_days: given(self.retention)
                .map(|text| whole("retentionDays", &text))
                .transpose()?,
            context,
            work: self.work()?,
        })
    }

    fn misfire(&self) -> Result<Misfire, Failure> {
        let text = |signal: RwSignal<String>| signal.get_untracked();
        // Limits that do not apply are not shown, so nobody could mend them there.
        let applies = untrack(|| self.catches_up_all());
        let limit = |field: &str, signal: RwSignal<String>, without: i64| {
            let limit = whole(field, &text(signal));
            if applies { limit } else { Ok(limit.unwrap_or(without)) }
        };
        Ok(Misfire {
            catch_up: match text(self.catch_up).as_str() {
                "skip" => CatchUp::Skip,
                "all" => CatchUp::All,
                _ => CatchUp::Latest,
            },
            grace_seconds: whole("misfire.graceSeconds", &text(self.grace))?,
            max: limit("misfire.max", self.max, 100)?,
            spacing_seconds: limit("misfire.spacingSeconds", self.spacing, 0)?,
            window_seconds: whole("misfire.windowSeconds", &text(self.window))?,
        })
    }

    fn work(&self) -> Result<Work, Failure> {
        let text = |signal: RwSignal<String>| signal.get_untracked();
        let action = match text(self.kind).as_str() {
            "publish" | "worker" => return Ok(Work::Kept),
            "workflow" => return Ok(Work::Workflow(text(self.workflow).trim().to_owned())),
            "http" => Action::Http {
                method: text(self.method),
                url: text(self.url).trim().to_owned(),
                headers: pairs("target.http.headers", &text(self.headers), ':')?,
                body: given(self.body),
                expected: given(self.expected).map(|text| split(&text, ',')),
                answer: match text(self.answer).as_str() {
                    "merge" => HttpAnswer::Merge,
                    _ => HttpAnswer::Keep,
                },
                // An empty secret takes the signature away; none at all leaves it.
                secret: if self.unsigns.get_untracked() {
                    Some(String::new())
                } else {
                    given(self.secret)
                },
            },
            "noop" => Action::Noop { note: text(self.idle_note) },
            _ => Action::Command {
                program: given(self.program),
                args: given(self.args).map(|text| split(&text, '\n')),
                script: given(self.script),
                environment: pairs("target.command.environment", &text(self.environment), '=')?,
                directory: given(self.directory),
                user: given(self.user),
            },
        };
        Ok(Work::Task {
            name: text(self.task_name).trim().to_owned(),
            action,
            timeout: number("timeoutSeconds", &text(self.timeout))?,
            kill_grace: number("killGraceSeconds", &text(self.kill_grace))?,
            retry: Retry {
                max_attempts: whole("retry.maxAttempts", &text(self.attempts))?,
                backoff: match text(self.backoff).as_str() {
                    "fixed" => Backoff::Fixed,
                    _ => Backoff::Exponential,
                },
                initial_seconds: number("retry.initialSeconds", &text(self.initial))?,
                max_seconds: number("retry.maxSeconds", &text(self.ceiling))?,
                jitter: number("retry.jitter", &text(self.spread))?,
            },
            retry_on: split(&text(self.retry_on), ','),
        })
    }
}

#[cfg(test)]
mod tests {
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

//! The format of a module's file; `docs/modules.md` shows it. An unknown key is refused with its
//! line and column: a misspelt setting must not be silently ignored.

use std::{collections::BTreeMap, fmt};

use chrono::{DateTime, Utc};
use entity::{
    calendar::Mode,
    schedule::{CatchUp, DstGap, DstOverlap, Overlap},
};
use serde::{Deserialize, Deserializer, de};
use timetable::{CalendarEntries, DateRange, TimeWindow, Weekday, retry};

use crate::{
    config::Span,
    engine::{
        Condition, Definition, Task, When,
        commands::{BadInput, CalendarSpec, Misfire, Spec, Timing, spec::buffer_limit},
    },
    target::Target,
};

/// The largest file.
const MOST_BYTES: usize = 1024 * 1024;

/// A module.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) module: String,
    #[serde(default = "default_namespace")]
    pub(super) namespace: String,
    /// Concurrency groups: how many runs of each may be at work at once.
    #[serde(default)]
    pub(super) groups: BTreeMap<String, i64>,
    #[serde(default)]
    pub(super) calendars: BTreeMap<String, CalendarEntry>,
    #[serde(default)]
    pub(super) workflows: BTreeMap<String, WorkflowEntry>,
    #[serde(default)]
    pub(super) schedules: BTreeMap<String, ScheduleEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CalendarEntry {
    mode: Mode,
    #[serde(default)]
    dates: Vec<String>,
    #[serde(default)]
    yearly: Vec<String>,
    #[serde(default)]
    weekdays: Vec<Weekday>,
    #[serde(default)]
    ranges: Vec<DateRange>,
    #[serde(default)]
    windows: Vec<TimeWindow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkflowEntry {
    tasks: Vec<TaskEntry>,
    timeout: Option<Span>,
    max_parallel: Option<i64>,
    #[serde(default)]
    runs_on: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskEntry {
    #[serde(default = "main")]
    name: String,
    target: Target,
    timeout: Option<Span>,
    kill_grace: Option<Span>,
    #[serde(default)]
    retry: RetryEntry,
    #[serde(default)]
    retry_on: Vec<Condition>,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    when: When,
    #[serde(default)]
    allow_failure: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RetryEntry {
    max_attempts: Option<i32>,
    backoff: Option<retry::Backoff>,
    initial: Option<Span>,
    max: Option<Span>,
    jitter: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScheduleEntry {
    /// One expression or several.
    when: Expressions,
    #[serde(default = "utc")]
    zone: String,
    #[serde(default)]
    dst: DstEntry,
    start: Option<DateTime<Utc>>,
    end: Option<DateTime<Utc>>,
    jitter: Option<Seconds>,
    #[serde(default)]
    calendars: Vec<String>,
    max_fires: Option<i64>,
    #[serde(default)]
    note: String,
    #[serde(default)]
    tags: Vec<String>,
    pub(super) workflow: Option<String>,
    pub(super) task: Option<TaskEntry>,
    #[serde(default)]
    misfire: MisfireEntry,
    overlap: Option<Overlap>,
    buffer_limit: Option<i64>,
    group: Option<String>,
    #[serde(default)]
    priority: i64,
    start_deadline: Option<Seconds>,
    #[serde(default = "empty")]
    context: serde_json::Value,
    retention: Option<Days>,
    /// Only for a schedule that is new: from then on pausing is the operators'.
    #[serde(default)]
    pub(super) paused: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DstEntry {
    gap: Option<DstGap>,
    overlap: Option<DstOverlap>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct MisfireEntry {
    catch_up: Option<CatchUp>,
    grace: Option<Seconds>,
    max: Option<i64>,
    spacing: Option<Seconds>,
    window: Option<Seconds>,
}

#[derive(Debug)]
struct Expressions(Vec<String>);

/// A duration where a schedule has whole seconds: a part of one is refused, not cut off.
#[derive(Debug)]
struct Seconds(i64);

/// A duration in whole days.
#[derive(Debug)]
struct Days(i64);

fn default_namespace() -> String {
    "default".to_owned()
}

fn main() -> String {
    "main".to_owned()
}

fn utc() -> String {
    "UTC".to_owned()
}

fn empty() -> serde_json::Value {
    serde_json::json!({})
}

impl File {
    /// Reads a module's file.
    pub(super) fn read(source: &str) -> Result<Self, BadInput> {
        if source.len() > MOST_BYTES {
            let problem = format!("has {} bytes; the limit is {MOST_BYTES}", source.len());
            return Err(BadInput::new("source", "", problem, "divide it into several modules"));
        }
        serde_saphyr::from_str(source).map_err(|error| unreadable(source, &error))
    }
}

fn unreadable(source: &str, error: &serde_saphyr::Error) -> BadInput {
    let help = "see docs/modules.md for the keys that a module's file may have";
    let said = error.without_snippet().to_string();
    let said = said.lines().next().unwrap_or_default().to_owned();
    let Some(location) = error.location() else {
        return BadInput::new("source", "", said, help);
    };
    let index = usize::try_from(location.line().saturating_sub(1)).unwrap_or(0);
    let line = source.lines().nth(index).unwrap_or_default().trim();
    let place = format!("line {}, column {}", location.line(), location.column());
    let problem = if said.contains("line ") { said } else { format!("{place}: {said}") };
    let mut bad = BadInput::new("source", line, problem, help);
    bad.position = offset(source, location.line(), location.column()).map(|at| at..at);
    bad
}

/// The byte at a line and column, both from 1.
fn offset(source: &str, line: u64, column: u64) -> Option<usize> {
    let mut start = 0;
    for _ in 1..line {
        start += source.get(start..)?.find('\n')? + 1;
    }
    let characters = usize::try_from(column.checked_sub(1)?).ok()?;
    let rest = source.get(start..)?;
    Some(start + rest.char_indices().nth(characters).map_or(rest.len(), |(at, _)| at))
}

impl CalendarEntry {
    pub(super) fn spec(self, name: &str) -> CalendarSpec {
        let Self { mode, dates, yearly, weekdays, ranges, windows } = self;
        let entries = CalendarEntries { dates, yearly, weekdays, ranges, windows };
        CalendarSpec { name: name.to_owned(), mode, entries }
    }
}

impl WorkflowEntry {
    pub(super) fn definition(self) -> Definition {
        let tasks = self.tasks.into_iter().map(TaskEntry::task).collect();
        Definition {
            timeout_ms: self.timeout.map(ms),
            max_parallel: self.max_parallel.unwrap_or(Definition::USUAL_PARALLEL),
            runs_on: self.runs_on,
            ..Definition::of(tasks)
        }
    }
}

impl TaskEntry {
    pub(super) fn definition(self) -> Definition {
        Definition::single(self.task())
    }

    fn task(self) -> Task {
        let usual = retry::Policy::default();
        let retry = self.retry;
        Task {
            name: self.name,
            target: self.target,
            timeout_ms: self.timeout.map_or(300_000, ms),
            kill_grace_ms: self.kill_grace.map_or(10_000, ms),
            retry: retry::Policy {
                max_attempts: retry.max_attempts.unwrap_or(usual.max_attempts),
                backoff: retry.backoff.unwrap_or(usual.backoff),
                initial_ms: retry.initial.map_or(usual.initial_ms, ms),
                max_ms: retry.max.map_or(usual.max_ms, ms),
                jitter: retry.jitter.unwrap_or(usual.jitter),
            },
            retry_on: self.retry_on,
            needs: self.needs,
            when: self.when,
            allow_failure: self.allow_failure,
        }
    }
}

impl ScheduleEntry {
    pub(super) fn spec(self, name: &str) -> Spec {
        let usual = Misfire::default();
        let misfire = self.misfire;
        let overlap = self.overlap.unwrap_or(Overlap::Skip);
        Spec {
            name: name.to_owned(),
            note: self.note,
            tags: self.tags,
            timing: Timing {
                expressions: self.when.0,
                zone: self.zone,
                gap: self.dst.gap.unwrap_or(DstGap::Shift),
                overlap: self.dst.overlap.unwrap_or(DstOverlap::First),
                start_at: self.start,
                end_at: self.end,
                jitter_seconds: self.jitter.map_or(0, |jitter| jitter.0),
            },
            calendars: self.calendars,
            max_fires: self.max_fires,
            misfire: Misfire {
                catch_up: misfire.catch_up.unwrap_or(usual.catch_up),
                grace_seconds: misfire.grace.map_or(usual.grace_seconds, |span| span.0),
                max: misfire.max.unwrap_or(usual.max),
                spacing_seconds: misfire.spacing.map_or(usual.spacing_seconds, |span| span.0),
                window_seconds: misfire.window.map_or(usual.window_seconds, |span| span.0),
            },
            overlap,
            buffer_limit: buffer_limit(overlap, self.buffer_limit),
            group: self.group,
            priority: self.priority,
            start_deadline_seconds: self.start_deadline.map(|span| span.0),
            context: self.context,
            retention_days: self.retention.map(|days| days.0),
        }
    }
}

fn ms(span: Span) -> i64 {
    i64::try_from(span.0.as_millis()).unwrap_or(i64::MAX)
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let span = Span::deserialize(deserializer)?;
        if span.0.subsec_nanos() != 0 {
            let text = format!("'{span}' has a part of a second; give whole seconds here");
            return Err(de::Error::custom(text));
        }
        Ok(Self(i64::try_from(span.0.as_secs()).unwrap_or(i64::MAX)))
    }
}

impl<'de> Deserialize<'de> for Days {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const DAY: i64 = 24 * 60 * 60 * 1_000;
        let span = Span::deserialize(deserializer)?;
        let ms = ms(span);
        if ms % DAY != 0 {
            return Err(de::Error::custom(format!("'{span}' is not whole days, such as 30d")));
        }
        Ok(Self(ms / DAY))
    }
}

impl<'de> Deserialize<'de> for Expressions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;
        impl<'de> de::Visitor<'de> for OneOrMany {
            type Value = Expressions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an expression such as \"0 2 * * *\", or a list of these")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Expressions, E> {
                Ok(Expressions(vec![text.to_owned()]))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<Expressions, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(Expressions(texts))
            }
        }
        deserializer.deserialize_any(OneOrMany)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_refused_with_its_place() {
        let source = "module: demo\nschedules:\n  tick:\n    when: '@hourly'\n    zoen: UTC\n";
        let error = File::read(source).unwrap_err();
        assert!(error.problem.contains("zoen"), "{error}");
        assert!(error.problem.contains("line 5"), "{error}");
        assert_eq!(error.value, "zoen: UTC");
        let start = error.position.unwrap().start;
        assert!(source[start..].starts_with("zoen"), "{:?}", &source[start..]);
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused() {
        let source = "module: demo\nschedules:\n  a: {when: '@hourly'}\n  a: {when: '@daily'}\n";
        assert!(File::read(source).is_err());
    }

    #[test]
    fn a_part_of_a_second_is_refused_where_it_would_be_cut_off() {
        let source = "module: m\nschedules:\n  a: {when: '@daily', jitter: 1500ms, workflow: w}";
        let error = File::read(source).unwrap_err();
        assert!(error.problem.contains("whole seconds"), "{error}");
    }

    #[test]
    fn what_is_not_said_is_what_the_api_would_take() {
        let source = "module: m\nschedules: {a: {when: [\"@daily\", \"@hourly\"], workflow: w}}";
        let mut file = File::read(source).unwrap();
        let spec = file.schedules.remove("a").unwrap().spec("a");
        assert_eq!(spec.timing.expressions, ["@daily", "@hourly"]);
        assert_eq!(spec.misfire, Misfire::default());
        assert_eq!(file.namespace, "default");
    }
}

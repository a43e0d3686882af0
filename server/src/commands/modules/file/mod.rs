//! The format of a module's file; `docs/modules.md` shows it. An unknown key is refused with its
//! line and column: a misspelt setting must not be silently ignored.
//!
//! The same types read it, write it and generate its JSON schema, so the three cannot disagree.
//! Writing leaves out values that equal the default, and the result reads back as the same value.
//!
//! - `schedule`, `workflow`, `calendar`, `alerts`, `budget`, `maintenance`: the entries
//! - `scalars`: durations and expressions as text
//! - `parse`: parses text, with the position of a mistake; `error_text`: error messages that repeat
//!   nothing of the file but its keys; `print`: writes text
//! - `single`: one workflow as text; `place`: the position of a key in a text

mod alerts;
mod budget;
mod calendar;
mod error_text;
mod maintenance;
mod parse;
mod place;
mod print;
mod scalars;
mod schedule;
mod single;
mod workflow;

use std::collections::BTreeMap;

pub(crate) use alerts::{ChannelEntry, RuleEntry};
pub(crate) use budget::BudgetEntry;
pub(crate) use calendar::CalendarEntry;
pub(crate) use maintenance::MaintenanceEntry;
pub(crate) use parse::MAX_BYTES;
pub use print::schema;
pub(crate) use scalars::Seconds;
pub(crate) use schedule::{DstEntry, MisfireEntry, ScheduleEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub(crate) use single::{TextError, WorkflowText, write_workflow};
pub(crate) use workflow::{TaskEntry, WorkflowEntry};

/// The format of a module's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileFormat {
    /// YAML, or JSON, which is a subset of it.
    #[default]
    Yaml,
    /// TOML.
    Toml,
}

/// A module: calendars, groups, workflows, schedules, alert channels, alert rules, budgets of tags
/// and maintenance windows, declared together.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Carillon module")]
pub(crate) struct File {
    /// The module's name. What it declares belongs to it: a later deployment under this name
    /// deletes what the file no longer declares.
    pub(crate) module: String,
    /// The namespace that the module is deployed to; `default` if left out.
    #[serde(default = "default_namespace", skip_serializing_if = "is_default")]
    pub(crate) namespace: String,
    /// Concurrency groups by name, each with the maximum number of its runs at work at once.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) groups: BTreeMap<String, i64>,
    /// Calendars by name; they suppress fires of the schedules that refer to them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) calendars: BTreeMap<String, CalendarEntry>,
    /// Workflows by name: tasks that several schedules can run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) workflows: BTreeMap<String, WorkflowEntry>,
    /// Schedules by name: when to run which task or workflow.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) schedules: BTreeMap<String, ScheduleEntry>,
    /// Alert channels by name: destinations for messages about alerts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) alert_channels: BTreeMap<String, ChannelEntry>,
    /// Alert rules by name: which events are reported to which channels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) alert_rules: BTreeMap<String, RuleEntry>,
    /// Budgets of health by tag: what the schedules with the tag may lose, fail or delay.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) health_budgets: BTreeMap<String, BudgetEntry>,
    /// Maintenance windows by title: planned pauses of the schedules that match a search.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) maintenance_windows: BTreeMap<String, MaintenanceEntry>,
}

fn default_namespace() -> String {
    "default".to_owned()
}

fn is_default(namespace: &str) -> bool {
    namespace == "default"
}

impl File {
    /// A module of that name without any declarations.
    pub(crate) fn new(module: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self {
            module: module.into(),
            namespace: namespace.into(),
            groups: BTreeMap::new(),
            calendars: BTreeMap::new(),
            workflows: BTreeMap::new(),
            schedules: BTreeMap::new(),
            alert_channels: BTreeMap::new(),
            alert_rules: BTreeMap::new(),
            health_budgets: BTreeMap::new(),
            maintenance_windows: BTreeMap::new(),
        }
    }

    /// The number of objects that the module declares, groups aside.
    pub(crate) fn entries(&self) -> usize {
        let alerts = self.alert_channels.len() + self.alert_rules.len();
        let health = self.health_budgets.len() + self.maintenance_windows.len();
        self.calendars.len() + self.workflows.len() + self.schedules.len() + alerts + health
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Misfire;

    #[test]
    fn an_unknown_key_is_refused_with_its_place() {
        let yaml = "module: demo\nschedules:\n  tick:\n    when: '@hourly'\n    zoen: UTC\n";
        let toml = "module = 'demo'\n[schedules.tick]\nwhen = '@hourly'\n\nzoen = 'UTC'\n";
        for (source, format) in [(yaml, FileFormat::Yaml), (toml, FileFormat::Toml)] {
            let error = File::read(source, format).unwrap_err();
            assert!(error.problem.contains("zoen"), "{error}");
            assert!(error.problem.contains("line 5, column "), "{error}");
            assert_eq!(error.value, "");
            let start = error.position.unwrap().start;
            assert!(source[start..].starts_with("zoen"), "{:?}", &source[start..]);
        }
    }

    #[test]
    fn unknown_keys_are_refused_wherever_they_stand() {
        let good = "module: m
calendars: {c: {mode: only, windows: [{from: '08:00', to: '09:00'}], ranges: [{from: 2026-01-01, to: 2026-01-02}]}}
workflows: {w: {tasks: [{target: {http: {url: 'https://a.example'}}, retry: {max: 5s}}]}}
schedules: {a: {when: '@daily', workflow: w, dst: {gap: skip}, misfire: {max: 3}},
  b: {when: '@daily', task: {target: {command: {program: /bin/true}}}}}
alert_channels: {ops: {kind: webhook, url: 'https://a.example'}}
alert_rules: {all: {on: [failed], channels: [ops], quiet: {zone: UTC, windows: [{from: '22:00', to: '06:00'}]}}}
health_budgets: {billing: {missed: 0}}
maintenance_windows: {Upgrade: {start: '2026-01-01T00:00:00Z', end: '2026-01-01T01:00:00Z'}}";
        File::read(good, FileFormat::Yaml).unwrap();
        for (place, line) in [
            ("module: m", 1),
            ("mode: only", 2),
            ("from: '08:00'", 2),
            ("from: 2026-01-01", 2),
            ("tasks: [", 3),
            ("target: {http", 3),
            ("url: '", 3),
            ("max: 5s", 3),
            ("when: '@daily', workflow", 4),
            ("gap: skip", 4),
            ("max: 3", 4),
            ("program: ", 5),
            ("kind: webhook", 6),
            ("on: [failed]", 7),
            ("zone: UTC", 7),
            ("from: '22:00'", 7),
            ("missed: 0", 8),
            ("start: '2026", 9),
        ] {
            let separator = if place == "module: m" { "\n" } else { ", " };
            let bad = good.replacen(place, &format!("wrong: 1{separator}{place}"), 1);
            let error = File::read(&bad, FileFormat::Yaml).unwrap_err();
            assert!(error.problem.contains("wrong"), "{place}: {error}");
            assert!(error.problem.contains(&format!("line {line}, column")), "{place}: {error}");
        }
    }

    #[test]
    fn an_unknown_broker_is_refused_with_the_known_ones() {
        let source = "module: m\nschedules:\n  a:\n    when: '@daily'\n    task:\n      target:\n        \
                      publish: {to: {pigeon: {loft: a}}}\n";
        let error = File::read(source, FileFormat::Yaml).unwrap_err();
        assert!(error.problem.contains("kafka"), "{error}");
        // Values of a file are not repeated, because they may be secrets.
        assert!(!error.problem.contains("pigeon"), "{error}");
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused() {
        let source = "module: demo\nschedules:\n  a: {when: '@hourly'}\n  a: {when: '@daily'}\n";
        let error = File::read(source, FileFormat::Yaml).unwrap_err();
        assert!(error.problem.contains("line 4") && !error.problem.contains("Options"), "{error}");
        let source = "module = 'demo'\nmodule = 'demo'\n";
        let error = File::read(source, FileFormat::Toml).unwrap_err();
        assert!(error.problem.contains("line 2"), "{error}");
    }

    #[test]
    fn tabs_and_nonsense_are_refused_with_their_place() {
        for (source, format) in [
            ("module: m\nschedules:\n\ta: {}\n", FileFormat::Yaml),
            ("module: m\nschedules: [", FileFormat::Yaml),
            ("module = 'm'\n[schedules\n", FileFormat::Toml),
            ("module = 'm'\nschedules = 3\n", FileFormat::Toml),
        ] {
            let error = File::read(source, format).unwrap_err();
            assert!(error.problem.contains("line "), "{error}");
            assert!(error.problem.contains("column "), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_too_large_or_too_deep_is_refused() {
        let large = format!("module: m\n# {}", "x".repeat(MAX_BYTES));
        assert!(File::read(&large, FileFormat::Yaml).unwrap_err().problem.contains("1048576"));
        let deep = format!("module: m\nschedules: {}", "[".repeat(100_000));
        assert!(File::read(&deep, FileFormat::Yaml).is_err());
        let deep = format!("module = 'm'\nschedules = {}", "[".repeat(100_000));
        assert!(File::read(&deep, FileFormat::Toml).is_err());
        // This small text expands to a billion values.
        let mut bomb = "module: m\na: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for (new, old) in ('b'..='k').zip('a'..) {
            bomb += &format!("{new}: &{new} [*{old},*{old},*{old},*{old},*{old},*{old},*{old}]\n");
        }
        assert!(File::read(&bomb, FileFormat::Yaml).is_err());
    }

    #[test]
    fn a_part_of_a_second_is_refused_where_it_would_be_cut_off() {
        let source = "module: m\nschedules:\n  a: {when: '@daily', jitter: 1500ms, workflow: w}";
        let error = File::read(source, FileFormat::Yaml).unwrap_err();
        assert!(error.problem.contains("whole seconds"), "{error}");
    }

    #[test]
    fn an_omitted_key_has_the_apis_default() {
        let source = "module: m\nschedules: {a: {when: [\"@daily\", \"@hourly\"], workflow: w}}";
        let mut file = File::read(source, FileFormat::Yaml).unwrap();
        let spec = file.schedules.remove("a").unwrap().spec("a");
        assert_eq!(spec.timing.expressions, ["@daily", "@hourly"]);
        assert_eq!(spec.misfire, Misfire::default());
        assert_eq!(file.namespace, "default");
    }

    #[test]
    fn a_number_that_json_lacks_is_not_lost() {
        let toml = "module = 'm'\n[schedules.a]\nwhen = '@daily'\nworkflow = 'w'\n\
                    context = { most = inf, least = [-inf, nan, 1.5] }\n";
        let file = File::read(toml, FileFormat::Toml).unwrap();
        let expected = serde_json::json!({ "most": "inf", "least": ["-inf", "nan", 1.5] });
        assert_eq!(file.schedules["a"].context, expected);
    }

    #[test]
    fn toml_says_the_same_as_yaml_instants_included() {
        let toml = "module = 'm'\n[schedules.a]\nwhen = ['@daily']\nstart = 2026-01-01T00:00:00Z\n\
                    context = { since = 2026-01-01 }\n[schedules.a.task.target.http]\n\
                    url = 'https://a.example'\nexpected_status = [200, '202-204']\n";
        let yaml = "module: m\nschedules:\n  a:\n    when: '@daily'\n    \
                    start: '2026-01-01T00:00:00Z'\n    context: {since: '2026-01-01'}\n    \
                    task: {target: {http: {url: 'https://a.example', \
                    expected_status: [200, '202-204']}}}\n";
        let toml = File::read(toml, FileFormat::Toml).unwrap();
        let yaml = File::read(yaml, FileFormat::Yaml).unwrap();
        assert_eq!(serde_json::json!(toml), serde_json::json!(yaml));
        for format in [FileFormat::Yaml, FileFormat::Toml] {
            yaml.write(format).unwrap();
        }
    }

    #[test]
    fn the_committed_schema_is_the_one_that_is_meant() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/module.schema.json");
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed.trim() == schema().trim(),
            "server/module.schema.json is out of date: run `make schema` and commit it"
        );
    }
}

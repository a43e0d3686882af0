//! Checks of a module's file that need no server: whether it can be read, whether its declarations
//! are acceptable, what its timings mean, and which of them are probably mistakes.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use timetable::{Timetable, Warning};
use uuid::Uuid;

use super::{
    budgets::placed,
    file::{File, TaskEntry},
};
use crate::{
    commands::{alerts::check_rule, groups},
    model::{BadInput, Definition, DefinitionProblem, check, naming},
};

/// The findings for one schedule.
#[derive(Debug)]
pub(crate) struct LintedSchedule {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) warnings: Vec<Warning>,
}

impl File {
    /// Checks each declaration on its own. Only a plan checks the parts that need the server:
    /// secrets, the addresses of channels, quotas, and other modules' declarations.
    pub(crate) fn lint(&self, now: DateTime<Utc>) -> Result<Vec<LintedSchedule>, BadInput> {
        check::name("module", &self.module)?;
        for (name, entry) in &self.calendars {
            let checked = entry.clone().spec(name).check();
            checked.map_err(|bad| inside(bad, &format!("calendars.{name}")))?;
        }
        for (name, max_runs) in &self.groups {
            let checked = groups::checked(name, *max_runs);
            checked.map_err(|bad| BadInput { field: format!("groups.{name}"), ..bad })?;
        }
        for (name, workflow) in &self.workflows {
            let place = format!("workflows.{name}");
            check::name("name", name).map_err(|bad| inside(bad, &place))?;
            check_definition(&workflow.clone().definition(), &place, "")?;
        }
        self.lint_alerts()?;
        for (tag, entry) in &self.health_budgets {
            let checked = check::name("tag", tag).and_then(|()| entry.limits().check());
            checked.map_err(|bad| placed(bad, tag))?;
        }
        for (title, entry) in &self.maintenance_windows {
            entry
                .check(title)
                .map_err(|bad| inside(bad, &format!("maintenance_windows.{title}")))?;
        }
        let mut linted = Vec::with_capacity(self.schedules.len());
        for (name, entry) in &self.schedules {
            let place = format!("schedules.{name}");
            if entry.task.is_some() == entry.workflow.is_some() {
                let problem = "names neither a workflow nor a task of its own, or both";
                let help = "give one of 'workflow' and 'task'";
                return Err(BadInput::new(place, "", problem, help));
            }
            if let Some(task) = entry.task.clone().map(TaskEntry::definition) {
                // The fields of a schedule's own task are those of the only task there is.
                check_definition(&task, &format!("{place}.task"), "tasks[0].")?;
            }
            let spec = entry.clone().spec(name);
            spec.check().map_err(|bad| inside(bad, &place))?;
            let definition = spec.timing.definition(Uuid::nil(), now);
            let timetable = Timetable::new(&definition)
                .map_err(|error| inside(BadInput::timing(error), &place))?;
            linted.push(LintedSchedule {
                name: name.clone(),
                description: timetable.describe(),
                warnings: timetable.lint(now),
            });
        }
        Ok(linted)
    }

    /// Checks the names of channels, and the rules.
    fn lint_alerts(&self) -> Result<(), BadInput> {
        for name in self.alert_channels.keys() {
            let place = format!("alert_channels.{name}");
            check::name("name", name).map_err(|bad| inside(bad, &place))?;
        }
        for (name, entry) in &self.alert_rules {
            // Channels may exist only on the server, so their names stand for their keys.
            let mut keys = BTreeMap::new();
            let key = |channel: &String| {
                let next = Uuid::from_u128(keys.len() as u128);
                *keys.entry(channel.clone()).or_insert(next)
            };
            let channels = entry.channels.iter().map(key).collect();
            let checked = check_rule(&entry.clone().spec(name, channels));
            checked.map_err(|bad| inside(bad, &format!("alert_rules.{name}")))?;
        }
        Ok(())
    }
}

/// Checks a definition whose fields have `place` instead of `part` in front.
fn check_definition(definition: &Definition, place: &str, part: &str) -> Result<(), BadInput> {
    let told = |problem: DefinitionProblem| {
        let field = naming::in_api(&problem.field);
        let field = field.strip_prefix(part).unwrap_or(&field);
        inside(BadInput::new(field, problem.value, problem.problem, problem.help), place)
    };
    definition.validate().map_err(told)
}

/// Moves the error's field inside `place` of the file, in the file's own spelling.
fn inside(bad: BadInput, place: &str) -> BadInput {
    let field = naming::in_module(&bad.field);
    BadInput { field, ..bad }.inside(place)
}

#[cfg(test)]
mod tests {
    use super::{super::file::FileFormat, *};

    fn lint(yaml: &str) -> Result<Vec<LintedSchedule>, BadInput> {
        File::read(yaml, FileFormat::Yaml)?.lint(DateTime::UNIX_EPOCH)
    }

    #[test]
    fn a_module_is_judged_without_a_server() {
        let good = "module: m\nschedules: {a: {when: '*/7 * * * *', task: {target: {noop: {}}}}}";
        let linted = lint(good).unwrap();
        assert_eq!((linted[0].name.as_str(), linted[0].warnings.len()), ("a", 1));
        for (yaml, field) in [
            ("schedules: {a: {when: '0 25 * * *', workflow: w}}", "schedules.a.when[0]"),
            ("schedules: {a: {when: '@daily', zone: Berlin, workflow: w}}", "schedules.a.zone"),
            (
                "schedules: {a: {when: '@daily', misfire: {grace: 8d}, workflow: w}}",
                "schedules.a.misfire.grace",
            ),
            (
                "schedules: {a: {when: '@daily', task: {timeout: 8d, target: {noop: {}}}}}",
                "schedules.a.task.timeout",
            ),
            (
                "workflows: {w: {tasks: [{kill_grace: 2h, target: {noop: {}}}]}}",
                "workflows.w.tasks[0].kill_grace",
            ),
            ("calendars: {c: {mode: exclude, dates: ['2027-02-29']}}", "calendars.c.dates[0]"),
            ("groups: {g: 0}", "groups.g"),
            ("alert_rules: {r: {on: [failed], channels: []}}", "alert_rules.r.channels"),
            ("alert_rules: {r: {on: [failed], channels: [a, a]}}", "alert_rules.r.channels"),
            (
                "alert_rules: {r: {on: [late], channels: [a, b], late_after: 1s}}",
                "alert_rules.r.late_after",
            ),
            ("schedules: {a: {when: '@daily'}}", "schedules.a"),
            (
                "schedules: {a: {when: '@daily', workflow: w, priority: 101}}",
                "schedules.a.priority",
            ),
            ("workflows: {w: {tasks: []}}", "workflows.w."),
            ("health_budgets: {a: {span: 30m}}", "health_budgets.a"),
            ("health_budgets: {a: {late: 25h}}", "health_budgets.a.late"),
            ("health_budgets: {a: {missed: -1}}", "health_budgets.a.missed"),
            ("health_budgets: {a: {failed: 1, span: 2d}}", "health_budgets.a.span"),
            ("health_budgets: {'a b': {failed: 1}}", "health_budgets.a b.tag"),
            (
                "maintenance_windows: {' a': {start: '2027-01-02T00:00:00Z', \
                 end: '2027-01-03T00:00:00Z'}}",
                "maintenance_windows. a.title",
            ),
            (
                "maintenance_windows: {a: {start: '2027-01-02T00:00:00Z', \
                 end: '2027-01-02T00:00:00Z'}}",
                "maintenance_windows.a.end",
            ),
            (
                "maintenance_windows: {a: {start: '2027-01-02T00:00:00Z', \
                 end: '2027-02-02T00:00:01Z'}}",
                "maintenance_windows.a.end",
            ),
            (
                "maintenance_windows: {a: {start: '2027-01-02T00:00:00Z', \
                 end: '2027-01-03T00:00:00Z', search: 'tag:'}}",
                "maintenance_windows.a.search",
            ),
        ] {
            let refused = lint(&format!("module: m\n{yaml}")).unwrap_err();
            assert!(refused.field.starts_with(field), "{yaml}: {refused}");
            let is_of_api = refused.field.contains("Seconds") || refused.field.contains("_seconds");
            assert!(!is_of_api, "{yaml}: {refused}");
        }
    }
}

//! Checks of a module's file that need no server: whether it can be read, whether its declarations
//! are acceptable, what its timings mean, and which of them are probably mistakes.

use chrono::{DateTime, Utc};
use timetable::{Timetable, Warning};
use uuid::Uuid;

use super::{
    budgets::placed,
    file::{File, TaskEntry},
};
use crate::model::{BadInput, Definition, DefinitionProblem, check, naming};

/// The findings for one schedule.
#[derive(Debug)]
pub(crate) struct LintedSchedule {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) warnings: Vec<Warning>,
}

impl File {
    /// Checks each schedule and workflow on its own. Only a plan checks the parts that need the
    /// server: secrets, quotas, and other modules' declarations.
    pub(crate) fn lint(&self, now: DateTime<Utc>) -> Result<Vec<LintedSchedule>, BadInput> {
        for (name, workflow) in &self.workflows {
            check_definition(&workflow.clone().definition(), &format!("workflows.{name}"))?;
        }
        for (tag, entry) in &self.health_budgets {
            let checked = check::name("tag", tag).and_then(|()| entry.limits().check());
            checked.map_err(|bad| placed(bad, tag))?;
        }
        for (title, entry) in &self.maintenance_windows {
            entry.check(title).map_err(|bad| {
                let field = naming::in_module(&bad.field);
                inside(BadInput { field, ..bad }, &format!("maintenance_windows.{title}"))
            })?;
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
                check_definition(&task, &format!("{place}.task"))?;
            }
            let spec = entry.clone().spec(name);
            spec.check().map_err(|bad| inside(bad, &place))?;
            let definition = spec.timing.definition(Uuid::nil(), now);
            let timetable = Timetable::new(&definition).map_err(|error| {
                let field = format!("{place}.timing.{}", error.field);
                BadInput::new(field, &*error.value, error.problem, error.help)
            })?;
            linted.push(LintedSchedule {
                name: name.clone(),
                description: timetable.describe(),
                warnings: timetable.lint(now),
            });
        }
        Ok(linted)
    }
}

fn check_definition(definition: &Definition, place: &str) -> Result<(), BadInput> {
    let told = |problem: DefinitionProblem| {
        let field = format!("{place}.{}", problem.field);
        BadInput::new(field, problem.value, problem.problem, problem.help)
    };
    definition.validate().map_err(told)
}

fn inside(bad: BadInput, place: &str) -> BadInput {
    BadInput { field: format!("{place}.{}", bad.field), ..bad }
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
            ("schedules: {a: {when: '0 25 * * *', workflow: w}}", "schedules.a.timing.expressions"),
            (
                "schedules: {a: {when: '@daily', zone: Berlin, workflow: w}}",
                "schedules.a.timing.zone",
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
        }
    }
}

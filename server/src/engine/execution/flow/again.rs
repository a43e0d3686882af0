//! Decides which results of a settled run are kept when it is rerun from its failures. No IO.

use entity::task_run;

use crate::model::definition::{Definition, Graph};

/// The tasks whose results are kept: those that succeeded and depend on no task that is repeated.
/// `last` is the state of a task's last attempt.
pub(crate) fn kept_tasks(
    definition: &Definition,
    last: impl Fn(&str) -> Option<task_run::State>,
) -> Vec<&str> {
    // If the definition cannot be read, no result is kept.
    let Ok(graph) = Graph::of(&definition.tasks) else { return Vec::new() };
    let mut kept = vec![false; definition.tasks.len()];
    for &index in graph.order() {
        let succeeded = last(&definition.tasks[index].name) == Some(task_run::State::Succeeded);
        kept[index] = succeeded && graph.needs(index).iter().all(|need| kept[*need]);
    }
    let tasks = definition.tasks.iter().zip(kept);
    tasks.filter(|(_, kept)| *kept).map(|(task, _)| task.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use task_run::State::{Failed, Skipped, Succeeded};

    use super::*;
    use crate::{
        model::definition::Task,
        target::{Noop, Target},
    };

    #[test]
    fn failed_tasks_and_all_after_them_are_repeated() {
        let task = |name: &str, needs: &[&str]| Task {
            needs: needs.iter().map(|need| (*need).to_owned()).collect(),
            ..Task::new(name, Target::Noop(Noop::default()))
        };
        let definition = Definition::of(vec![
            task("start", &[]),
            task("left", &["start"]),
            task("right", &["start"]),
            task("join", &["left", "right"]),
            task("cleanup", &["right"]),
        ]);
        let states = [
            ("start", Succeeded),
            ("left", Succeeded),
            ("right", Failed),
            ("join", Skipped),
            // The task runs unconditionally, so it is repeated.
            ("cleanup", Succeeded),
        ];
        let last = |name: &str| states.iter().find(|(other, _)| *other == name).map(|(_, s)| *s);
        assert_eq!(kept_tasks(&definition, last), ["start", "left"]);
        assert!(kept_tasks(&definition, |_| None).is_empty());
    }
}

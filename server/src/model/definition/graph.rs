//! The dependencies between tasks. Pure, and bounded by the number of tasks.

use std::collections::HashMap;

use super::{DefinitionProblem, Task};

/// The tasks of a definition by their index, and the tasks that each of them needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Graph {
    needs: Vec<Vec<usize>>,
    order: Vec<usize>,
}

/// Maximum length of a chain of tasks.
const MAX_LEVELS: usize = 50;

impl Graph {
    /// Parses the needs of `tasks`, or returns which of them is invalid.
    pub(crate) fn of(tasks: &[Task]) -> Result<Self, DefinitionProblem> {
        let mut places = HashMap::new();
        for (index, task) in tasks.iter().enumerate() {
            if let Some(first) = places.insert(task.name.as_str(), index) {
                let problem = format!("is the name of tasks[{first}], too");
                let field = format!("tasks[{index}].name");
                return Err(DefinitionProblem::new(
                    field,
                    &task.name,
                    problem,
                    "give each its own name",
                ));
            }
        }
        let mut needs: Vec<Vec<usize>> = Vec::with_capacity(tasks.len());
        for (index, task) in tasks.iter().enumerate() {
            let mut found = Vec::with_capacity(task.needs.len());
            for (nth, name) in task.needs.iter().enumerate() {
                let shown: String = name.chars().take(64).collect();
                let problem = |problem: &str, help: &str| {
                    DefinitionProblem::new(
                        format!("tasks[{index}].needs[{nth}]"),
                        shown,
                        problem,
                        help,
                    )
                };
                match places.get(name.as_str()) {
                    None => {
                        return Err(problem("is not a task of this workflow", "name one that is"));
                    }
                    Some(place) if *place == index => {
                        return Err(problem("is the task itself", "leave it out"));
                    }
                    Some(place) if found.contains(place) => {
                        return Err(problem("is named twice", "name each once"));
                    }
                    Some(place) => found.push(*place),
                }
            }
            needs.push(found);
        }
        let graph = Self { order: in_order(tasks, &needs)?, needs };
        graph.check_levels(tasks)?;
        Ok(graph)
    }

    /// The tasks that the task at `index` needs.
    pub(crate) fn needs(&self, index: usize) -> &[usize] {
        self.needs.get(index).map_or(&[], Vec::as_slice)
    }

    /// All tasks; each follows those that it needs.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    /// For each task, whether the task at `index` waits for it, directly or indirectly.
    pub(crate) fn before(&self, index: usize) -> Vec<bool> {
        let mut before = vec![false; self.needs.len()];
        let mut open = self.needs(index).to_vec();
        while let Some(next) = open.pop() {
            if let Some(seen) = before.get_mut(next)
                && !std::mem::replace(seen, true)
            {
                open.extend(self.needs(next));
            }
        }
        before
    }

    fn check_levels(&self, tasks: &[Task]) -> Result<(), DefinitionProblem> {
        let mut levels = vec![1_usize; self.needs.len()];
        for &index in &self.order {
            let below = self.needs(index).iter().map(|need| levels[*need]).max().unwrap_or(0);
            levels[index] = below + 1;
            if levels[index] > MAX_LEVELS {
                let field = format!("tasks[{index}].needs");
                let problem = format!("waits for a chain of {MAX_LEVELS} tasks");
                let help = format!("put at most {MAX_LEVELS} tasks in a row");
                return Err(DefinitionProblem::new(field, &tasks[index].name, problem, help));
            }
        }
        Ok(())
    }
}

/// All tasks, each after those that it needs; if there is a choice, in the order of the definition.
fn in_order(tasks: &[Task], needs: &[Vec<usize>]) -> Result<Vec<usize>, DefinitionProblem> {
    let mut order = Vec::with_capacity(needs.len());
    let mut placed = vec![false; needs.len()];
    while order.len() < needs.len() {
        let before = order.len();
        for index in 0..needs.len() {
            if !placed[index] && needs[index].iter().all(|need| placed[*need]) {
                placed[index] = true;
                order.push(index);
            }
        }
        if order.len() == before {
            return Err(cycle(tasks, needs, &placed));
        }
    }
    Ok(order)
}

/// A cycle, for the error: the tasks that could not be placed all wait for each other, so following
/// their needs leads around a cycle.
fn cycle(tasks: &[Task], needs: &[Vec<usize>], placed: &[bool]) -> DefinitionProblem {
    let mut path: Vec<usize> = Vec::new();
    let mut at = placed.iter().position(|placed| !placed).unwrap_or_default();
    while !path.contains(&at) {
        path.push(at);
        at = needs[at].iter().copied().find(|need| !placed[*need]).unwrap_or(at);
    }
    let start = path.iter().position(|index| *index == at).unwrap_or_default();
    let around = path[start..].iter().chain([&at]).map(|index| tasks[*index].name.as_str());
    let around = around.collect::<Vec<_>>().join(" -> ");
    let field = format!("tasks[{at}].needs");
    let problem = "is a cycle: each of these tasks waits for the next";
    DefinitionProblem::new(field, around, problem, "remove one of these needs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Noop, Target};

    fn tasks(given: &[(&str, &[&str])]) -> Vec<Task> {
        let task = |(name, needs): &(&str, &[&str])| Task {
            needs: needs.iter().map(|need| (*need).to_owned()).collect(),
            ..Task::new(*name, Target::Noop(Noop::default()))
        };
        given.iter().map(task).collect()
    }

    fn refused(given: &[(&str, &[&str])]) -> String {
        Graph::of(&tasks(given)).unwrap_err().to_string()
    }

    #[test]
    fn a_circle_is_shown_with_its_path() {
        let path = refused(&[("start", &[]), ("a", &["start", "b"]), ("b", &["c"]), ("c", &["a"])]);
        assert_eq!(
            path,
            "tasks[1].needs: 'a -> b -> c -> a' is a cycle: each of these tasks waits for the \
             next; remove one of these needs"
        );
        // A task that only leads into a cycle is not part of it.
        let path = refused(&[("in", &["a"]), ("a", &["b"]), ("b", &["a"])]);
        assert!(path.contains("'a -> b -> a'"), "{path}");
    }

    #[test]
    fn a_need_that_cannot_be_is_refused_with_its_place() {
        for (given, said) in [
            (&[("a", &["x"][..])][..], "tasks[0].needs[0]: 'x' is not a task of this workflow"),
            (&[("a", &["a"])], "tasks[0].needs[0]: 'a' is the task itself"),
            (&[("b", &[]), ("a", &["b", "b"])], "tasks[1].needs[1]: 'b' is named twice"),
            (&[("a", &[]), ("a", &[])], "tasks[1].name: 'a' is the name of tasks[0], too"),
        ] {
            let told = refused(given);
            assert!(told.starts_with(said), "{told}");
        }
    }

    #[test]
    fn more_than_fifty_tasks_in_a_row_are_refused() {
        let names: Vec<String> = (0..51).map(|index| format!("t{index}")).collect();
        let chain = |count: usize| {
            let mut chain = tasks(&[]);
            for index in 0..count {
                let mut task = Task::new(&names[index], Target::Noop(Noop::default()));
                task.needs.extend(index.checked_sub(1).map(|last| names[last].clone()));
                chain.push(task);
            }
            // The order of the tasks in the definition does not matter.
            chain.reverse();
            chain
        };
        assert!(Graph::of(&chain(50)).is_ok());
        let told = Graph::of(&chain(51)).unwrap_err().to_string();
        assert!(told.contains("'t50' waits for a chain of 50 tasks"), "{told}");
    }

    #[test]
    fn each_task_comes_behind_those_that_it_needs() {
        let graph = Graph::of(&tasks(&[
            ("join", &["left", "right"]),
            ("left", &["start"]),
            ("right", &["start"]),
            ("start", &[]),
        ]));
        let graph = graph.unwrap();
        assert_eq!(graph.order(), [3, 1, 2, 0]);
        assert_eq!(graph.before(0), [false, true, true, true]);
        assert_eq!(graph.before(1), [false, false, false, true]);
    }
}

//! Checks the dependencies of a workflow's tasks during editing: names must be unique, needed tasks must exist, and
//! there must be no cycle. The server makes the same checks again.

/// A task as a node of the graph.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) key: u32,
    pub(super) name: String,
    /// Names of the tasks that this one needs.
    pub(super) needs: Vec<String>,
}

/// An error in a field of a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Problem {
    pub(super) key: u32,
    /// The wrong field: `name` or `needs`.
    pub(super) field: &'static str,
    pub(super) message: String,
}

/// All errors. A cycle is an error of each task in it, because changing any of these tasks may break it.
pub(super) fn problems(nodes: &[Node]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        if let Some(message) = wrong_name(nodes, index, &node.name) {
            problems.push(Problem { key: node.key, field: "name", message });
        }
        let stranger = node.needs.iter().find(|need| !nodes.iter().any(|node| node.name == **need));
        let message = match stranger {
            Some(name) => format!(
                "“{name}” is not a task of this workflow. Remove it here, or add a task with that \
                 name."
            ),
            None => match circle(nodes, index) {
                Some(path) => format!(
                    "{path} is a circle: each of these tasks waits for another. Remove one of these needs."
                ),
                None => continue,
            },
        };
        problems.push(Problem { key: node.key, field: "needs", message });
    }
    problems
}

fn wrong_name(nodes: &[Node], index: usize, name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("It is empty. Type a name.".to_owned());
    }
    let first = nodes.iter().position(|node| node.name == name)?;
    (first < index).then(|| "Another task has this name. Choose another one.".to_owned())
}

/// The shortest cycle through a task, along its needs.
fn circle(nodes: &[Node], start: usize) -> Option<String> {
    let before = |index: usize| {
        let needs = nodes.get(index).map(|node| node.needs.as_slice()).unwrap_or_default();
        needs.iter().filter_map(|need| nodes.iter().position(|node| node.name == *need))
    };
    // For each task, the task from which the search reached it.
    let mut came = vec![None; nodes.len()];
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(index) = queue.pop_front() {
        for next in before(index) {
            if next == start {
                return Some(path(nodes, &came, start, index));
            }
            if let Some(unseen @ None) = came.get_mut(next) {
                *unseen = Some(index);
                queue.push_back(next);
            }
        }
    }
    None
}

/// The cycle as text: `a → b → a`, each task before the one that needs it.
fn path(nodes: &[Node], came: &[Option<usize>], start: usize, last: usize) -> String {
    let mut names = Vec::new();
    let mut say = |index: usize| names.extend(nodes.get(index).map(|node| node.name.clone()));
    say(start);
    let mut at = Some(last).filter(|last| *last != start);
    while let Some(index) = at {
        say(index);
        at = came.get(index).copied().flatten().filter(|index| *index != start);
    }
    say(start);
    names.join(" → ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(nodes: &[(&str, &[&str])]) -> Vec<Node> {
        let node = |(key, (name, needs)): (u32, &(&str, &[&str]))| Node {
            key,
            name: (*name).to_owned(),
            needs: needs.iter().map(|need| (*need).to_owned()).collect(),
        };
        (0..).zip(nodes).map(node).collect()
    }

    fn found(tasks: &[(&str, &[&str])]) -> Vec<(u32, &'static str, String)> {
        let problems = problems(&nodes(tasks)).into_iter();
        problems.map(|problem| (problem.key, problem.field, problem.message)).collect()
    }

    #[test]
    fn a_graph_that_comes_to_an_end_is_well() {
        assert!(found(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"])]).is_empty());
    }

    #[test]
    fn a_need_that_is_no_task_is_named() {
        let found = found(&[("a", &["gone"])]);
        assert_eq!((found[0].0, found[0].1), (0, "needs"));
        assert!(found[0].2.starts_with("“gone” is not a task"), "{}", found[0].2);
    }

    #[test]
    fn a_cycle_is_an_error_of_each_task_in_it() {
        let found = found(&[("a", &["c"]), ("b", &["a"]), ("c", &["b"]), ("d", &["c"])]);
        let keys: Vec<u32> = found.iter().map(|(key, ..)| *key).collect();
        assert_eq!(keys, [0, 1, 2]);
        assert!(found[0].2.starts_with("a → b → c → a is a circle"), "{}", found[0].2);
    }

    #[test]
    fn a_task_that_needs_itself_is_a_circle() {
        let found = found(&[("a", &["a"])]);
        assert!(found[0].2.starts_with("a → a is a circle"), "{}", found[0].2);
    }

    #[test]
    fn a_name_is_there_once_and_not_empty() {
        let found = found(&[("a", &[]), ("a", &[]), ("", &[])]);
        let places: Vec<_> = found.iter().map(|(key, field, _)| (*key, *field)).collect();
        assert_eq!(places, [(1, "name"), (2, "name")]);
    }
}

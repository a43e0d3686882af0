//! Assigns errors to fields. They come from the server's answer to the sent workflow, or from its graph while the
//! user edits it.

use leptos::prelude::*;

use super::{
    draft::Draft,
    graph::{Problem, problems},
    picture::shown,
};
use crate::{model::Failure, pages::task_form::FieldErrors};

/// The errors of the sent workflow and of its graph.
#[derive(Clone, Copy)]
pub(super) struct Errors {
    draft: Draft,
    /// The error of the sent workflow, and its task, because the task may be moved before the error is corrected.
    sent: RwSignal<Option<(Option<u32>, Failure)>>,
    graph: Memo<Vec<Problem>>,
}

impl Errors {
    pub(super) fn new(draft: Draft) -> Self {
        let graph = Memo::new(move |_| problems(&draft.nodes()));
        Self { draft, sent: RwSignal::new(None), graph }
    }

    pub(super) fn clear(self) {
        self.sent.set(None);
    }

    /// Stores the error of the sent workflow, and shows its task.
    pub(super) fn set(self, failure: Failure) {
        let place = failure.field.as_deref().and_then(task_field);
        let place = place.map(|(index, field)| (index, field.to_owned()));
        let found = place.and_then(|(index, field)| {
            let key = self.draft.tasks.with_untracked(|tasks| Some(tasks.get(index)?.key))?;
            Some((key, field))
        });
        match found {
            Some((key, field)) => {
                self.draft.chosen.set(Some(key));
                self.sent.set(Some((Some(key), Failure { field: Some(field), ..failure })));
            }
            None => self.sent.set(Some((None, failure))),
        }
    }

    /// The error of the sent workflow. If no field shows the error, its text names the field; tracked.
    pub(super) fn sent(self) -> Option<Failure> {
        let (key, failure) = self.sent.get()?;
        let task = key.and_then(|key| untrack(|| self.draft.task(key).map(|task| task.name())));
        let message = match (task, &failure.field) {
            (Some(task), Some(field)) => format!("Task {task}, {field}: {}", failure.message),
            _ => failure.message.clone(),
        };
        Some(Failure { message, ..failure })
    }

    /// The first error in the graph, with the task's name; tracked.
    pub(super) fn graph(self) -> Option<String> {
        let (key, message) = self
            .graph
            .with(|graph| graph.first().map(|first| (first.key, first.message.clone())))?;
        let name = self.draft.task(key).map(|task| task.name()).unwrap_or_default();
        Some(format!("Task {}: {message}", shown(&name)))
    }

    /// An error in the graph as a failure, for the visible task if that has one; tracked.
    pub(super) fn graph_failure(self) -> Option<Failure> {
        let chosen = self.draft.chosen.get_untracked();
        let problem = self.graph.with_untracked(|graph| {
            let of_chosen = graph.iter().find(|problem| Some(problem.key) == chosen);
            of_chosen.or(graph.first()).cloned()
        })?;
        let index = self
            .draft
            .tasks
            .with_untracked(|tasks| tasks.iter().position(|task| task.key == problem.key))?;
        Some(Failure::of_field(&format!("tasks[{index}].{}", problem.field), problem.message))
    }

    /// Whether a task has an error; tracked.
    pub(super) fn has(self, key: u32) -> bool {
        self.graph.with(|graph| graph.iter().any(|problem| problem.key == key))
            || self.sent.with(|sent| sent.as_ref().is_some_and(|(of, _)| *of == Some(key)))
    }

    /// The error of a field of the workflow itself.
    pub(super) fn of(self, name: &'static str) -> Signal<Option<Failure>> {
        self.matching(None, vec![name])
    }

    /// The errors of the fields of a task.
    pub(super) fn of_task(self, key: u32) -> FieldErrors {
        FieldErrors::new(move |names| self.matching(Some(key), names))
    }

    fn matching(self, key: Option<u32>, names: Vec<&'static str>) -> Signal<Option<Failure>> {
        Signal::derive(move || {
            let edited = self.graph.with(|graph| {
                let is_it =
                    |problem: &&Problem| Some(problem.key) == key && names.contains(&problem.field);
                let found = graph.iter().find(is_it)?;
                Some(Failure::of_field(found.field, found.message.clone()))
            });
            edited.or_else(|| {
                let (of, failure) = self.sent.get()?;
                let field = failure.field.as_deref()?;
                (of == key && names.iter().any(|name| is_within(name, field))).then_some(failure)
            })
        })
    }
}

/// Splits `tasks[2].target.http.url` into the index of the task, 2, and its field `target.http.url`.
fn task_field(field: &str) -> Option<(usize, &str)> {
    let (index, field) = field.strip_prefix("tasks[")?.split_once(']')?;
    Some((index.parse().ok()?, field.strip_prefix('.').unwrap_or(field)))
}

/// Whether the control called `name` shows an error of `field`. A list shows the errors of its items, but the target
/// and the broker as a whole show only their own.
fn is_within(name: &str, field: &str) -> bool {
    let Some(rest) = field.strip_prefix(name) else { return false };
    let is_whole = name == "target.publish.to" || name.matches('.').count() < 2;
    let has_control = !name.starts_with("target") || !is_whole;
    rest.is_empty() || (has_control && rest.starts_with(['[', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_a_task_is_found_by_its_place() {
        assert_eq!(task_field("tasks[12].target.http.url"), Some((12, "target.http.url")));
        assert_eq!(task_field("tasks[0]"), Some((0, "")));
        assert_eq!(task_field("tasks"), None);
    }

    #[test]
    fn a_list_shows_the_errors_of_its_members() {
        assert!(is_within("needs", "needs[1]"));
        assert!(is_within("target.http.headers", "target.http.headers.X-Key"));
        assert!(is_within("target.command", "target.command"));
        assert!(!is_within("target.http", "target.http.url"));
        let servers = "target.publish.to.kafka.connection.servers";
        assert!(is_within(servers, "target.publish.to.kafka.connection.servers[1]"));
        assert!(!is_within("target.publish.to", servers));
        assert!(!is_within("name", "names"));
    }
}

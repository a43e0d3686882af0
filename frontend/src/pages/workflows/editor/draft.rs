//! The state of the editor: the fields of the workflow, and for each task its fields and its position.
//!
//! A need is stored as the key of a task, so that renaming the task does not break it.

use leptos::prelude::*;

use super::{
    definition::{Definition, TaskDefinition},
    graph::Node,
};
use crate::{
    model::{Failure, TaskCondition},
    pages::task_form::{TaskFields, TaskPlan, given, number, split, whole},
    time::decimal,
};

type Text = RwSignal<String>;

/// A task that another task needs.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Need {
    Task(u32),
    /// A name that matched no task when it was read.
    Unknown(String),
}

/// One task. A copy contains the same handles.
#[derive(Clone, Copy)]
pub(super) struct TaskDraft {
    pub(super) key: u32,
    pub(super) fields: TaskFields,
    pub(super) needs: RwSignal<Vec<Need>>,
    /// The condition: `success`, `failure` or `always`.
    pub(super) when: Text,
    pub(super) allow_failure: RwSignal<bool>,
}

/// The whole workflow. A copy contains the same handles.
#[derive(Clone, Copy)]
pub(super) struct Draft {
    pub(super) name: Text,
    pub(super) timeout: Text,
    pub(super) max_parallel: Text,
    /// The tags of nodes, separated by commas.
    pub(super) runs_on: Text,
    pub(super) tasks: RwSignal<Vec<TaskDraft>>,
    /// The task whose fields are shown.
    pub(super) chosen: RwSignal<Option<u32>>,
    next_key: StoredValue<u32>,
}

impl TaskDraft {
    fn new(key: u32) -> Self {
        Self {
            key,
            fields: TaskFields::new(),
            needs: RwSignal::new(Vec::new()),
            when: RwSignal::new("success".to_owned()),
            allow_failure: RwSignal::new(false),
        }
    }

    /// The task's name as it will be sent; tracked.
    pub(super) fn name(&self) -> String {
        self.fields.name.with(|name| name.trim().to_owned())
    }

    fn set(&self, task: &TaskDefinition, need: impl Fn(&String) -> Need) {
        // The card now shows another task, which does not miss the credentials that the previous task lost.
        if untrack(|| self.name()) != task.name {
            self.fields.set_lost(&[]);
        }
        self.fields.set(&task.plan());
        self.needs.set(task.needs.iter().map(need).collect());
        self.when.set(when_name(task.when).to_owned());
        self.allow_failure.set(task.allow_failure);
    }
}

impl Draft {
    /// A new workflow of one task.
    pub(super) fn new() -> Self {
        let draft = Self::empty();
        draft.add();
        draft
    }

    /// The draft of an existing workflow, with its first task shown.
    pub(super) fn of(definition: &Definition) -> Self {
        let draft = Self::empty();
        draft.apply(definition);
        draft
    }

    fn empty() -> Self {
        let text = |value: &str| RwSignal::new(value.to_owned());
        Self {
            name: text(""),
            timeout: text(""),
            max_parallel: text("8"),
            runs_on: text(""),
            tasks: RwSignal::new(Vec::new()),
            chosen: RwSignal::new(None),
            next_key: StoredValue::new(1),
        }
    }

    /// Replaces the draft by a definition. Tasks keep their keys by position, so the visible task stays visible.
    pub(super) fn apply(&self, definition: &Definition) {
        self.name.set(definition.name.clone());
        self.timeout.set(definition.timeout_seconds.map(decimal).unwrap_or_default());
        self.max_parallel.set(definition.max_parallel.to_string());
        self.runs_on.set(definition.runs_on.join(", "));
        let mut tasks = self.tasks.get_untracked();
        tasks.truncate(definition.tasks.len());
        while tasks.len() < definition.tasks.len() {
            tasks.push(TaskDraft::new(self.take_key()));
        }
        let need = |name: &String| {
            let found = definition.tasks.iter().position(|task| task.name == *name);
            let task = found.and_then(|index| tasks.get(index));
            task.map_or_else(|| Need::Unknown(name.clone()), |task| Need::Task(task.key))
        };
        for (draft, task) in tasks.iter().zip(&definition.tasks) {
            draft.set(task, need);
        }
        let is_there = |key: u32| tasks.iter().any(|task| task.key == key);
        if !self.chosen.get_untracked().is_some_and(is_there) {
            self.chosen.set(tasks.first().map(|task| task.key));
        }
        self.tasks.set(tasks);
    }

    fn take_key(&self) -> u32 {
        let key = self.next_key.get_value();
        self.next_key.set_value(key + 1);
        key
    }

    /// The task with this key; tracked.
    pub(super) fn task(&self, key: u32) -> Option<TaskDraft> {
        self.tasks.with(|tasks| tasks.iter().find(|task| task.key == key).copied())
    }

    /// Adds a new task at the end, and shows it.
    pub(super) fn add(&self) {
        let task = TaskDraft::new(self.take_key());
        task.fields.name.set(self.free_name("task"));
        self.tasks.update(|tasks| tasks.push(task));
        self.chosen.set(Some(task.key));
    }

    /// Inserts a copy of a task after it, under a new name, and shows the copy.
    pub(super) fn duplicate(&self, key: u32) {
        let Some(original) = untrack(|| self.task(key)) else { return };
        let copy = TaskDraft::new(self.take_key());
        for ((_, from), (_, to)) in original.fields.texts().iter().zip(copy.fields.texts()) {
            to.set(from.get_untracked());
        }
        for ((_, from), (_, to)) in original.fields.secrets().iter().zip(copy.fields.secrets()) {
            to.set(from.get_untracked());
        }
        copy.fields.set_lost(&untrack(|| original.fields.lost_names()));
        copy.fields.name.set(self.free_name(&untrack(|| original.name())));
        copy.needs.set(original.needs.get_untracked());
        copy.when.set(original.when.get_untracked());
        copy.allow_failure.set(original.allow_failure.get_untracked());
        self.tasks.update(|tasks| {
            let place = tasks.iter().position(|task| task.key == key).map_or(0, |place| place + 1);
            tasks.insert(place, copy);
        });
        self.chosen.set(Some(copy.key));
    }

    /// Removes the task. Tasks that needed it no longer need it.
    pub(super) fn remove(&self, key: u32) {
        self.tasks.update(|tasks| tasks.retain(|task| task.key != key));
        self.tasks.with_untracked(|tasks| {
            for task in tasks {
                task.needs.update(|needs| needs.retain(|need| *need != Need::Task(key)));
            }
        });
        if self.chosen.get_untracked() == Some(key) {
            self.chosen.set(None);
        }
    }

    /// Moves the task one place up or down.
    pub(super) fn shift(&self, key: u32, is_down: bool) {
        self.tasks.update(|tasks| {
            let Some(place) = tasks.iter().position(|task| task.key == key) else { return };
            let other = if is_down { place + 1 } else { place.wrapping_sub(1) };
            if other < tasks.len() {
                tasks.swap(place, other);
            }
        });
    }

    /// A name that no task has yet: `task-2`.
    fn free_name(&self, base: &str) -> String {
        let taken: Vec<String> =
            untrack(|| self.nodes()).into_iter().map(|node| node.name).collect();
        free_name(base, &taken)
    }

    /// The tasks as a graph; tracked.
    pub(super) fn nodes(&self) -> Vec<Node> {
        let tasks = self.tasks.get();
        let name_of = |need: &Need| match need {
            Need::Task(key) => tasks.iter().find(|task| task.key == *key).map(TaskDraft::name),
            Need::Unknown(name) => Some(name.clone()),
        };
        let node = |task: &TaskDraft| Node {
            key: task.key,
            name: task.name(),
            needs: task.needs.with(|needs| needs.iter().filter_map(name_of).collect()),
        };
        tasks.iter().map(node).collect()
    }

    /// The definition that would be sent; tracked.
    ///
    /// # Errors
    /// The first field that cannot be parsed, by its name in the API.
    pub(super) fn definition(&self) -> Result<Definition, Failure> {
        let limit = given(self.timeout);
        let mut tasks = Vec::new();
        for (index, (task, node)) in self.tasks.get().iter().zip(self.nodes()).enumerate() {
            let plan = task.fields.plan().map_err(|wrong| {
                let field = wrong.field.as_deref().unwrap_or_default();
                Failure { field: Some(format!("tasks[{index}].{field}")), ..wrong }
            })?;
            let when = condition(&task.when.get());
            let allow_failure = task.allow_failure.get();
            tasks.push(defined(plan, node.needs, when, allow_failure));
        }
        Ok(Definition {
            name: self.name.with(|name| name.trim().to_owned()),
            timeout_seconds: limit.map(|text| number("timeoutSeconds", &text)).transpose()?,
            max_parallel: whole("maxParallel", &self.max_parallel.get())?,
            runs_on: split(&self.runs_on.get(), ','),
            tasks,
        })
    }
}

fn defined(
    plan: TaskPlan,
    needs: Vec<String>,
    when: TaskCondition,
    allow_failure: bool,
) -> TaskDefinition {
    TaskDefinition {
        name: plan.name,
        needs,
        when,
        allow_failure,
        target: plan.action,
        timeout_seconds: plan.timeout,
        kill_grace_seconds: plan.kill_grace,
        retry: plan.retry.into(),
        retry_on: plan.retry_on,
    }
}

/// The name with the lowest number appended that makes it unique.
fn free_name(base: &str, taken: &[String]) -> String {
    let stem = base.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let stem = stem.strip_suffix('-').filter(|stem| !stem.is_empty()).unwrap_or(base);
    let names = (1..).map(|number: u32| format!("{stem}-{number}"));
    names.filter(|name| !taken.contains(name)).take(1).collect()
}

fn condition(name: &str) -> TaskCondition {
    match name {
        "failure" => TaskCondition::Failure,
        "always" => TaskCondition::Always,
        _ => TaskCondition::Success,
    }
}

fn when_name(when: TaskCondition) -> &'static str {
    match when {
        TaskCondition::Success => "success",
        TaskCondition::Failure => "failure",
        TaskCondition::Always => "always",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{ "name": "report", "timeoutSeconds": 60, "tasks": [
        { "name": "fetch", "target": { "http": { "url": "https://example.org" } } },
        { "name": "send", "needs": ["fetch"], "when": "ALWAYS", "target": { "worker": {
            "queue": "mails", "task": "send", "input": { "to": "all" } } } },
        { "name": "tell", "needs": ["send", "gone"], "target": { "publish": {
            "to": { "nats": { "subject": "x" } } } } }
    ] }"#;

    fn with_draft(check: impl FnOnce(Draft)) {
        let owner = Owner::new();
        owner.with(|| check(Draft::of(&Definition::read(TEXT).unwrap())));
    }

    fn key_of(draft: Draft, name: &str) -> u32 {
        untrack(|| draft.nodes()).into_iter().find(|node| node.name == name).unwrap().key
    }

    fn needs_of(draft: Draft, name: &str) -> Vec<String> {
        untrack(|| draft.nodes()).into_iter().find(|node| node.name == name).unwrap().needs
    }

    #[test]
    fn an_unedited_draft_is_sent_as_it_was_read() {
        with_draft(|draft| {
            let sent = untrack(|| draft.definition());
            assert_eq!(sent, Ok(Definition::read(TEXT).unwrap()));
        });
    }

    #[test]
    fn a_name_is_followed_by_the_tasks_that_need_it() {
        with_draft(|draft| {
            let fetch = untrack(|| draft.task(key_of(draft, "fetch"))).unwrap();
            fetch.fields.name.set(String::new());
            fetch.fields.name.set("load".to_owned());
            assert_eq!(needs_of(draft, "send"), ["load"]);
        });
    }

    #[test]
    fn a_name_that_no_task_has_is_kept_until_it_is_taken_away() {
        with_draft(|draft| {
            assert_eq!(needs_of(draft, "tell"), ["send", "gone"]);
            let problems = super::super::graph::problems(&untrack(|| draft.nodes()));
            assert_eq!(problems.len(), 1);
            assert_eq!(problems[0].key, key_of(draft, "tell"));
        });
    }

    #[test]
    fn a_task_that_is_removed_is_needed_no_more() {
        with_draft(|draft| {
            draft.remove(key_of(draft, "send"));
            assert_eq!(needs_of(draft, "tell"), ["gone"]);
        });
    }

    #[test]
    fn a_copy_follows_its_task_under_a_new_name() {
        with_draft(|draft| {
            draft.duplicate(key_of(draft, "send"));
            let names: Vec<String> =
                untrack(|| draft.nodes()).into_iter().map(|node| node.name).collect();
            assert_eq!(names, ["fetch", "send", "send-1", "tell"]);
            assert_eq!(needs_of(draft, "send-1"), ["fetch"]);
            draft.shift(key_of(draft, "tell"), false);
            draft.shift(key_of(draft, "fetch"), false);
            let first = untrack(|| draft.nodes()).remove(0).name;
            assert_eq!((first.as_str(), key_of(draft, "tell") > 0), ("fetch", true));
        });
    }

    #[test]
    fn a_field_that_cannot_be_read_is_named_with_its_task() {
        with_draft(|draft| {
            let send = untrack(|| draft.task(key_of(draft, "send"))).unwrap();
            send.fields.timeout.set("soon".to_owned());
            let wrong = untrack(|| draft.definition()).unwrap_err();
            assert_eq!(wrong.field.as_deref(), Some("tasks[1].timeoutSeconds"));
        });
    }

    #[test]
    fn a_free_name_counts_on() {
        let taken = ["task-1".to_owned(), "task-2".to_owned()];
        assert_eq!(free_name("task", &taken), "task-3");
        assert_eq!(free_name("task-2", &taken), "task-3");
        assert_eq!(free_name("build", &taken), "build-1");
    }
}

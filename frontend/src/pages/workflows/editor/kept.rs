//! The editor's state as one text, for the guard that saves it. Credentials are saved only if they reveal nothing.

use std::collections::BTreeMap;

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    definition::{Definition, TaskDefinition},
    draft::Draft,
    text::TextPane,
};
use crate::pages::task_form::CREDENTIAL_KEYS;

/// The saved state. Tasks are saved as typed, since a number in them may still be incomplete.
#[derive(Serialize, Deserialize)]
struct Kept {
    name: String,
    timeout: String,
    max_parallel: String,
    runs_on: String,
    tasks: Vec<KeptTask>,
    /// A text that cannot be parsed.
    broken: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct KeptTask {
    fields: BTreeMap<String, String>,
    needs: Vec<String>,
    when: String,
    allow_failure: bool,
}

/// The state as one text; tracked.
pub(super) fn kept(draft: Draft, pane: TextPane) -> String {
    let tasks = draft.tasks.get().into_iter().zip(draft.nodes());
    let tasks = tasks.map(|(task, node)| {
        let texts = task.fields.texts().into_iter().map(|(name, text)| (name, text.get()));
        let texts = texts.chain(task.fields.open_secrets());
        KeptTask {
            fields: texts.map(|(name, text)| (name.to_owned(), text)).collect(),
            needs: node.needs,
            when: task.when.get(),
            allow_failure: task.allow_failure.get(),
        }
    });
    let kept = Kept {
        name: draft.name.get(),
        timeout: draft.timeout.get(),
        max_parallel: draft.max_parallel.get(),
        runs_on: draft.runs_on.get(),
        tasks: tasks.collect(),
        // It may contain a secret that cannot be told apart from the rest.
        broken: pane
            .broken_text()
            .filter(|text| !CREDENTIAL_KEYS.iter().any(|key| text.contains(key))),
    };
    serde_json::to_string(&kept).unwrap_or_default()
}

/// Restores the state from such a text; a text that cannot be read changes nothing.
pub(super) fn restore(draft: Draft, pane: TextPane, text: &str) {
    let Ok(kept) = serde_json::from_str::<Kept>(text) else { return };
    // First the tasks and their needs, by name; then the typed fields of each.
    let blank = |task: &KeptTask| TaskDefinition {
        needs: task.needs.clone(),
        ..TaskDefinition::blank(task.fields.get("task_name").cloned().unwrap_or_default())
    };
    draft.apply(&Definition::blank(kept.tasks.iter().map(blank).collect()));
    for (task, kept) in draft.tasks.get_untracked().iter().zip(&kept.tasks) {
        for (name, field) in task.fields.texts() {
            if let Some(text) = kept.fields.get(name) {
                field.set(text.clone());
            }
        }
        // A task may stand where another one stood before: it must not keep that one's credentials.
        for (name, field) in task.fields.secrets() {
            field.set(kept.fields.get(name).cloned().unwrap_or_default());
        }
        task.when.set(kept.when.clone());
        task.allow_failure.set(kept.allow_failure);
    }
    draft.name.set(kept.name);
    draft.timeout.set(kept.timeout);
    draft.max_parallel.set(kept.max_parallel);
    draft.runs_on.set(kept.runs_on);
    if let Some(broken) = kept.broken {
        pane.type_text(broken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{ "name": "report", "tasks": [
        { "name": "fetch", "target": { "http": { "url": "https://example.org", "expectedBody": "ok" } } },
        { "name": "send", "needs": ["fetch", "gone"], "when": "ALWAYS", "allowFailure": true,
          "target": { "publish": { "to": { "nats": { "subject": "x" } } } } } ] }"#;

    #[test]
    fn what_is_kept_comes_back() {
        Owner::new().with(|| {
            let definition = Definition::read(TEXT).unwrap();
            let draft = Draft::of(&definition);
            let pane = TextPane::beside(draft, None);
            pane.type_text("{".to_owned());
            let text = untrack(|| kept(draft, pane));

            let draft = Draft::new();
            let pane = TextPane::beside(draft, None);
            restore(draft, pane, &text);
            assert_eq!(untrack(|| draft.definition()), Ok(definition));
            assert_eq!(untrack(|| pane.broken_text()).as_deref(), Some("{"));
        });
    }

    #[test]
    fn a_secret_is_not_kept() {
        Owner::new().with(|| {
            let draft = Draft::of(&Definition::read(TEXT).unwrap());
            let pane = TextPane::beside(draft, None);
            draft.tasks.get_untracked()[0].fields.secret.set("hush".to_owned());
            pane.type_text("{ \"signingSecret\": \"hush\"".to_owned());
            assert!(!untrack(|| kept(draft, pane)).contains("hush"));
        });
    }

    #[test]
    fn a_reference_to_a_secret_stays_with_its_task() {
        const EVENTS: &str = r#"{ "name": "report", "tasks": [
            { "name": "first", "target": { "publish": { "to": { "kafka": { "topic": "t",
                "connection": { "servers": ["a"], "password": "{{ secrets.kafka }}" } } } } } },
            { "name": "second", "target": { "publish": { "to": { "redis": { "stream": "s",
                "connection": { "servers": ["b"] } } } } } } ] }"#;
        Owner::new().with(|| {
            let definition = Definition::read(EVENTS).unwrap();
            let draft = Draft::of(&definition);
            draft.shift(draft.tasks.get_untracked()[0].key, true);
            let moved = untrack(|| draft.definition());
            let text = untrack(|| kept(draft, TextPane::beside(draft, None)));

            let draft = Draft::of(&definition);
            restore(draft, TextPane::beside(draft, None), &text);
            assert_eq!(untrack(|| draft.definition()), moved);
        });
    }
}

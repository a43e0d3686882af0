//! The editor's state as one text, in which it is saved. Credentials are saved only if they reveal nothing.

use leptos::prelude::*;
use serde_json::Value;

use super::{
    definition::{Definition, TaskDefinition},
    draft::{Draft, TaskDraft},
    picture::shown,
    text::{Reading, TextPane},
};
use crate::pages::task_form::{lost_sentence, reveals_nothing};

const LOST_TEXT: &str = "The text that could not be read was not kept, because it may contain a credential: the form \
    has what could be read before.";

/// The state as one text; tracked. Tasks are saved as typed, because a number in a field may still be incomplete.
pub(super) fn kept(draft: Draft, pane: TextPane) -> String {
    let tasks = draft.tasks.get().into_iter().zip(draft.nodes());
    let tasks = tasks.map(|(task, node)| {
        let texts = task.fields.texts().into_iter().map(|(name, text)| (name, text.get()));
        let texts = texts.chain(task.fields.open_secrets());
        let fields = texts.map(|(name, text)| (name.to_owned(), Value::from(text)));
        object([
            ("fields", Value::Object(fields.collect())),
            ("needs", node.needs.into()),
            ("when", task.when.get().into()),
            ("allow_failure", task.allow_failure.get().into()),
            // The names of the credentials that are not saved.
            ("left_out", task.fields.left_out().into()),
        ])
    });
    let typed = pane.typed_text();
    let is_kept = typed.as_deref().is_none_or(reveals_nothing);
    let lost_text = pane.is_lost() || (!is_kept && pane.reading() != Reading::Read);
    let kept = object([
        ("name", draft.name.get().into()),
        ("timeout", draft.timeout.get().into()),
        ("max_parallel", draft.max_parallel.get().into()),
        ("runs_on", draft.runs_on.get().into()),
        ("tasks", Value::Array(tasks.collect())),
        // The typed text, if it has comments or cannot be read yet.
        ("text", typed.filter(|_| is_kept).map_or(Value::Null, Value::from)),
        // Whether a text could not be read and is not saved, because it may contain a credential.
        ("lost_text", lost_text.into()),
    ]);
    kept.to_string()
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn text_of(kept: &Value, name: &str) -> String {
    kept[name].as_str().unwrap_or_default().to_owned()
}

fn texts_of<'a>(kept: &'a Value, name: &str) -> impl Iterator<Item = &'a str> {
    kept[name].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Restores the state from a saved text; a text that cannot be read changes nothing.
pub(super) fn restore(draft: Draft, pane: TextPane, text: &str) {
    let Ok(kept) = serde_json::from_str::<Value>(text) else { return };
    let Some(tasks) = kept["tasks"].as_array() else { return };
    // First the tasks and their needs are restored by name, and then the typed fields of each.
    let blank = |task: &Value| TaskDefinition {
        needs: texts_of(task, "needs").map(str::to_owned).collect(),
        ..TaskDefinition::blank(text_of(&task["fields"], "task_name"))
    };
    draft.apply(&Definition::blank(tasks.iter().map(blank).collect()));
    for (task, kept) in draft.tasks.get_untracked().iter().zip(tasks) {
        let fields = &kept["fields"];
        for (name, field) in task.fields.texts() {
            if let Some(text) = fields[name].as_str() {
                field.set(text.to_owned());
            }
        }
        // A task may now be at the position of another one, whose credentials it must not keep.
        for (name, field) in task.fields.secrets() {
            field.set(text_of(fields, name));
        }
        let left_out: Vec<&str> = texts_of(kept, "left_out").collect();
        task.fields.set_lost(&left_out);
        task.when.set(text_of(kept, "when"));
        task.allow_failure.set(kept["allow_failure"].as_bool().unwrap_or_default());
    }
    draft.name.set(text_of(&kept, "name"));
    draft.timeout.set(text_of(&kept, "timeout"));
    draft.max_parallel.set(text_of(&kept, "max_parallel"));
    draft.runs_on.set(text_of(&kept, "runs_on"));
    if let Some(text) = kept["text"].as_str() {
        pane.restore(text.to_owned());
    }
    if kept["lost_text"].as_bool() == Some(true) {
        pane.set_lost();
    }
}

/// Sentences about the parts that are missing in a restored form; tracked.
pub(super) fn lost(draft: Draft, pane: TextPane) -> String {
    let of_task = |task: &TaskDraft| {
        let name = shown(&task.name()).to_owned();
        let words = task.fields.lost_words().into_iter();
        words.map(move |words| format!("{words} of task {name}")).collect::<Vec<_>>()
    };
    let credentials: Vec<String> = draft.tasks.get().iter().flat_map(of_task).collect();
    let text = if pane.is_lost() { LOST_TEXT } else { "" };
    [lost_sentence(&credentials).as_str(), text].join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{ "name": "report", "tasks": [
        { "name": "fetch", "target": { "http": { "url": "https://example.org", "expectedBody": "ok" } } },
        { "name": "send", "needs": ["fetch", "gone"], "when": "ALWAYS", "allowFailure": true,
          "target": { "publish": { "to": { "nats": { "subject": "x" } } } } } ] }"#;

    #[test]
    fn the_saved_state_is_restored() {
        Owner::new().with(|| {
            let definition = Definition::read(TEXT).unwrap();
            let draft = Draft::of(&definition);
            let pane = TextPane::beside(draft, None);
            let typed = "# Mine.\nreport: {";
            pane.type_text(typed.to_owned());
            let text = untrack(|| kept(draft, pane));

            let draft = Draft::new();
            let pane = TextPane::beside(draft, None);
            restore(draft, pane, &text);
            assert_eq!(untrack(|| draft.definition()), Ok(definition));
            // The server must read the text once more.
            assert_eq!(untrack(|| pane.pending_text()).as_deref(), Some(typed));
        });
    }

    #[test]
    fn a_text_that_the_form_wrote_is_not_kept() {
        Owner::new().with(|| {
            let definition = Definition::read(TEXT).unwrap();
            let draft = Draft::of(&definition);
            let pane = TextPane::beside(draft, None);
            pane.begin(definition);
            pane.start();
            assert!(untrack(|| kept(draft, pane)).contains("\"text\":null"));
        });
    }

    #[test]
    fn a_secret_is_not_kept() {
        Owner::new().with(|| {
            let draft = Draft::of(&Definition::read(TEXT).unwrap());
            let pane = TextPane::beside(draft, None);
            draft.tasks.get_untracked()[0].fields.secret.set("hush".to_owned());
            for text in [
                "{ \"signingSecret\": \"hush\"",
                "signing_secret: hush",
                "signing_secret:\n  hush",
                "signing_secret: \"{{ secrets.a }}hush\"",
                "signing_secret: '***hush'",
                "password: |\n  hush",
                "{secret_access_key: \"{{ secrets.a }}\", session_token: hush}",
                "# the password is hush",
            ] {
                pane.type_text(text.to_owned());
                assert!(!untrack(|| kept(draft, pane)).contains("hush"), "{text}");
            }
            for text in [
                "a: # hush, a comment",
                "signing_secret: \"{{ secrets.a }}\" # hush",
                "{signingSecret: '***', session_token: '{{secrets.a}}'} # hush",
            ] {
                pane.type_text(text.to_owned());
                assert!(untrack(|| kept(draft, pane)).contains("hush"), "{text}");
            }
        });
    }

    #[test]
    fn what_was_not_kept_is_said_until_it_is_entered_again() {
        Owner::new().with(|| {
            let draft = Draft::of(&Definition::read(TEXT).unwrap());
            let pane = TextPane::beside(draft, None);
            let tasks = draft.tasks.get_untracked();
            tasks[0].fields.secret.set("hush".to_owned());
            tasks[1].fields.event.password.set("hush".to_owned());
            let text = untrack(|| kept(draft, pane));

            let draft = Draft::new();
            let pane = TextPane::beside(draft, None);
            restore(draft, pane, &text);
            let said = || untrack(|| lost(draft, pane));
            assert_eq!(
                said(),
                "The signing secret of task fetch and the password of task send were not kept: \
                 enter them again."
            );
            let [fetch, send] = draft.tasks.get_untracked()[..] else { panic!("two tasks") };
            fetch.fields.secret.set("typed".to_owned());
            assert_eq!(said(), "The password of task send was not kept: enter it again.");
            // A copied task misses the same credentials as its original.
            draft.duplicate(send.key);
            assert!(said().contains("password of task send-1"), "{}", said());
        });
    }

    #[test]
    fn a_text_that_was_not_kept_is_said() {
        Owner::new().with(|| {
            let draft = Draft::of(&Definition::read(TEXT).unwrap());
            let pane = TextPane::beside(draft, None);
            pane.type_text("{ \"signingSecret\": \"hush\"".to_owned());
            let text = untrack(|| kept(draft, pane));

            let draft = Draft::new();
            let pane = TextPane::beside(draft, None);
            restore(draft, pane, &text);
            assert_eq!(untrack(|| lost(draft, pane)), LOST_TEXT);
            pane.type_text("{".to_owned());
            assert_eq!(untrack(|| lost(draft, pane)), "");
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

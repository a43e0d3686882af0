//! The draft as one text, in which it is saved. Credentials are saved only if they reveal nothing.

use std::collections::BTreeMap;

use leptos::prelude::*;

use super::draft::Draft;

/// The key under which the names of unsaved credentials are stored.
pub(super) const LEFT_OUT: &str = "left_out";

impl Draft {
    /// Every field except the expressions, the watchdog's addresses and the task's fields.
    fn texts(&self) -> [(&'static str, RwSignal<String>); 24] {
        [
            ("name", self.name),
            ("note", self.note),
            ("tags", self.tags),
            ("zone", self.zone),
            ("gap", self.gap),
            ("overlap_hour", self.overlap_hour),
            ("start", self.start),
            ("end", self.end),
            ("jitter", self.jitter),
            ("calendars", self.calendars),
            ("max_fires", self.max_fires),
            ("catch_up", self.catch_up),
            ("grace", self.grace),
            ("max", self.max),
            ("spacing", self.spacing),
            ("window", self.window),
            ("overlap", self.overlap),
            ("buffer_limit", self.buffer_limit),
            ("group", self.group),
            ("priority", self.priority),
            ("deadline", self.deadline),
            ("retention", self.retention),
            ("context", self.context),
            ("workflow", self.workflow),
        ]
    }

    fn all_texts(&self) -> impl Iterator<Item = (&'static str, RwSignal<String>)> + use<> {
        self.texts().into_iter().chain(self.task.texts())
    }

    /// The draft as one text; tracked.
    pub(super) fn kept(&self) -> String {
        let mut texts: BTreeMap<String, String> =
            self.all_texts().map(|(name, text)| (name.to_owned(), text.get())).collect();
        let open = self.task.open_secrets().chain(self.ping.open_texts());
        texts.extend(open.map(|(name, text)| (name.to_owned(), text)));
        let expressions: Vec<String> =
            self.expressions.with(|all| all.iter().map(|(_, text)| text.get()).collect());
        texts.insert("expressions".to_owned(), expressions.join("\n"));
        let mut left_out = self.task.left_out();
        left_out.extend(self.ping.left_out());
        if !left_out.is_empty() {
            texts.insert(LEFT_OUT.to_owned(), left_out.join("\n"));
        }
        serde_json::to_string(&texts).unwrap_or_default()
    }

    /// Restores the draft from a saved text; a text that cannot be read changes nothing.
    pub(super) fn restore(&self, kept: &str) {
        let Ok(texts) = serde_json::from_str::<BTreeMap<String, String>>(kept) else { return };
        // A credential that was not saved keeps the server's value.
        let secrets = self.task.secrets().into_iter().chain(self.ping.texts());
        for (name, field) in self.all_texts().chain(secrets) {
            if let Some(text) = texts.get(name) {
                field.set(text.clone());
            }
        }
        if let Some(expressions) = texts.get("expressions") {
            self.set_expressions(expressions.split('\n'));
        }
        let left_out = texts.get(LEFT_OUT).map_or("", String::as_str);
        let left_out: Vec<&str> = left_out.lines().collect();
        self.task.set_lost(&left_out);
        self.ping.set_lost(&left_out);
    }

    /// Descriptions of what a restored draft misses until it is entered again; tracked.
    pub(super) fn lost_words(&self) -> Vec<&'static str> {
        let mut words = self.task.lost_words();
        words.extend(self.ping.lost_words());
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_come_back_into_the_fields_that_show_them() {
        Owner::new().with(|| {
            let draft = Draft::new();
            draft.add_expression();
            let text = untrack(|| draft.kept());

            let draft = Draft::new();
            let fields = || draft.expressions.get_untracked();
            let (key, first) = fields().remove(0);
            first.set(String::new());
            let empty = untrack(|| draft.kept());
            draft.restore(&text);
            assert_eq!(first.get_untracked(), "*/5 * * * *");
            assert_eq!(fields().len(), 2);
            assert_eq!(fields()[0], (key, first));
            draft.add_expression();
            let mut keys: Vec<String> = fields().into_iter().map(|(key, _)| key).collect();
            keys.dedup();
            assert_eq!(keys.len(), 3);
            // The only field stays, also if it is empty.
            draft.restore(&empty);
            assert_eq!(fields().len(), 1);
            assert_eq!(first.get_untracked(), "");
        });
    }

    #[test]
    fn a_reference_to_a_secret_comes_back_and_a_typed_credential_does_not() {
        Owner::new().with(|| {
            let draft = Draft::new();
            draft.task.event.password.set("{{ secrets.kafka }}".to_owned());
            draft.task.event.secret_key.set("hush".to_owned());
            let text = untrack(|| draft.kept());
            assert!(!text.contains("hush"), "{text}");

            let draft = Draft::new();
            let event = draft.task.event;
            event.secret_key.set("***".to_owned());
            draft.restore(&text);
            assert_eq!(event.password.get_untracked(), "{{ secrets.kafka }}");
            assert_eq!(event.secret_key.get_untracked(), "***");
        });
    }

    #[test]
    fn a_credential_that_was_not_saved_is_missed_until_it_is_entered_again() {
        Owner::new().with(|| {
            let draft = Draft::new();
            draft.task.kind.set("publish".to_owned());
            draft.task.event.password.set("hush".to_owned());
            let text = untrack(|| draft.kept());

            let draft = Draft::new();
            draft.restore(&text);
            let missed = |draft: &Draft| untrack(|| draft.task.lost_words());
            assert_eq!(missed(&draft), ["password"]);
            // The credential is still missing when the form is left a second time.
            let text = untrack(|| draft.kept());
            let draft = Draft::new();
            draft.restore(&text);
            assert_eq!(missed(&draft), ["password"]);
            // The credential is not needed for another kind of target.
            draft.task.kind.set("http".to_owned());
            assert!(missed(&draft).is_empty());
            draft.task.kind.set("publish".to_owned());
            draft.task.event.password.set("{{ secrets.kafka }}".to_owned());
            assert!(missed(&draft).is_empty());

            let draft = Draft::new();
            draft.restore(&untrack(|| Draft::new().kept()));
            assert!(missed(&draft).is_empty());
        });
    }

    #[test]
    fn an_address_of_a_watchdog_comes_back_only_if_it_reveals_nothing() {
        Owner::new().with(|| {
            let text_of = |draft: &Draft, at: usize| draft.ping.texts()[at].1;
            let draft = Draft::new();
            text_of(&draft, 0).set("https://hc.example/hush".to_owned());
            text_of(&draft, 2).set("https://hc.example/{{ secrets.a }}".to_owned());
            let text = untrack(|| draft.kept());
            assert!(!text.contains("hush"), "{text}");

            let draft = Draft::new();
            draft.restore(&text);
            assert_eq!(text_of(&draft, 0).get_untracked(), "");
            assert_eq!(text_of(&draft, 2).get_untracked(), "https://hc.example/{{ secrets.a }}");
            let missed = || untrack(|| draft.lost_words());
            assert_eq!(missed(), ["address called after a success"]);
            text_of(&draft, 0).set("https://hc.example/hush".to_owned());
            assert!(missed().is_empty());
        });
    }
}

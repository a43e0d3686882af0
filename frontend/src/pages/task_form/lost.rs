//! The credentials that a restored draft does not contain, because a draft saves only those that reveal nothing.

use leptos::prelude::*;

type Text = RwSignal<String>;

/// The text of a field until its credential is entered again.
pub(in crate::pages) const ENTER_AGAIN: &str =
    "What was here was not kept, because it is a credential: enter it again.";

/// A credential that was typed but not saved.
struct Lost {
    /// The name of its field.
    name: &'static str,
    /// The text of the field right after the draft was restored. While the field contains it, nothing was entered.
    restored: String,
}

/// The lost credentials of a task or a watchdog. A copy contains the same handle.
#[derive(Clone, Copy)]
pub(in crate::pages) struct LostCredentials(RwSignal<Vec<Lost>>);

impl LostCredentials {
    pub(in crate::pages) fn new() -> Self {
        Self(RwSignal::new(Vec::new()))
    }

    /// Marks the fields that the draft left out, with their restored texts.
    pub(in crate::pages) fn set(self, fields: impl Iterator<Item = (&'static str, Text)>) {
        let lost = fields.map(|(name, text)| Lost { name, restored: text.get_untracked() });
        self.0.set(lost.collect());
    }

    /// Whether a field lost its credential and the credential was not entered again; tracked.
    pub(in crate::pages) fn has(self, name: &str, text: Text) -> bool {
        let stands = |lost: &Lost| lost.name == name && text.with(|text| *text == lost.restored);
        self.0.with(|all| all.iter().any(stands))
    }
}

/// A description of a credential, by the name of its field.
pub(super) fn credential_words(name: &str) -> &'static str {
    match name {
        "signing_secret" => "signing secret",
        "secret_key" => "secret access key",
        "session_token" => "session token",
        _ => "password",
    }
}

/// Whether a target of this kind, with this broker if it is an event, has the credential.
pub(super) fn has_credential(kind: &str, broker: &str, name: &str) -> bool {
    match (kind, name) {
        ("http", name) => name == "signing_secret",
        ("publish", "secret_key" | "session_token") => broker == "sqs",
        ("publish", "password") => broker != "sqs",
        _ => false,
    }
}

/// The sentence about lost credentials above a restored form, such as `password of task load`; empty if there are
/// none.
pub(in crate::pages) fn lost_sentence(credentials: &[String]) -> String {
    match credentials {
        [] => String::new(),
        [one] => format!("The {one} was not kept: enter it again."),
        [others @ .., last] => {
            format!("The {} and the {last} were not kept: enter them again.", others.join(", the "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_is_named() {
        let said = |names: &[&str]| {
            lost_sentence(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(said(&[]), "");
        assert_eq!(
            said(&["password of task load"]),
            "The password of task load was not kept: enter it again."
        );
        assert_eq!(
            said(&["password", "session token"]),
            "The password and the session token were not kept: enter them again."
        );
        assert_eq!(
            said(&["a", "b", "c"]),
            "The a, the b and the c were not kept: enter them again."
        );
    }

    #[test]
    fn a_target_has_the_credentials_of_its_kind_and_broker() {
        for (kind, broker, expected) in [
            ("http", "kafka", vec!["signing_secret"]),
            ("publish", "kafka", vec!["password"]),
            ("publish", "redis", vec!["password"]),
            ("publish", "sqs", vec!["secret_key", "session_token"]),
            ("command", "kafka", vec![]),
            ("workflow", "sqs", vec![]),
        ] {
            let mut names = vec!["signing_secret", "password", "secret_key", "session_token"];
            names.retain(|name| has_credential(kind, broker, name));
            assert_eq!(names, expected, "{kind} {broker}");
        }
    }

    #[test]
    fn a_lost_credential_is_missed_until_something_is_entered() {
        Owner::new().with(|| {
            let (text, lost) = (RwSignal::new("***".to_owned()), LostCredentials::new());
            let misses = || untrack(|| lost.has("password", text));
            assert!(!misses());
            lost.set([("password", text)].into_iter());
            assert!(misses());
            assert!(!untrack(|| lost.has("secret_key", text)));
            text.set("typed".to_owned());
            assert!(!misses());
        });
    }
}

//! Environment variables as settings. A variable is text, and the setting's type determines how it
//! is read: for a text setting, `0042` stays text and does not become the number 42.

use figment::{
    Figment,
    providers::{Env, Serialized},
    value::Value,
};
use serde_json::json;

use super::Config;

/// Variables with our prefix that are not settings: they are read by the command line or the tests,
/// or were passed to a `command` target that calls the command line.
const NOT_SETTINGS: [&str; 18] = [
    "config",
    "server",
    "token",
    "profile",
    "test_postgres",
    "binary",
    "dist",
    "run_id",
    "attempt",
    "task",
    "namespace",
    "schedule",
    "schedule_id",
    "scheduled_at",
    "idempotency_key",
    "output",
    "context",
    "context_file",
];

/// The settings so far, overridden by the environment.
pub(super) fn over(settings: Figment) -> Figment {
    let environment = Env::prefixed("CARILLON_").ignore(&NOT_SETTINGS).split("__");
    let texts: Vec<(String, String)> = environment
        .iter()
        .map(|(name, text)| (name.as_str().to_owned(), text.trim().to_owned()))
        .filter(|(name, text)| is_misread(text) && takes_text(name, text))
        .collect();
    let read = settings.merge(environment);
    texts.iter().fold(read, |read, (name, text)| read.merge(Serialized::global(name, text)))
}

/// Whether a text would be converted to a number or a Boolean.
fn is_misread(text: &str) -> bool {
    matches!(text.parse(), Ok(Value::Num(..) | Value::Bool(..)))
}

/// Whether the setting with this dotted name accepts this text as text. It tries to deserialize it,
/// so that no list of such settings has to be maintained.
fn takes_text(name: &str, text: &str) -> bool {
    let asked = name.rsplit('.').fold(json!(text), |inner, part| json!({ part: inner }));
    match serde_json::from_value::<Config>(asked) {
        Ok(_) => true,
        // Other required fields come from elsewhere: a value is read before a missing field is
        // noticed.
        Err(error) => error.to_string().starts_with("missing field"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_says_itself_whether_it_takes_a_text() {
        for name in ["secrets.key", "node.name", "node.tags", "smtp.password", "oidc.client_id"] {
            assert!(takes_text(name, "0042"), "{name}");
        }
        for name in ["node.capacity", "database.migrate", "engine.lost_after", "listen", "nothing"]
        {
            assert!(!takes_text(name, "0042"), "{name}");
        }
    }

    #[test]
    fn what_a_command_target_is_given_is_no_setting() {
        let given = include_str!("../target/command/environment.rs");
        let names = given.split("(\"CARILLON_").skip(1).filter_map(|rest| rest.split('"').next());
        let names: Vec<_> = names.map(str::to_lowercase).collect();
        assert!(names.iter().any(|name| name == "run_id"), "{names:?}");
        for name in names {
            assert!(NOT_SETTINGS.contains(&&*name), "{name}");
        }
    }

    #[test]
    fn only_what_is_no_text_any_more_is_asked_about() {
        for text in ["42", "0042", "-7", "1.5", "true"] {
            assert!(is_misread(text), "{text}");
        }
        for text in ["a", "4 2", "[1, 2]", "\"42\"", "", "12e5"] {
            assert!(!is_misread(text), "{text}");
        }
    }
}

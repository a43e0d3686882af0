//! Environment variables as settings. A variable is text, and the type of its setting determines
//! how it is read: for a text setting, `0042` stays text and does not become the number 42.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use super::{Config, layers::nested};

/// The prefix of the names of settings.
const PREFIX: &str = "CARILLON_";

/// Variables with our prefix that are not settings. The command line or the tests read them, or a
/// `command` target that calls the command line got them.
const NOT_SETTINGS: [&str; 19] = [
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
    "schedule_version",
    "scheduled_at",
    "idempotency_key",
    "output",
    "context",
    "context_file",
];

/// The settings that the environment contains, by their dotted names.
pub(super) fn settings() -> BTreeMap<String, Value> {
    let texts = std::env::vars_os().filter_map(|(name, text)| {
        let name = setting(name.to_str()?)?;
        Some((name, text.into_string().ok()?))
    });
    texts.map(|(name, text)| (name.clone(), value(&name, text.trim()))).collect()
}

/// The dotted name of the setting that a variable means, if there is one.
fn setting(variable: &str) -> Option<String> {
    let (prefix, name) = variable.split_at_checked(PREFIX.len())?;
    let name = name.to_ascii_lowercase();
    let is_ours = prefix.eq_ignore_ascii_case(PREFIX) && !name.is_empty();
    (is_ours && !NOT_SETTINGS.contains(&&*name)).then(|| name.replace("__", "."))
}

/// The text of a variable as a value of the setting with this dotted name.
fn value(name: &str, text: &str) -> Value {
    if let Some(word) = scalar(text) {
        return if takes_text(name, text) { text.into() } else { word };
    }
    if !text.starts_with(['[', '{', '"']) {
        return text.into();
    }
    let written = toml::from_str::<BTreeMap<String, Value>>(&format!("value = {text}"));
    if let Ok(mut written) = written
        && written.len() == 1
        && let Some(value) = written.remove("value")
    {
        return value;
    }
    // Words in a list need no quotes.
    let list = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let Some(list) = list else { return text.into() };
    let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| scalar(word).unwrap_or_else(|| word.into())).collect()
}

/// A text that is a number or a Boolean.
fn scalar(text: &str) -> Option<Value> {
    let number = || {
        let is_number = |byte: u8| byte.is_ascii_digit() || b"+-.".contains(&byte);
        if !text.bytes().all(is_number) {
            return None;
        }
        if text.contains('.') {
            return Number::from_f64(text.parse().ok()?);
        }
        let unsigned = text.parse::<u64>().ok().map(Number::from);
        unsigned.or_else(|| text.parse::<i64>().ok().map(Number::from))
    };
    match text {
        "true" => Some(true.into()),
        "false" => Some(false.into()),
        _ => number().map(Value::Number),
    }
}

/// Whether the setting with this dotted name accepts this text as text. It tries to deserialize the
/// text, so that no list of such settings has to be maintained.
fn takes_text(name: &str, text: &str) -> bool {
    match serde_json::from_value::<Config>(nested(name, text.into())) {
        Ok(_) => true,
        // Other required fields have other sources, and a value is read before a missing field is
        // noticed.
        Err(error) => error.to_string().starts_with("missing field"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    fn variables_of_command_targets_are_not_settings() {
        let given = include_str!("../target/command/environment.rs");
        let names = given.split("(\"CARILLON_").skip(1).filter_map(|rest| rest.split('"').next());
        let names: Vec<_> = names.map(str::to_lowercase).collect();
        assert!(names.iter().any(|name| name == "run_id"), "{names:?}");
        for name in names {
            assert!(NOT_SETTINGS.contains(&&*name), "{name}");
        }
    }

    #[test]
    fn a_variable_is_read_as_its_setting_wants_it() {
        for (name, text, expected) in [
            ("node.capacity", "42", json!(42)),
            ("node.name", "0042", json!("0042")),
            ("database.migrate", "false", json!(false)),
            ("nothing", "-7", json!(-7)),
            ("nothing", "1.5", json!(1.5)),
            ("nothing", "12e5", json!("12e5")),
            ("nothing", "4 2", json!("4 2")),
            ("nothing", "", json!("")),
            ("nothing", "\"42\"", json!("42")),
            ("nothing", "[\"a\", \"b, c\"]", json!(["a", "b, c"])),
            ("nothing", "[a, b]", json!(["a", "b"])),
            ("nothing", "[]", json!([])),
            ("nothing", "[1, 2]", json!([1, 2])),
            ("nothing", "{ billing = { missed = 3 } }", json!({ "billing": { "missed": 3 } })),
            ("nothing", "[1]\nother = 2", json!("[1]\nother = 2")),
            ("nothing", "{broken", json!("{broken")),
        ] {
            assert_eq!(value(name, text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_says_which_setting_it_is() {
        assert_eq!(setting("CARILLON_NODE__CAPACITY").as_deref(), Some("node.capacity"));
        assert_eq!(setting("CARILLON_LISTEN").as_deref(), Some("listen"));
        for other in
            ["CARILLON_RUN_ID", "CARILLON_", "PATH", "CARILLONX", "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}"]
        {
            assert_eq!(setting(other), None, "{other}");
        }
    }
}

//! Compares two definitions key by key, in the spelling of a module's file.

use serde_json::Value;

use super::plan::FieldChange;

/// Maximum number of differences to report for one object.
const MAX: usize = 100;
/// Maximum number of characters to show of a value.
const SHOWN: usize = 200;

/// A definition with its real values, and the same definition with secrets masked for display.
pub(super) struct MaskedDefinition {
    pub(super) real: Value,
    pub(super) shown: Value,
}

impl MaskedDefinition {
    /// A definition without secrets.
    pub(super) fn open(value: Value) -> Self {
        Self { shown: value.clone(), real: value }
    }
}

/// The keys whose values differ, in alphabetical order.
pub(super) fn between(before: &MaskedDefinition, after: &MaskedDefinition) -> Vec<FieldChange> {
    let mut found = Vec::new();
    let shown = (Some(&before.shown), Some(&after.shown));
    walk("", (Some(&before.real), Some(&after.real)), shown, &mut found);
    found
}

type Pair<'a> = (Option<&'a Value>, Option<&'a Value>);

fn walk(path: &str, real: Pair<'_>, shown: Pair<'_>, found: &mut Vec<FieldChange>) {
    if real.0 == real.1 || found.len() >= MAX {
        return;
    }
    // A value that is masked as a whole is compared as a whole.
    if let (Some(before), Some(after)) = real
        && let (Some(old), Some(new)) = (members(before), members(after))
        && let (Some(old_shown), Some(new_shown)) =
            (shown.0.and_then(members), shown.1.and_then(members))
    {
        let mut keys: Vec<&str> = old.iter().chain(&new).map(|(key, _)| &**key).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let inner = if path.is_empty() || key.starts_with('[') {
                format!("{path}{key}")
            } else {
                format!("{path}.{key}")
            };
            let real = (member(&old, key), member(&new, key));
            walk(&inner, real, (member(&old_shown, key), member(&new_shown, key)), found);
        }
        return;
    }
    let (before, after) = (shown.0.map(text), shown.1.map(text));
    found.push(FieldChange { path: path.to_owned(), before, after });
}

/// The named members of a value: those of an object, or of a list of named objects.
fn members(value: &Value) -> Option<Vec<(String, &Value)>> {
    match value {
        Value::Object(map) => Some(map.iter().map(|(key, value)| (key.clone(), value)).collect()),
        Value::Array(items)
            if !items.is_empty() && items.iter().all(|item| item.get("target").is_some()) =>
        {
            let name = |item: &Value| {
                let name = item.get("name").and_then(Value::as_str).unwrap_or("main");
                format!("[{name}]")
            };
            Some(items.iter().map(|item| (name(item), item)).collect())
        }
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            None
        }
    }
}

fn member<'a>(members: &[(String, &'a Value)], key: &str) -> Option<&'a Value> {
    members.iter().find(|(name, _)| name == key).map(|(_, value)| *value)
}

fn text(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.chars().count() <= SHOWN {
        return text;
    }
    text.chars().take(SHOWN - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(before: &MaskedDefinition, after: &MaskedDefinition) -> Vec<String> {
        let show = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let told = |change: FieldChange| {
            format!("{}: {} -> {}", change.path, show(change.before), show(change.after))
        };
        between(before, after).into_iter().map(told).collect()
    }

    #[test]
    fn each_changed_key_is_listed_with_its_path() {
        let before = MaskedDefinition::open(json!({
            "when": "@daily", "misfire": { "grace": "1m", "max": 3 },
            "tasks": [{ "name": "a", "target": 1 }, { "target": { "noop": {} } }],
        }));
        let after = MaskedDefinition::open(json!({
            "when": ["@daily", "@hourly"], "misfire": { "grace": "2m", "max": 3 }, "zone": "UTC",
            "tasks": [{ "target": { "noop": { "note": "x" } } }, { "name": "b", "target": 1 }],
        }));
        assert_eq!(
            told(&before, &after),
            [
                "misfire.grace: 1m -> 2m",
                "tasks[a]: {\"name\":\"a\",\"target\":1} -> -",
                "tasks[b]: - -> {\"name\":\"b\",\"target\":1}",
                "tasks[main].target.noop.note: - -> x",
                "when: @daily -> [\"@daily\",\"@hourly\"]",
                "zone: - -> UTC",
            ]
        );
        assert!(told(&before, &before).is_empty());
    }

    #[test]
    fn a_changed_secret_is_listed_without_its_value() {
        let of = |secret: &str| MaskedDefinition {
            real: json!({ "headers": { "Authorization": secret } }),
            shown: json!({ "headers": { "Authorization": "***" } }),
        };
        assert_eq!(told(&of("a"), &of("b")), ["headers.Authorization: *** -> ***"]);
        let hidden = |value: i32| MaskedDefinition {
            real: json!({ "context": { "a": value } }),
            shown: json!({ "context": "***" }),
        };
        assert_eq!(told(&hidden(1), &hidden(2)), ["context: *** -> ***"]);
    }
}

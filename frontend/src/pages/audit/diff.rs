//! The differences between two values, one line per path.

use serde_json::Value;

/// One difference. A side without a value did not exist.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    /// The path of the difference, such as `timing.expressions[0]`; empty for the whole value.
    pub(super) path: String,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
}

/// The differences, sorted by path.
pub(super) fn differences(before: Option<&Value>, after: Option<&Value>) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(String::new(), before, after, &mut found);
    found
}

fn compare(
    path: String,
    before: Option<&Value>,
    after: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (before, after) {
        (before, after) if before == after => {}
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let new = after.keys().filter(|name| !before.contains_key(*name));
            for name in before.keys().chain(new) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                compare(path, before.get(name), after.get(name), found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            for index in 0..before.len().max(after.len()) {
                compare(format!("{path}[{index}]"), before.get(index), after.get(index), found);
            }
        }
        // An object that was added or removed completely is listed field by field.
        (None | Some(Value::Null), Some(whole @ Value::Object(fields))) if !fields.is_empty() => {
            let nothing = Value::Object(serde_json::Map::new());
            compare(path, Some(&nothing), Some(whole), found);
        }
        (Some(whole @ Value::Object(fields)), None | Some(Value::Null)) if !fields.is_empty() => {
            let nothing = Value::Object(serde_json::Map::new());
            compare(path, Some(whole), Some(&nothing), found);
        }
        (before, after) => {
            found.push(Difference { path, before: before.map(text), after: after.map(text) });
        }
    }
}

/// Strings unchanged, everything else as JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(before: Option<&Value>, after: Option<&Value>) -> Vec<(String, String, String)> {
        let side = |side: Option<String>| side.unwrap_or_else(|| "-".to_owned());
        let line = |line: Difference| (line.path, side(line.before), side(line.after));
        differences(before, after).into_iter().map(line).collect()
    }

    fn line(path: &str, before: &str, after: &str) -> (String, String, String) {
        (path.to_owned(), before.to_owned(), after.to_owned())
    }

    #[test]
    fn only_differences_are_listed_with_their_paths() {
        let before =
            json!({ "name": "a", "timing": { "expressions": ["0 * * * *"], "zone": "UTC" } });
        let after = json!({ "name": "a", "timing": { "expressions": ["5 * * * *", "7 * * * *"], "zone": "UTC" }, "max": 3 });
        assert_eq!(
            found(Some(&before), Some(&after)),
            [
                line("timing.expressions[0]", "0 * * * *", "5 * * * *"),
                line("timing.expressions[1]", "-", "7 * * * *"),
                line("max", "-", "3"),
            ]
        );
    }

    #[test]
    fn added_and_removed_objects_are_listed_field_by_field() {
        let value = json!({ "name": "a", "tags": [] });
        assert_eq!(found(None, Some(&value)), [line("name", "-", "a"), line("tags", "-", "[]")]);
        assert_eq!(found(Some(&value), None).len(), 2);
        assert!(found(None, None).is_empty());
        assert_eq!(found(Some(&json!("x")), Some(&json!(null))), [line("", "x", "null")]);
    }
}

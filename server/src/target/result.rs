//! The output of a task for its run: a JSON object that later tasks find in their context.
//!
//! A result is stored in the attempt's output under the key `result`, in addition to the rest of
//! the output.

use serde_json::{Map, Value};

/// Maximum size of a result as JSON, and of the context with all results merged into it.
pub(crate) const MAX_RESULT_BYTES: usize = 256 * 1024;

/// Maximum nesting of stored JSON. In a row, in an audit entry or in a response of the API it is
/// nested a few levels deeper, and JSON parsers give up at 128 levels.
pub(crate) const MAX_NESTING: usize = 100;

const KEY: &str = "result";

/// The result in an attempt's output, if there is one.
pub fn result_of(output: &Value) -> Option<&Map<String, Value>> {
    output.get(KEY)?.as_object()
}

/// Stores a result in an attempt's output, or returns why it cannot be accepted.
pub(super) fn keep(output: &mut Value, result: Value) -> Result<(), String> {
    if !result.is_object() {
        return Err("its result is not a JSON object".to_owned());
    }
    let text = result.to_string();
    if text.len() > MAX_RESULT_BYTES {
        return Err(too_large(text.len()));
    }
    let levels = nesting(text.as_bytes());
    if levels > MAX_NESTING {
        return Err(format!("its result {}", too_deep(levels)));
    }
    if has_nul(&result) {
        return Err("its result has a NUL character, which cannot be stored".to_owned());
    }
    if let Some(output) = output.as_object_mut() {
        output.insert(KEY.to_owned(), result);
    }
    Ok(())
}

pub(super) fn too_large(size: usize) -> String {
    format!("its result has {size} bytes as JSON; the limit is {MAX_RESULT_BYTES} (256 KiB)")
}

/// The error for JSON that nests too deep.
pub(crate) fn too_deep(levels: usize) -> String {
    format!("nests {levels} levels deep; the limit is {MAX_NESTING}")
}

/// How deep a JSON text nests: the number of lists and objects around its innermost value.
pub(crate) fn nesting(json: &[u8]) -> usize {
    let (mut levels, mut most) = (0_usize, 0);
    let (mut in_text, mut is_escaped) = (false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_text,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                levels += 1;
                most = most.max(levels);
            }
            b']' | b'}' if !in_text => levels = levels.saturating_sub(1),
            _ => {}
        }
    }
    most
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(members) => {
            members.iter().any(|(key, member)| key.contains('\0') || has_nul(member))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_is_an_object_within_its_limit() {
        let mut output = json!({ "exit_code": 0 });
        keep(&mut output, json!({ "rows": 7 })).unwrap();
        assert_eq!(output, json!({ "exit_code": 0, "result": { "rows": 7 } }));
        assert_eq!(result_of(&output).unwrap()["rows"], 7);
        for (result, said) in [
            (json!([1]), "not a JSON object"),
            (json!({ "text": "x".repeat(262_144) }), "the limit is 262144 (256 KiB)"),
            (json!({ "a": ["\0"] }), "NUL"),
            (json!({ "\0": 1 }), "NUL"),
            (json!({ "deep": nested(100) }), "nests 101 levels deep; the limit is 100"),
        ] {
            let told = keep(&mut output, result).unwrap_err();
            assert!(told.contains(said), "{told}");
        }
        assert!(keep(&mut output, json!({ "deep": nested(99) })).is_ok());
    }

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, _| json!([inner]))
    }

    #[test]
    fn levels_are_counted_outside_of_texts() {
        for (json, levels) in [
            ("1", 0),
            ("[]", 1),
            (r#"{"a": [1, [2]], "b": {}}"#, 3),
            (r#"["[[[", "\"[[", {"]": 1}]"#, 2),
        ] {
            assert_eq!(nesting(json.as_bytes()), levels, "{json}");
        }
    }
}

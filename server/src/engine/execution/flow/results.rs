//! Merges the outputs of tasks into the context of later tasks, without IO.

use serde_json::{Map, Value, json};

use crate::target::MAX_RESULT_BYTES;

/// A task's context: the run's context, overlaid key by key with the results of the preceding tasks
/// in the order of the definition. The order in which the tasks ended does not matter.
pub(super) fn merged(
    base: &Value,
    results: &[Option<Map<String, Value>>],
    before: &[bool],
) -> Value {
    let mut context = base.clone();
    if let Value::Object(members) = &mut context {
        for (result, _) in results.iter().zip(before).filter(|(_, before)| **before) {
            members
                .extend(result.iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
        }
    }
    context
}

/// The outputs of all tasks of a run, merged in the order of the definition.
pub(crate) fn merged_results<'a>(
    results: impl Iterator<Item = Option<&'a Map<String, Value>>>,
) -> Option<Value> {
    let mut merged = None;
    for result in results.flatten() {
        let members = merged.get_or_insert_with(Map::new);
        members.extend(result.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    merged.map(Value::Object)
}

/// Checks that the run's context stays within its limit when all results are merged into it.
/// Returns the problem if it does not.
pub(super) fn fits(base: &Value, results: &[Option<Map<String, Value>>]) -> Result<(), String> {
    let size = merged(base, results, &vec![true; results.len()]).to_string().len();
    if size <= MAX_RESULT_BYTES {
        return Ok(());
    }
    Err(format!(
        "with its result, the run's context has {size} bytes as JSON; the limit is \
         {MAX_RESULT_BYTES} (256 KiB)"
    ))
}

/// The value of `tasks` in templates: the results of the preceding tasks that have succeeded.
pub(super) fn named<'a>(
    results: impl Iterator<Item = (&'a str, bool, Option<&'a Map<String, Value>>)>,
) -> Value {
    let mut named = Map::new();
    for (name, succeeded, result) in results {
        if succeeded {
            let output = result.cloned().unwrap_or_default();
            named.insert(name.to_owned(), json!({ "output": output }));
        }
    }
    Value::Object(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(value: Value) -> Option<Map<String, Value>> {
        value.as_object().cloned()
    }

    #[test]
    fn a_task_finds_the_results_of_those_before_it_in_the_definitions_order() {
        let base = json!({ "a": 0, "base": true });
        let results = [result(json!({ "a": 1, "x": 1 })), None, result(json!({ "a": 3 }))];
        assert_eq!(merged(&base, &results, &[false; 3]), base);
        assert_eq!(
            merged(&base, &results, &[true, true, false]),
            json!({ "a": 1, "x": 1, "base": true })
        );
        assert_eq!(merged(&base, &results, &[true; 3]), json!({ "a": 3, "x": 1, "base": true }));
    }

    #[test]
    fn the_whole_context_stays_within_its_limit() {
        let half = || result(json!({ "text": "x".repeat(200_000) }));
        let other = || result(json!({ "more": "x".repeat(200_000) }));
        assert_eq!(fits(&json!({}), &[half(), half()]), Ok(()), "the same key is written over");
        let told = fits(&json!({}), &[half(), other()]).unwrap_err();
        assert!(told.contains("the limit is 262144 (256 KiB)"), "{told}");
    }
}

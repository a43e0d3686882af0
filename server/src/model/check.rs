//! Small rules that many inputs share. Each returns an error that names the field, the value, the
//! limit and what to do.

use std::ops::RangeInclusive;

use timetable::MAX_CALENDARS;
use uuid::Uuid;

use super::BadInput;
use crate::target;

/// Maximum number of characters of a reason.
const MAX_REASON: usize = 500;

/// Checks the name of a schedule, workflow, module, task or tag: it is used in URLs, file names and
/// shells.
pub(crate) fn name(field: &str, value: &str) -> Result<(), BadInput> {
    let help = "use 1 to 128 of A-Z a-z 0-9 . _ / - with a letter or digit first and last";
    let problem = if value.is_empty() {
        "is empty"
    } else if value.len() > 128 {
        "is longer than 128 characters"
    } else if !value.bytes().all(|b| b.is_ascii_alphanumeric() || b"._/-".contains(&b)) {
        "has a character that is not allowed in names"
    } else if !value.starts_with(|c: char| c.is_ascii_alphanumeric())
        || !value.ends_with(|c: char| c.is_ascii_alphanumeric())
    {
        "does not begin and end with a letter or digit"
    } else if Uuid::try_parse(value).is_ok() {
        // Where the API accepts an id or a name, this name would be taken for an id.
        "has the form of an id"
    } else {
        return Ok(());
    };
    let mut error = BadInput::new(field, value, problem, help);
    error.position = value
        .char_indices()
        .find(|(_, c)| !c.is_ascii_alphanumeric() && !"._/-".contains(*c))
        .map(|(start, c)| start..start + c.len_utf8());
    Err(error)
}

/// Checks a note or another text that only people read.
pub(crate) fn text(field: &str, value: &str, most: usize) -> Result<(), BadInput> {
    let length = value.chars().count();
    if length > most {
        let problem = format!("has {length} characters; the limit is {most}");
        return Err(BadInput::new(field, value, problem, "shorten it"));
    }
    if value.contains('\0') {
        return Err(BadInput::new(field, value, "has a NUL character", "remove it"));
    }
    Ok(())
}

/// Checks the number of calendars that a schedule names.
pub(crate) fn calendars(names: &[String]) -> Result<(), BadInput> {
    if names.len() <= MAX_CALENDARS {
        return Ok(());
    }
    let problem = format!("{} calendars", names.len());
    let help = format!("give at most {MAX_CALENDARS} calendars, or join some of them");
    Err(BadInput::new("calendars", "", problem, help))
}

/// Checks a required reason, which only people read.
pub(crate) fn reason(field: &str, value: &str) -> Result<(), BadInput> {
    if value.trim().is_empty() {
        let help = "give a reason for the next person on call";
        return Err(BadInput::new(field, value, "is empty", help));
    }
    text(field, value, MAX_REASON)
}

/// Checks the reason for the audit log, if one is given.
pub(crate) fn optional_reason(reason: Option<&str>) -> Result<(), BadInput> {
    reason.map_or(Ok(()), |reason| text("reason", reason, MAX_REASON))
}

/// Checks that a whole number of `unit` is within bounds.
pub(crate) fn number(
    field: &str,
    value: i64,
    bounds: RangeInclusive<i64>,
    unit: &str,
) -> Result<(), BadInput> {
    if bounds.contains(&value) {
        return Ok(());
    }
    let (least, most) = (bounds.start(), bounds.end());
    let help = format!("give {least} to {most}{}{unit}", if unit.is_empty() { "" } else { " " });
    let problem = if value < *least { "is too small" } else { "is too large" };
    Err(BadInput::new(field, value, problem, help))
}

/// Checks the context of a schedule or run: a JSON object of at most 256 KiB.
pub(crate) fn context(field: &str, value: &serde_json::Value) -> Result<(), BadInput> {
    const MAX: usize = 256 * 1024;
    if !value.is_object() {
        let help = "give a JSON object, such as {\"region\": \"eu\"}";
        return Err(BadInput::new(field, value, "is not a JSON object", help));
    }
    if has_nul(value) {
        let help = "remove it: the databases cannot store it in JSON";
        return Err(BadInput::new(field, value, "has a NUL character (\\u0000)", help));
    }
    let text = value.to_string();
    let size = text.len();
    if size > MAX {
        let problem = format!("has {size} bytes as JSON; the limit is {MAX} (256 KiB)");
        let help = "keep large data elsewhere and put its address here";
        return Err(BadInput::new(field, value, problem, help));
    }
    nests(field, &text)
}

/// Checks that JSON does not nest deeper than can be parsed again.
pub(crate) fn nests(field: &str, json: &str) -> Result<(), BadInput> {
    let levels = target::nesting(json.as_bytes());
    if levels <= target::MAX_NESTING {
        return Ok(());
    }
    let help = "put the inner levels into a string";
    Err(BadInput::new(field, "", target::too_deep(levels), help))
}

/// Whether a text somewhere inside contains NUL, which PostgreSQL cannot store.
pub(crate) fn has_nul(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::String(text) => text.contains('\0'),
        serde_json::Value::Array(items) => items.iter().any(has_nul),
        serde_json::Value::Object(map) => {
            map.iter().any(|(key, value)| key.contains('\0') || has_nul(value))
        }
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
            false
        }
    }
}

/// Checks the retention of a namespace or schedule.
pub(crate) fn check_days(field: &str, days: Option<i64>) -> Result<Option<i32>, BadInput> {
    if let Some(days) = days {
        number(field, days, 1..=3_650, "days")?;
    }
    Ok(days.and_then(|days| i32::try_from(days).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_need_no_quoting_are_accepted() {
        for good in ["a", "nightly-report", "team/eu.backup_2", "7z", &"a".repeat(128)] {
            assert_eq!(name("name", good), Ok(()), "{good}");
        }
    }

    #[test]
    fn a_name_that_could_be_taken_for_an_id_is_refused() {
        let id = "0190a4f2-7c3e-7d11-8a55-3f6d2b1c9e04";
        for taken in [id.to_owned(), id.replace('-', ""), id.to_uppercase()] {
            let error = name("name", &taken).unwrap_err();
            assert_eq!(error.problem, "has the form of an id", "{taken}");
        }
        assert_eq!(name("name", &format!("{id}x")), Ok(()));
    }

    #[test]
    fn other_names_are_refused_with_the_place() {
        for (bad, place) in [
            ("", None),
            ("-a", None),
            ("a/", None),
            ("a b", Some(1..2)),
            ("naïve", Some(2..4)),
            (&*"a".repeat(129), None),
        ] {
            let error = name("name", bad).unwrap_err();
            assert_eq!(error.position, place, "{bad}");
        }
    }

    #[test]
    fn a_context_is_an_object_within_its_limit() {
        assert!(context("context", &serde_json::json!({})).is_ok());
        let error = context("context", &serde_json::json!([1])).unwrap_err();
        assert_eq!(error.problem, "is not a JSON object");
        let nul = serde_json::json!({ "a": [{ "b\0": 1 }] });
        assert!(context("context", &nul).unwrap_err().problem.contains("NUL"));
        let large = serde_json::json!({ "text": "x".repeat(256 * 1024) });
        assert!(context("context", &large).unwrap_err().problem.contains("262144"));
        let nested = |levels| (0..levels).fold(serde_json::json!(1), |v, _| serde_json::json!([v]));
        assert!(context("context", &serde_json::json!({ "a": nested(99) })).is_ok());
        let error = context("context", &serde_json::json!({ "a": nested(100) })).unwrap_err();
        assert_eq!(error.problem, "nests 101 levels deep; the limit is 100");
    }

    #[test]
    fn an_error_about_a_number_names_its_bounds() {
        let error = number("misfire.max", 0, 1..=1_000, "").unwrap_err();
        assert_eq!(error.to_string(), "misfire.max \"0\": is too small; give 1 to 1000");
    }
}

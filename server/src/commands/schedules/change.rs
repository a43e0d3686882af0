//! Describes an edit in one line, for the schedule's history.

use serde_json::Value;

use crate::model::spec::Spec;

/// Maximum length of an old or new value that is shown in full.
const SHOWN: usize = 48;

/// One phrase for each field that differs.
pub(in crate::commands) fn between(before: &Spec, after: &Spec) -> Vec<String> {
    let mut phrases = Vec::new();
    if before.timing.expressions != after.timing.expressions {
        let joined = |spec: &Spec| spec.timing.expressions.join(" + ");
        phrases.push(phrase("timing", &joined(before), &joined(after)));
    }
    let (old, new) = (fields(before), fields(after));
    for ((name, old), (_, new)) in old.iter().zip(&new) {
        if old != new {
            phrases.push(match *name {
                "note" | "ping" | "context" => format!("{name} changed"),
                _ => phrase(name, &shown(old), &shown(new)),
            });
        }
    }
    phrases
}

/// The fields in reading order, without the expressions.
fn fields(spec: &Spec) -> [(&'static str, Value); 24] {
    let (timing, misfire) = (&spec.timing, &spec.misfire);
    [
        ("name", spec.name.clone().into()),
        ("zone", timing.zone.clone().into()),
        ("clock gap", serde_json::json!(timing.gap)),
        ("clock overlap", serde_json::json!(timing.overlap)),
        ("start", serde_json::json!(timing.start_at)),
        ("end", serde_json::json!(timing.end_at)),
        ("jitter seconds", timing.jitter_seconds.into()),
        ("calendars", spec.calendars.join(", ").into()),
        ("maximum of fires", serde_json::json!(spec.max_fires)),
        ("catch-up", serde_json::json!(misfire.catch_up)),
        ("misfire grace seconds", misfire.grace_seconds.into()),
        ("catch-up limit", misfire.max.into()),
        ("catch-up spacing seconds", misfire.spacing_seconds.into()),
        ("catch-up window seconds", misfire.window_seconds.into()),
        ("overlap", serde_json::json!(spec.overlap)),
        ("buffer limit", spec.buffer_limit.into()),
        ("group", spec.group.clone().into()),
        ("priority", spec.priority.into()),
        ("start deadline seconds", spec.start_deadline_seconds.into()),
        ("retention days", spec.retention_days.into()),
        ("tags", spec.tags.join(", ").into()),
        ("note", spec.note.clone().into()),
        ("ping", serde_json::json!(spec.ping)),
        ("context", spec.context.clone()),
    ]
}

fn shown(value: &Value) -> String {
    if value.is_null() {
        return String::new();
    }
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn phrase(name: &str, old: &str, new: &str) -> String {
    format!("{name}: {} -> {}", quoted(old), quoted(new))
}

fn quoted(value: &str) -> String {
    if value.is_empty() {
        return "none".to_owned();
    }
    if value.chars().count() <= SHOWN {
        return format!("`{value}`");
    }
    let start: String = value.chars().take(SHOWN - 1).collect();
    format!("`{start}…`")
}

#[cfg(test)]
mod tests {
    use entity::schedule::Overlap;

    use super::*;

    fn spec() -> Spec {
        Spec::on("nightly", "0 2 * * *")
    }

    #[test]
    fn a_change_is_described_with_the_old_and_the_new_value() {
        let mut after = spec();
        after.timing.expressions = vec!["0 3 * * *".to_owned()];
        after.timing.zone = "Europe/Berlin".to_owned();
        after.calendars = vec!["holidays".to_owned(), "office".to_owned()];
        after.max_fires = Some(3);
        after.overlap = Overlap::BufferAll;
        after.buffer_limit = Some(5);
        after.group = Some("reports".to_owned());
        after.priority = -10;
        after.start_deadline_seconds = Some(60);
        let ping = serde_json::json!({ "success": "https://watchdog.example/hush" });
        after.ping = Some(serde_json::from_value(ping).unwrap());
        after.context = serde_json::json!({"a": 1});
        assert_eq!(
            between(&spec(), &after),
            [
                "timing: `0 2 * * *` -> `0 3 * * *`",
                "zone: `UTC` -> `Europe/Berlin`",
                "calendars: none -> `holidays, office`",
                "maximum of fires: none -> `3`",
                "overlap: `skip` -> `buffer_all`",
                "buffer limit: none -> `5`",
                "group: none -> `reports`",
                "priority: `0` -> `-10`",
                "start deadline seconds: none -> `60`",
                "ping changed",
                "context changed",
            ]
        );
    }

    #[test]
    fn nothing_is_reported_without_a_change() {
        assert!(between(&spec(), &spec()).is_empty());
    }
}

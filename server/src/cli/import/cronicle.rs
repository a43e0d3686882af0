//! Cronicle: the file from `control.sh export`, or the events from its API, `get_schedule`.

use entity::schedule::{CatchUp, DstGap, DstOverlap, Overlap};
use serde_json::Value;

use super::{
    exported::{is_on, items, number, task, text},
    gathered::{ForeignEntry, Gathered},
    plain::plain,
};
use crate::{
    commands::modules::file::{DstEntry, MisfireEntry, ScheduleEntry, Seconds},
    target::{CommandTarget, Http, Method, Target},
};

/// The fields of a timing, with their minimum and maximum values.
const FIELDS: [(&str, i64, i64); 6] = [
    ("minutes", 0, 59),
    ("hours", 0, 23),
    ("days", 1, 31),
    ("months", 1, 12),
    ("weekdays", 0, 6),
    ("years", 1970, 4999),
];

/// Maximum number of fires that may wait.
const MAX_WAITING: i64 = 1_000;
/// Maximum number of missed fires that run, and the longest catch-up window in seconds.
const MAX_MISSED: i64 = 10_000;
const WINDOW: i64 = 30 * 24 * 60 * 60;

/// Imports the events in a file.
pub(super) fn gather(gathered: &mut Gathered, file: &str, source: &str, zone: &str) {
    if let Ok(json) = serde_json::from_str::<Value>(source) {
        for (index, event) in items(&json, &["rows", "items", "events"]).into_iter().enumerate() {
            one(gathered, format!("{file}:{}", index + 1), event, zone);
        }
        return;
    }
    // A line of the export consists of a storage key, a hyphen, and its value.
    for (index, line) in source.lines().enumerate() {
        let pages = line.strip_prefix("global/schedule/").and_then(|rest| rest.split_once(" - "));
        let Some((_, page)) = pages else { continue };
        let place = format!("{file}:{}", index + 1);
        match serde_json::from_str::<Value>(page) {
            Ok(page) if text(&page, "type") == Some("list_page") => {
                for event in items(&page, &["items"]) {
                    one(gathered, place.clone(), event, zone);
                }
            }
            Ok(_) => {}
            Err(error) => {
                let origin = ForeignEntry { place, entry: "global/schedule" };
                gathered.refuse(&origin, format!("it is not JSON: {error}"));
            }
        }
    }
}

fn one(gathered: &mut Gathered, place: String, event: &Value, zone: &str) {
    let (id, title) = (text(event, "id"), text(event, "title"));
    let name = title.or(id).unwrap_or_default();
    let origin = ForeignEntry { place, entry: name };
    let mut changes = Vec::new();
    match schedule(event, zone, &mut changes) {
        Ok(schedule) => {
            let longer = id.map(|id| format!("{name}-{id}"));
            let names: Vec<&str> = [Some(name), longer.as_deref()].into_iter().flatten().collect();
            gathered.add(&origin, &names, schedule, None, changes);
        }
        Err(why) => gathered.refuse(&origin, why),
    }
}

fn schedule(event: &Value, zone: &str, changes: &mut Vec<String>) -> Result<ScheduleEntry, String> {
    let mut schedule = ScheduleEntry::new(vec![times(event.get("timing"))?]);
    text(event, "timezone").unwrap_or(zone).clone_into(&mut schedule.zone);
    if schedule.zone != "UTC" {
        // Cronicle compares each minute that passes with the timing, so it does not run times that
        // the clock skips, and runs times that it repeats twice.
        schedule.dst = DstEntry { gap: Some(DstGap::Skip), overlap: Some(DstOverlap::Both) };
    }
    schedule.paused = event.get("enabled").is_some() && !is_on(event, "enabled");
    schedule.note = text(event, "notes").unwrap_or_default().to_owned();
    schedule.tags = text(event, "category").map(str::to_owned).into_iter().collect();
    schedule
        .tags
        .retain(|tag| tag.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)));
    (schedule.overlap, schedule.buffer_limit) = overlap(event, changes);
    schedule.misfire = if is_on(event, "catch_up") {
        // Cronicle runs every missed minute, however many and however old.
        MisfireEntry {
            catch_up: Some(CatchUp::All),
            max: Some(MAX_MISSED),
            window: Some(Seconds(WINDOW)),
            ..MisfireEntry::default()
        }
    } else {
        MisfireEntry { catch_up: Some(CatchUp::Skip), ..MisfireEntry::default() }
    };
    let nothing = Value::Null;
    let params = event.get("params").unwrap_or(&nothing);
    let target = match text(event, "plugin").unwrap_or_default() {
        "shellplug" => {
            let script = text(params, "script").ok_or("its params have no script")?;
            // Carillon runs every script in `/bin/sh`, so a `#!` line with another program is
            // reported.
            if script.starts_with("#!") && !script.starts_with("#!/bin/sh") {
                let program = script.lines().next().unwrap_or_default();
                changes.push(format!("{program}: the script is run by /bin/sh here"));
            }
            Target::Command(CommandTarget {
                script: Some(script.to_owned()),
                ..CommandTarget::default()
            })
        }
        "urlplug" => Target::Http(http(params, changes)?),
        other => {
            return Err(format!(
                "its plugin is {other:?}; shellplug and urlplug are imported: write the task \
                 yourself"
            ));
        }
    };
    for key in [
        "target",
        "algo",
        "multiplex",
        "chain",
        "chain_error",
        "notify_success",
        "notify_fail",
        "web_hook",
        "cpu_limit",
        "memory_limit",
        "retry_delay",
    ] {
        let is_said = match event.get(key) {
            Some(Value::String(text)) => !text.is_empty() && text != "random",
            Some(Value::Number(number)) => number.as_f64() != Some(0.0),
            Some(Value::Bool(on)) => *on,
            Some(Value::Null) | None => false,
            Some(Value::Array(_) | Value::Object(_)) => true,
        };
        if is_said {
            changes.push(format!("{key} is left out"));
        }
    }
    let again = number(event, "retries").unwrap_or(0);
    task(&mut schedule, target, again, number(event, "timeout"), changes);
    Ok(schedule)
}

/// What happens to a fire while an earlier run has not ended, and how many fires may wait.
fn overlap(event: &Value, changes: &mut Vec<String>) -> (Option<Overlap>, Option<i64>) {
    let catches_up = is_on(event, "catch_up");
    match number(event, "max_children") {
        // A fire that finds a run at work waits in the event's queue. Without a queue it is lost,
        // unless the event catches up: then Cronicle tries again every minute.
        Some(1) if catches_up || is_on(event, "queue") => {
            let limit = number(event, "queue_max").filter(|limit| *limit > 0 && !catches_up);
            if let Some(limit) = limit.filter(|limit| *limit > MAX_WAITING) {
                changes.push(format!("queue_max {limit}: at most {MAX_WAITING} fires may wait"));
            }
            let limit = limit.map_or(MAX_WAITING, |limit| limit.min(MAX_WAITING));
            (Some(Overlap::BufferAll), Some(limit))
        }
        Some(1) => (None, None),
        Some(most @ 2..) => {
            changes.push(format!("max_children {most}: any number of runs may overlap"));
            (Some(Overlap::Allow), None)
        }
        Some(_) | None => (Some(Overlap::Allow), None),
    }
}

/// Converts the timing's lists to cron fields; a missing list means every value. All fields must
/// match.
fn times(timing: Option<&Value>) -> Result<String, String> {
    let timing = match timing {
        // An event without a timing runs only when a person starts it.
        None | Some(Value::Null | Value::Bool(false)) => return Ok("@manually".to_owned()),
        Some(timing @ Value::Object(_)) => timing,
        Some(_) => return Err("its timing is not an object".to_owned()),
    };
    let mut made = Vec::with_capacity(FIELDS.len());
    for (key, first, last) in FIELDS {
        let values = timing.get(key).and_then(Value::as_array);
        let values = values.map_or(&[][..], Vec::as_slice);
        let mut numbers = Vec::new();
        for value in values {
            let number = value.as_i64().filter(|number| (first..=last).contains(number));
            numbers.push(number.ok_or_else(|| format!("timing.{key} has {value}"))?);
        }
        numbers.sort_unstable();
        numbers.dedup();
        let texts: Vec<String> = numbers.iter().map(i64::to_string).collect();
        made.push(if texts.is_empty() { "*".to_owned() } else { texts.join(",") });
    }
    let [minutes, hours, days, months, weekdays, years] = &made[..] else {
        return Err("its timing has other fields".to_owned());
    };
    let both = if days != "*" && weekdays != "*" { "+" } else { "" };
    let five = format!("{minutes} {hours} {days} {months} {both}{weekdays}");
    Ok(if years == "*" { five } else { format!("0 {five} {years}") })
}

fn http(params: &Value, changes: &mut Vec<String>) -> Result<Http, String> {
    let url = text(params, "url").ok_or("its params have no url")?;
    let method = text(params, "method").unwrap_or("GET").to_ascii_uppercase();
    let method: Method = serde_json::from_value(method.clone().into())
        .map_err(|_| format!("its method {method:?} is not known"))?;
    let lines = text(params, "headers").unwrap_or_default().lines();
    let headers = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let name = name.trim();
        // Cronicle's own user agent is dropped.
        (!name.eq_ignore_ascii_case("user-agent"))
            .then(|| (name.to_owned(), crate::target::SecretText::new(plain(value.trim()))))
    });
    for key in ["success_match", "error_match", "ssl_cert_bypass"] {
        if text(params, key).is_some() || is_on(params, key) {
            changes.push(format!("{key} is left out"));
        }
    }
    Ok(Http {
        url: plain(url),
        method,
        headers: headers.collect(),
        body: text(params, "data").map(|body| Value::String(plain(body))),
        expected_status: crate::target::StatusSet::default(),
        expected_body: None,
        max_redirects: if is_on(params, "follow") { 5 } else { 0 },
        output: crate::target::Answers::default(),
        signing_secret: None,
        client_certificate: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_of_a_timing_are_fields_that_must_all_match() {
        for (timing, expression) in [
            (json!({ "minutes": [30, 0] }), "0,30 * * * *"),
            (json!({ "hours": [2], "minutes": [5], "weekdays": [1] }), "5 2 * * 1"),
            (json!({ "days": [1], "weekdays": [1], "hours": [0], "minutes": [0] }), "0 0 1 * +1"),
            (json!({ "years": [2030], "minutes": [0] }), "0 0 * * * * 2030"),
            (json!({}), "* * * * *"),
            (json!(false), "@manually"),
        ] {
            assert_eq!(times(Some(&timing)).as_deref(), Ok(expression), "{timing}");
        }
        assert!(times(Some(&json!({ "hours": [24] }))).is_err());
        assert!(times(Some(&json!("daily"))).is_err());
    }

    #[test]
    fn a_fire_waits_where_cronicle_starts_it_later() {
        for (event, expected) in [
            (json!({ "max_children": 0 }), (Some(Overlap::Allow), None)),
            (json!({ "max_children": 1 }), (None, None)),
            (
                json!({ "max_children": 1, "queue": 1, "queue_max": 5 }),
                (Some(Overlap::BufferAll), Some(5)),
            ),
            (
                json!({ "max_children": 1, "queue": 1, "queue_max": 0 }),
                (Some(Overlap::BufferAll), Some(MAX_WAITING)),
            ),
            (
                json!({ "max_children": 1, "catch_up": 1 }),
                (Some(Overlap::BufferAll), Some(MAX_WAITING)),
            ),
        ] {
            let mut changes = vec![];
            assert_eq!(overlap(&event, &mut changes), expected, "{event}");
            assert!(changes.is_empty(), "{event}: {changes:?}");
        }
    }

    #[test]
    fn a_fixed_time_that_occurs_twice_fires_twice_and_a_script_stays_as_it_is() {
        let script = "for f in a b; do echo \"${#f} {{x}}\"; done";
        let event = json!({
            "plugin": "shellplug", "params": { "script": script }, "timezone": "Europe/Berlin",
            "timing": { "hours": [2], "minutes": [30] },
        });
        let made = schedule(&event, "UTC", &mut vec![]).expect("a schedule");
        assert_eq!(made.dst.overlap, Some(DstOverlap::Both));
        let made = serde_json::to_value(&made).expect("JSON");
        assert_eq!(made["task"]["target"]["command"]["script"], script, "{made}");
    }
}

//! Dkron: the jobs from its API, `GET /v1/jobs`.

use std::collections::BTreeMap;

use entity::schedule::{CatchUp, DstGap, DstOverlap, Overlap};
use serde_json::Value;
use timetable::Dialect;

use super::{
    exported::{is_on, items, number, task, text},
    gathered::{ForeignEntry, Gathered},
    kubernetes::expressions,
    plain::plain,
};
use crate::{
    commands::modules::file::{DstEntry, MisfireEntry, ScheduleEntry},
    target::{CommandTarget, Http, Method, SecretText, Target},
};

/// Imports the jobs in a file.
pub(super) fn gather(
    gathered: &mut Gathered,
    file: &str,
    json: &Value,
    zone: &str,
    dialect: Option<Dialect>,
) {
    for (index, job) in items(json, &["jobs", "items"]).into_iter().enumerate() {
        let name = text(job, "name").unwrap_or_default();
        let when = text(job, "schedule").unwrap_or_default();
        let entry = format!("{name} {when}");
        let origin = ForeignEntry { place: format!("{file}:{}", index + 1), entry: entry.trim() };
        let mut changes = Vec::new();
        match schedule(job, when, zone, dialect, &mut changes) {
            Ok(schedule) => gathered.add(&origin, &[name], schedule, None, changes),
            Err(why) => gathered.refuse(&origin, why),
        }
    }
}

fn schedule(
    job: &Value,
    when: &str,
    zone: &str,
    dialect: Option<Dialect>,
    changes: &mut Vec<String>,
) -> Result<ScheduleEntry, String> {
    if let Some(parent) = text(job, "parent_job") {
        return Err(format!("it runs after {parent}: make both of them tasks of one workflow"));
    }
    let mut schedule = ScheduleEntry::new(times(when, dialect)?);
    // Dkron reads nicknames such as `@daily` in the zone of its machine, whatever the job's.
    let own_zone = text(job, "timezone").filter(|_| !when.starts_with('@'));
    own_zone.unwrap_or(zone).clone_into(&mut schedule.zone);
    if schedule.zone != "UTC" {
        // Dkron does not run times that the clock skips, and runs times that it repeats twice.
        schedule.dst = DstEntry { gap: Some(DstGap::Skip), overlap: Some(DstOverlap::Both) };
    }
    // Dkron does not make up for the runs that it missed while it was down.
    schedule.misfire = MisfireEntry { catch_up: Some(CatchUp::Skip), ..MisfireEntry::default() };
    schedule.paused = is_on(job, "disabled");
    schedule.note = text(job, "displayname").unwrap_or_default().to_owned();
    schedule.overlap = match text(job, "concurrency") {
        Some("forbid") => None,
        Some(_) | None => Some(Overlap::Allow),
    };
    let nothing = Value::Null;
    let config = job.get("executor_config").unwrap_or(&nothing);
    let target = match text(job, "executor").unwrap_or_default() {
        "shell" => Target::Command(shell(config, changes)?),
        "http" => Target::Http(http(config, changes)?),
        other => {
            return Err(format!(
                "its executor is {other:?}; shell and http are imported: write the task yourself"
            ));
        }
    };
    for key in ["tags", "processors", "ephemeral", "expires_at", "metadata"] {
        let said = job.get(key).filter(|value| match value {
            Value::Null => false,
            Value::Bool(on) => *on,
            Value::Object(map) => !map.is_empty(),
            Value::Array(list) => !list.is_empty(),
            Value::String(text) => !text.is_empty(),
            Value::Number(_) => true,
        });
        if said.is_some() {
            changes.push(match key {
                "tags" => "tags: which nodes it runs on is left out; see 'node.tags'".to_owned(),
                key => format!("{key} is left out"),
            });
        }
    }
    let timeout = text(config, "timeout").and_then(seconds).or(number(config, "timeout"));
    task(&mut schedule, target, number(job, "retries").unwrap_or(0), timeout, changes);
    Ok(schedule)
}

fn times(when: &str, dialect: Option<Dialect>) -> Result<Vec<String>, String> {
    if let Some(dialect) = dialect {
        return Ok(vec![dialect.translate(when).map_err(|error| error.to_string())?]);
    }
    match when.to_ascii_lowercase().as_str() {
        "" => Err("it has no schedule".to_owned()),
        "@minutely" => Ok(vec!["* * * * *".to_owned()]),
        _ => Ok(expressions(when)),
    }
}

fn shell(config: &Value, changes: &mut Vec<String>) -> Result<CommandTarget, String> {
    let line = text(config, "command").ok_or("its executor_config has no command")?;
    let env: BTreeMap<String, SecretText> = text(config, "env")
        .into_iter()
        .flat_map(|env| env.split(','))
        .filter_map(|pair| pair.trim().split_once('='))
        .map(|(name, value)| (name.to_owned(), SecretText::new(plain(value))))
        .collect();
    let directory = text(config, "cwd").map(plain);
    // Without a shell, Dkron splits the command into words, which a shell does as well.
    let has_shell = is_on(config, "shell");
    if !has_shell && has_shell_syntax(line) {
        changes.push(
            "the command runs without a shell there, so $, * and ; have no meaning in it; here \
             /bin/sh interprets them: quote them in the script"
                .to_owned(),
        );
    }
    Ok(CommandTarget { script: Some(line.to_owned()), env, directory, ..CommandTarget::default() })
}

/// Whether a shell does more with a command than to split it into words and remove quotes.
fn has_shell_syntax(line: &str) -> bool {
    let mut quote: Option<char> = None;
    let mut is_start = true;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            (_, Some('\'')) => {}
            ('\\', _) => {
                chars.next();
            }
            ('$' | '`', _) => return true,
            ('"' | '\'', None) => quote = Some(c),
            ('*' | '?' | '[' | ';' | '&' | '|' | '<' | '>' | '(' | ')' | '\n', None) => {
                return true;
            }
            ('~' | '#', None) if is_start => return true,
            _ => {}
        }
        is_start = matches!(c, ' ' | '\t');
    }
    false
}

fn http(config: &Value, changes: &mut Vec<String>) -> Result<Http, String> {
    let url = text(config, "url").ok_or("its executor_config has no url")?;
    let method: Method = match text(config, "method") {
        Some(method) => serde_json::from_value(method.to_ascii_uppercase().into())
            .map_err(|_| format!("its method {method:?} is not known"))?,
        None => serde_json::from_value("GET".into()).map_err(|error| error.to_string())?,
    };
    let mut headers = BTreeMap::new();
    if let Some(list) = text(config, "headers") {
        match serde_json::from_str::<Vec<String>>(list) {
            Ok(lines) => headers.extend(lines.iter().filter_map(|line| {
                let (name, value) = line.split_once(':')?;
                Some((name.trim().to_owned(), SecretText::new(plain(value.trim()))))
            })),
            Err(_) => {
                changes.push("headers: they are not a list of strings, and are left out".to_owned())
            }
        }
    }
    let expected = match text(config, "expectCode").or(text(config, "expect_code")) {
        None => serde_json::from_value(serde_json::json!("200-299")),
        Some(codes) => serde_json::from_value(codes.into()),
    };
    Ok(Http {
        url: plain(url),
        method,
        headers,
        body: text(config, "body").map(|body| Value::String(plain(body))),
        expected_status: expected.map_err(|error| format!("its expectCode: {error}"))?,
        expected_body: text(config, "expectBody").map(str::to_owned),
        max_redirects: 5,
        output: crate::target::Answers::default(),
        signing_secret: None,
        client_certificate: None,
    })
}

/// `30`, `30s` or `5m` in seconds.
fn seconds(text: &str) -> Option<i64> {
    let (number, scale) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) if text.ends_with('s') => (number, 1),
        Some(number) if text.ends_with('m') => (number, 60),
        Some(number) => (number, 3_600),
        None => (text, 1),
    };
    number.trim().parse::<i64>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_nickname_is_read_in_the_zone_of_the_machine() {
        let job = json!({
            "timezone": "Asia/Tokyo", "executor": "shell", "executor_config": { "command": "a" },
        });
        for (when, zone) in [("0 0 4 * * *", "Asia/Tokyo"), ("@daily", "Europe/Berlin")] {
            let made = schedule(&job, when, "Europe/Berlin", None, &mut vec![]);
            assert_eq!(made.expect("a schedule").zone, zone, "{when}");
        }
    }

    #[test]
    fn a_command_reaches_the_shell_as_it_is() {
        let line = "docker ps --format '{{.Names}}'";
        let mut changes = vec![];
        let made = shell(&json!({ "command": line }), &mut changes).expect("a command");
        assert_eq!((made.script.as_deref(), changes.len()), (Some(line), 0));
    }

    #[test]
    fn a_command_that_a_shell_reads_differently_is_reported() {
        for (line, is_reported) in [
            ("/bin/a 'b*c' \"d e\" f\\*g h#i 1~", false),
            ("/bin/a $HOME", true),
            ("/bin/a \"$HOME\"", true),
            ("/bin/a *.log", true),
            ("/bin/a; /bin/b", true),
            ("/bin/a ~", true),
        ] {
            for (config, is_reported) in [
                (json!({ "command": line }), is_reported),
                (json!({ "command": line, "shell": "true" }), false),
            ] {
                let mut changes = vec![];
                shell(&config, &mut changes).expect("a command");
                assert_eq!(!changes.is_empty(), is_reported, "{config}: {changes:?}");
            }
        }
    }
}

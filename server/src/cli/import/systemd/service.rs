//! Converts the commands of a service to tasks.

use std::collections::BTreeMap;

use super::{span, unit::Unit, words::split};
use crate::{
    cli::import::{gathered::ImportedWorkflow, plain::plain},
    commands::modules::file::{ScheduleEntry, TaskEntry, WorkflowEntry},
    model::{Definition, Task, When},
    target::{CommandTarget, SecretText, Target},
};

/// Timeout of imported services: the longest that Carillon supports, because a service may run for
/// ever.
const LONGEST_MS: i64 = 7 * 24 * 60 * 60 * 1000;
const MAX_GRACE_MS: i64 = 60 * 60 * 1000;
/// How long systemd waits by default before it kills a process that does not stop.
const USUAL_GRACE_MS: i64 = 90_000;

/// Sets the work of the schedule: a task, or a workflow if the service has several commands.
pub(super) fn work(
    service: &Unit,
    schedule: &mut ScheduleEntry,
    changes: &mut Vec<String>,
) -> Result<ImportedWorkflow, String> {
    let env = environment(service, changes)?;
    let escaped = env.iter().map(|(name, value)| (name.clone(), SecretText::new(plain(value))));
    let usual = CommandTarget {
        env: escaped.collect(),
        directory: directory(service, changes),
        user: user(service, changes),
        ..CommandTarget::default()
    };
    let limits = limits(service, changes)?;
    let mut tasks: Vec<Task> = Vec::new();
    for (key, name) in [("ExecStartPre", "pre"), ("ExecStart", "main"), ("ExecStartPost", "post")] {
        for (index, line) in service.values("Service", key).into_iter().enumerate() {
            let (command, may_fail) = command(service, line, &usual, &env, changes)
                .map_err(|why| format!("{key}={line}: {why}"))?;
            let name = if index == 0 { name.to_owned() } else { format!("{name}-{}", index + 1) };
            let mut task = Task::new(name, Target::Command(command));
            (task.timeout_ms, task.kill_grace_ms) = limits;
            task.allow_failure = may_fail;
            if let Some(last) = tasks.last() {
                task.needs = vec![last.name.clone()];
                if last.allow_failure {
                    task.when = When::Always;
                }
            }
            tasks.push(task);
        }
    }
    if service.values("Service", "ExecStart").is_empty() {
        return Err("its service has no ExecStart=".to_owned());
    }
    left_out(service, changes);
    if let [task] = &tasks[..] {
        schedule.task = Some(TaskEntry::of(task));
        return Ok(None);
    }
    Ok(Some(WorkflowEntry::of(&Definition::of(tasks))))
}

/// One command, and whether it may fail. `env` contains the variables of `usual`, without the
/// escapes for templates.
fn command(
    service: &Unit,
    line: &str,
    usual: &CommandTarget,
    env: &BTreeMap<String, String>,
    changes: &mut Vec<String>,
) -> Result<(CommandTarget, bool), String> {
    let rest = line.trim_start_matches(['@', '-', ':', '+', '!', '|']);
    let prefix = &line[..line.len() - rest.len()];
    if prefix.contains(['+', '!']) {
        changes.push(format!("{rest}: runs with the rights of every other command"));
    }
    let mut words = split(rest).ok_or("a quote is not closed")?;
    if prefix.contains('@') && words.len() > 1 {
        words.remove(1);
        changes.push(format!("{rest}: gets its own name, not another"));
    }
    if words.iter().any(|word| word == ";") {
        return Err("several commands in one line are not imported; give each a line".to_owned());
    }
    let mut made = Vec::with_capacity(words.len());
    for word in words {
        let word = specified(service, &word, changes);
        if prefix.contains(':') {
            made.push(word);
        } else {
            substituted(&word, env, &mut made, changes);
        }
    }
    let mut made = made.into_iter();
    let program = made.next().ok_or("there is no program")?;
    let args = made.map(|word| plain(&word)).collect();
    let command = CommandTarget { program: Some(program), args, ..usual.clone() };
    Ok((command, prefix.contains('-')))
}

/// The instance of a template's unit, before systemd escaped it for the unit name.
fn unescaped(instance: &str) -> String {
    let mut bytes = Vec::with_capacity(instance.len());
    let mut rest = instance.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = behind.strip_prefix(b"x").and_then(|digits| digits.get(..2));
        let code =
            code.filter(|_| first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[3..];
            }
            None => {
                bytes.push(if first == b'-' { b'/' } else { first });
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Replaces `%n` and other specifiers, as far as the unit's name determines them.
pub(super) fn specified(unit: &Unit, text: &str, changes: &mut Vec<String>) -> String {
    let service = unit;
    let base = service.name.trim_end_matches(".service").trim_end_matches(".timer");
    let (prefix, instance) = base.split_once('@').unwrap_or((base, ""));
    let (mut made, mut chars) = (String::new(), text.chars());
    while let Some(c) = chars.next() {
        if c != '%' {
            made.push(c);
            continue;
        }
        match chars.next() {
            Some('%') => made.push('%'),
            Some('n') => made.push_str(&service.name),
            Some('N') => made.push_str(base),
            Some('p') => made.push_str(prefix),
            Some('i') => made.push_str(instance),
            Some('I') => made.push_str(&unescaped(instance)),
            Some('j') => made.push_str(prefix.rsplit('-').next().unwrap_or(prefix)),
            other => {
                let shown: String = ['%'].into_iter().chain(other).collect();
                changes.push(format!("{shown} in {text} is left as it is"));
                made.push_str(&shown);
            }
        }
    }
    made
}

/// Substitutes `${NAME}` within a word, and `$NAME` as a whole word, which may become several.
fn substituted(
    word: &str,
    env: &BTreeMap<String, String>,
    made: &mut Vec<String>,
    changes: &mut Vec<String>,
) {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let mut unknown = |name: &str| {
        changes.push(format!("${name} is not known here: it becomes nothing"));
        String::new()
    };
    if let Some(name) = word.strip_prefix('$').filter(|name| is_name(name)) {
        match env.get(name) {
            Some(value) => made.extend(value.split_whitespace().map(str::to_owned)),
            None => drop(unknown(name)),
        }
        return;
    }
    let (mut text, mut rest) = (String::new(), word);
    while let Some(at) = rest.find('$') {
        text.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let named = behind.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        if let Some(after) = behind.strip_prefix('$') {
            text.push('$');
            rest = after;
        } else if let Some((name, after)) = named.filter(|(name, _)| is_name(name)) {
            text += &env.get(name).cloned().unwrap_or_else(|| unknown(name));
            rest = after;
        } else {
            text.push('$');
            rest = behind;
        }
    }
    made.push(text + rest);
}

/// The variables of a service, without escapes for templates.
fn environment(
    service: &Unit,
    changes: &mut Vec<String>,
) -> Result<BTreeMap<String, String>, String> {
    let mut env = BTreeMap::new();
    for line in service.values("Service", "Environment") {
        let words =
            split(line).ok_or_else(|| format!("Environment={line}: a quote is not closed"))?;
        for word in words {
            let word = specified(service, &word, changes);
            if let Some((name, value)) = word.split_once('=') {
                env.insert(name.to_owned(), value.to_owned());
            }
        }
    }
    for file in service.values("Service", "EnvironmentFile") {
        changes.push(format!("EnvironmentFile={file}: its variables are not set"));
    }
    Ok(env)
}

fn directory(service: &Unit, changes: &mut Vec<String>) -> Option<String> {
    let given = service.value("Service", "WorkingDirectory")?.trim_start_matches('-');
    // Without a working directory, Carillon starts a command in the user's home.
    (given != "~").then(|| plain(&specified(service, given, changes)))
}

fn user(service: &Unit, changes: &mut Vec<String>) -> Option<String> {
    let user = service.value("Service", "User").map(str::to_owned);
    if user.is_none() {
        changes.push("no User=: it runs as the user of the server".to_owned());
    }
    user
}

/// The timeout of an attempt, and how long it may take to stop.
fn limits(service: &Unit, changes: &mut Vec<String>) -> Result<(i64, i64), String> {
    let of = |key: &str| match service.value("Service", key) {
        None | Some("infinity") => Ok(None),
        Some(text) => {
            span::parse(text).map(Some).ok_or_else(|| format!("{key}={text} is not a duration"))
        }
    };
    let is_oneshot = service.value("Service", "Type") == Some("oneshot");
    let start = if is_oneshot { of("TimeoutStartSec")?.or(of("TimeoutSec")?) } else { None };
    let most = [start, of("RuntimeMaxSec")?].into_iter().flatten().filter(|ms| *ms > 0).min();
    let timeout = most.map_or(LONGEST_MS, |ms| ms.clamp(1, LONGEST_MS));
    if most.is_some_and(|most| most != timeout) {
        changes.push("its time limit becomes 7 days, the longest there is".to_owned());
    }
    let stop = of("TimeoutStopSec")?.or(of("TimeoutSec")?).unwrap_or(USUAL_GRACE_MS);
    Ok((timeout, stop.clamp(0, MAX_GRACE_MS)))
}

/// Lists the properties of a service that are not imported.
fn left_out(service: &Unit, changes: &mut Vec<String>) {
    let known = [
        "Type",
        "ExecStart",
        "ExecStartPre",
        "ExecStartPost",
        "Environment",
        "EnvironmentFile",
        "User",
        "WorkingDirectory",
        "TimeoutStartSec",
        "TimeoutStopSec",
        "TimeoutSec",
        "RuntimeMaxSec",
        "RemainAfterExit",
        "SyslogIdentifier",
    ];
    let usual = |key: &str, value: Option<&str>| {
        matches!(
            (key, value),
            ("Restart", Some("no"))
                | ("StandardOutput" | "StandardError", Some("journal"))
                | ("KillMode", Some("control-group" | "mixed"))
        )
    };
    let others = service.keys("Service").into_iter();
    let others: Vec<&str> = others
        .filter(|key| !known.contains(key) && !usual(key, service.value("Service", key)))
        .collect();
    if !others.is_empty() {
        changes.push(format!("of the service is left out: {}", others.join(", ")));
    }
    if let Some(kind @ ("forking" | "dbus")) = service.value("Service", "Type") {
        changes.push(format!("Type={kind}: a run ends when its program does"));
    }
    let harmless =
        ["Description", "Documentation", "After", "Before", "Wants", "DefaultDependencies"];
    let others: Vec<&str> =
        service.keys("Unit").into_iter().filter(|key| !harmless.contains(key)).collect();
    if !others.is_empty() {
        changes.push(format!("of the unit is left out: {}", others.join(", ")));
    }
}

//! Crontab files, as Debian's cron and cronie read them.
//!
//! - `form`: whether users precede the commands; `known`: accounts and programs
//! - `program`: names for entries; `wrapper`: programs that start others

mod form;
mod known;
mod program;
mod wrapper;

use std::{collections::BTreeMap, path::Path};

use entity::schedule::{CatchUp, Overlap};
use timetable::Dialect;

use super::{
    gathered::{ForeignEntry, Gathered, check_zone},
    plain::{plain, quoted},
};
use crate::{
    commands::modules::file::{MisfireEntry, ScheduleEntry, TaskEntry},
    model::Task,
    target::{CommandTarget, SecretText, Target},
};

/// Facts about a crontab file that the file does not state.
#[derive(Clone, Copy)]
pub(super) struct Form<'a> {
    /// Whether a user precedes each command; None to detect it from the file.
    pub(super) system: Option<bool>,
    /// The dialect of the times, if it is not cron's.
    pub(super) dialect: Option<Dialect>,
    /// The user who owns the crontab.
    pub(super) user: Option<&'a str>,
    /// The machine's time zone.
    pub(super) zone: &'a str,
}

/// Timeout of imported commands: the longest that Carillon supports, because cron has none.
const LONGEST_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// The settings from the lines above an entry.
struct Settings {
    zone: Result<String, String>,
    env: BTreeMap<String, String>,
    note: Vec<String>,
}

/// Why a file was not read: the caller requested or assumed one form, and the file looks like the
/// other. The text is the evidence.
pub(super) enum WrongForm {
    /// The commands in the file seem to be preceded by users.
    NamesUsers(String),
    /// The commands in the file seem not to be preceded by users, although the caller requested
    /// that form.
    NamesPrograms(String),
}

/// Imports the entries of a file.
pub(super) fn gather(
    gathered: &mut Gathered,
    file: &Path,
    shown: &str,
    text: &str,
    form: Form<'_>,
) -> Result<(), WrongForm> {
    check_form(file, text, form)?;
    let mut settings =
        Settings { zone: Ok(form.zone.to_owned()), env: BTreeMap::new(), note: vec![] };
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            settings.note.clear();
            continue;
        }
        if let Some(comment) = line.strip_prefix('#') {
            settings.note.push(comment.trim().to_owned());
            continue;
        }
        if let Some((name, value)) = assignment(line) {
            settings.set(name, value);
            continue;
        }
        let place = format!("{shown}:{}", index + 1);
        entry(gathered, &ForeignEntry { place, entry: line }, form, &settings);
        settings.note.clear();
    }
    Ok(())
}

/// Refuses a file that looks like the other form, unless the caller said that it has no users.
fn check_form(file: &Path, text: &str, form: Form<'_>) -> Result<(), WrongForm> {
    let entries = text.lines().enumerate().filter_map(|(index, line)| {
        let line = line.trim();
        let is_entry = !line.starts_with('#') && assignment(line).is_none();
        let (_, rest) = timing(line, form.dialect, &mut vec![]).ok().filter(|_| is_entry)?;
        Some(form::Rest { line: index + 1, text: rest })
    });
    let wrong = match form.system {
        None => form::names_users(file, &entries.collect::<Vec<_>>()).map(WrongForm::NamesUsers),
        Some(true) => {
            form::names_programs(file, &entries.collect::<Vec<_>>()).map(WrongForm::NamesPrograms)
        }
        Some(false) => None,
    };
    wrong.map_or(Ok(()), Err)
}

impl Settings {
    fn set(&mut self, name: String, value: String) {
        if name == "CRON_TZ" {
            let known = check_zone(&value);
            self.zone = known.map(|()| value).map_err(|why| format!("CRON_TZ: {why}"));
        } else {
            self.env.insert(name, value);
        }
        self.note.clear();
    }
}

/// `NAME = value`, with or without quotes, as cron parses it.
fn assignment(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once('=')?;
    let name = unquoted(name.trim());
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then(|| (name.to_owned(), unquoted(value.trim()).to_owned()))
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner;
        }
    }
    text
}

fn entry(gathered: &mut Gathered, origin: &ForeignEntry<'_>, form: Form<'_>, settings: &Settings) {
    let zone = match &settings.zone {
        Ok(zone) => zone,
        Err(why) => return gathered.refuse(origin, why),
    };
    let mut changes = Vec::new();
    // A leading hyphen tells cron not to write to the system log, which Carillon never does.
    let line = origin.entry.strip_prefix('-').unwrap_or(origin.entry);
    let (when, rest) = match timing(line, form.dialect, &mut changes) {
        Ok(found) => found,
        Err(why) => return gathered.refuse(origin, why),
    };
    let (user, command) = if form.system == Some(true) {
        match word(rest) {
            Some((user, _)) if !form::is_user(user) => {
                let why = format!(
                    "'{user}' is not a user; is it a user's crontab? Then leave --system out"
                );
                return gathered.refuse(origin, why);
            }
            Some((user, command)) if !command.is_empty() => (Some(user), command),
            Some(_) | None => {
                let why = "a user and a command are missing after the time; is it a user's \
                           crontab? Then leave --system out";
                return gathered.refuse(origin, why);
            }
        }
    } else {
        (form.user, rest)
    };
    if command.is_empty() {
        return gathered.refuse(origin, "there is no command after the time");
    }

    let mut schedule = ScheduleEntry::new(vec![when]);
    zone.clone_into(&mut schedule.zone);
    schedule.note = settings.note.join("\n");
    // Cron starts a job even if the previous one is still running, and does not make up for missed
    // ones.
    schedule.overlap = Some(Overlap::Allow);
    schedule.misfire = MisfireEntry { catch_up: Some(CatchUp::Skip), ..MisfireEntry::default() };
    let script = script(command);
    let mut target = CommandTarget { user: user.map(str::to_owned), ..CommandTarget::default() };
    let mut shell = "/bin/sh";
    for (name, value) in &settings.env {
        match &**name {
            "SHELL" => shell = value,
            "MAILTO" if value.is_empty() => {}
            "MAILTO" => changes.push(format!(
                "MAILTO={value}: output is not mailed; it is kept with each run, and alerts report \
                 failures"
            )),
            "MAILFROM" | "CONTENT_TYPE" | "CONTENT_TRANSFER_ENCODING" => {}
            "RANDOM_DELAY" => changes.push(format!(
                "RANDOM_DELAY={value}: it is not imported; give the schedule a 'jitter'"
            )),
            "HOME" => {
                target.directory = Some(plain(value));
                target.env.insert(name.clone(), SecretText::new(plain(value)));
            }
            "LOGNAME" | "USER" => {}
            _ => {
                target.env.insert(name.clone(), SecretText::new(plain(value)));
            }
        }
    }
    if shell == "/bin/sh" {
        target.script = Some(script);
    } else {
        target.program = Some(shell.to_owned());
        target.args = vec!["-c".to_owned(), plain(&script)];
    }
    let mut task = Task::new("main", Target::Command(target));
    task.timeout_ms = LONGEST_MS;
    schedule.task = Some(TaskEntry::of(&task));
    let names = program::names(command);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    gathered.add(origin, &names, schedule, None, changes);
}

/// The expression with which the entry begins, and the rest.
fn timing<'a>(
    line: &'a str,
    dialect: Option<Dialect>,
    changes: &mut Vec<String>,
) -> Result<(String, &'a str), String> {
    if let Some(dialect) = dialect {
        return translated(line, dialect);
    }
    if line.starts_with('@') {
        let (name, rest) = word(line).unwrap_or((line, ""));
        return match name.to_ascii_lowercase().as_str() {
            "@reboot" => Err("@reboot: there is no start of a machine to run at; let the \
                              machine's init system run it, or trigger a schedule from there"
                .to_owned()),
            "@every_minute" => Ok(("* * * * *".to_owned(), rest)),
            known @ ("@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight"
            | "@hourly") => Ok((known.to_owned(), rest)),
            _ => Err(format!("{name} is not a time that cron knows")),
        };
    }
    let (mut fields, mut rest) = (Vec::new(), line);
    for _ in 0..5 {
        let Some((field, behind)) = word(rest) else {
            return Err("it has neither five fields for the time nor a name and '='".to_owned());
        };
        fields.push(spread(field, changes));
        rest = behind;
    }
    Ok((fields.join(" "), rest))
}

/// The expression of an entry in another dialect, which has six fields, or seven if the seventh is
/// a year.
fn translated(line: &str, dialect: Dialect) -> Result<(String, &str), String> {
    let end = |fields: usize| {
        let mut rest = line;
        for _ in 0..fields {
            (_, rest) = word(rest)?;
        }
        Some(line.len() - rest.len())
    };
    let call = ["cron(", "rate(", "at("].iter().any(|call| line.starts_with(call));
    let at = if call {
        line.find(')').map(|at| at + 1)
    } else {
        let is_year = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_digit() || c == '*')
                && text.bytes().all(|b| b.is_ascii_digit() || b"*,-/".contains(&b))
        };
        let seventh = end(6).and_then(|at| word(&line[at..]));
        let has_year = dialect == Dialect::Quartz && seventh.is_some_and(|(text, _)| is_year(text));
        end(if has_year { 7 } else { 6 })
    };
    let (time, rest) = line.split_at(at.ok_or("it has too few fields for the time")?);
    let when = dialect.translate(time).map_err(|error| error.to_string())?;
    Ok((when, rest.trim_start_matches([' ', '\t'])))
}

/// Converts a field to our dialect: cronie's `0~59` becomes a value that is chosen once.
fn spread(field: &str, changes: &mut Vec<String>) -> String {
    let item = |item: &str| {
        let Some((low, high)) = item.split_once('~') else { return item.to_owned() };
        match (low, high) {
            ("", "") => "H".to_owned(),
            (low, high) if !low.is_empty() && !high.is_empty() => format!("H({low}-{high})"),
            (low, high) => format!("{low}~{high}"),
        }
    };
    let made: Vec<String> = field.split(',').map(item).collect();
    let made = made.join(",");
    if made.contains('H') && field.contains('~') {
        changes.push(format!(
            "{field}: cron chooses again whenever it reads the file; here the value is chosen once"
        ));
    }
    made
}

/// The first word of a text, and the rest.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches([' ', '\t']);
    if text.is_empty() {
        return None;
    }
    let (word, rest) = text.split_at(text.find([' ', '\t']).unwrap_or(text.len()));
    Some((word, rest.trim_start_matches([' ', '\t'])))
}

/// A command as the shell gets it: the text after the first `%` is its standard input, line by
/// line.
fn script(command: &str) -> String {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for c in command.chars() {
        match (c, escaped) {
            ('%', false) => parts.push(String::new()),
            ('%', true) => {
                if let Some(part) = parts.last_mut() {
                    part.pop();
                    part.push('%');
                }
            }
            (c, _) => {
                if let Some(part) = parts.last_mut() {
                    part.push(c);
                }
            }
        }
        escaped = c == '\\' && !escaped;
    }
    let command = parts.remove(0);
    if parts.is_empty() {
        return command;
    }
    let lines: Vec<String> = parts.iter().map(|line| quoted(line)).collect();
    format!("printf '%s\\n' {} | {{\n{command}\n}}", lines.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_are_lines_of_input() {
        for (command, expected) in [
            ("date +\\%F", "date +%F"),
            ("mail -s hi%Hello%it's me", "printf '%s\\n' 'Hello' 'it'\\''s me' | {\nmail -s hi\n}"),
            ("echo \\\\", "echo \\\\"),
        ] {
            assert_eq!(script(command), expected, "{command}");
        }
    }

    #[test]
    fn settings_are_distinguished_from_entries() {
        let pair = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
        assert_eq!(assignment("MAILTO=\"\""), pair("MAILTO", ""));
        assert_eq!(assignment("'A B' = c"), None);
        assert_eq!(
            assignment("PATH = /bin:/usr/bin # no comment"),
            pair("PATH", "/bin:/usr/bin # no comment")
        );
        assert_eq!(assignment("* * * * * FOO=1 run"), None);
    }
}

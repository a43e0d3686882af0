//! The tasks that this machine runs, each with its program. Only these can be started, whatever the
//! server sends.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs,
    path::Path,
};

use serde::Deserialize;

use super::words;
use crate::{cli::CliError, target::CommandTarget};

/// Maximum length of a task's name, as in a target of the server.
const MAX_NAME: usize = 64;

/// A task of a flag.
#[derive(Clone, Debug)]
pub(super) struct NamedTask {
    name: String,
    command: CommandTarget,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    tasks: BTreeMap<String, CommandTarget>,
}

/// Reads a task from the value of a flag: `NAME=PROGRAM ARG...`.
pub(super) fn named(text: &str) -> Result<NamedTask, String> {
    let shape = || "write TASK=COMMAND, such as 'report=/usr/local/bin/report daily'".to_owned();
    let (name, line) = text.split_once('=').ok_or_else(shape)?;
    check_name(name)?;
    let words = words::split(line).ok_or("close the quote of the command, or write \\\\ for \\")?;
    let mut words = words.into_iter();
    let program = words.next().filter(|program| !program.is_empty()).ok_or_else(shape)?;
    let command =
        CommandTarget { program: Some(program), args: words.collect(), ..CommandTarget::default() };
    Ok(NamedTask { name: name.to_owned(), command })
}

/// The tasks of the flags and of the file, by name.
pub(super) fn all(
    flags: Vec<NamedTask>,
    file: Option<&Path>,
) -> Result<BTreeMap<String, CommandTarget>, CliError> {
    let mut all = file.map(read).transpose()?.unwrap_or_default();
    for NamedTask { name, command } in flags {
        match all.entry(name) {
            Entry::Vacant(free) => {
                free.insert(command);
            }
            Entry::Occupied(taken) => {
                let text = format!("the task '{}' is defined twice; leave one out", taken.key());
                return Err(CliError::Usage(text));
            }
        }
    }
    Ok(all)
}

fn read(file: &Path) -> Result<BTreeMap<String, CommandTarget>, CliError> {
    let refused = |problem: String| CliError::Usage(format!("{}{problem}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| refused(format!(": {error}")))?;
    let tasks = parsed(&text).map_err(refused)?;
    if tasks.is_empty() {
        return Err(refused(": defines no task; write a table [tasks.NAME] for each".to_owned()));
    }
    Ok(tasks)
}

/// The tasks of a file's text. An error begins with the line, if it is known.
fn parsed(text: &str) -> Result<BTreeMap<String, CommandTarget>, String> {
    let read: Result<TaskFile, toml::de::Error> = toml::from_str(text);
    let tasks = read.map(|file| file.tasks).map_err(|error| {
        // Only the message is used: the rest shows the line, which may have a secret.
        let start = error.span().and_then(|span| text.get(..span.start));
        let line = start.map(|before| format!(":{}", before.matches('\n').count() + 1));
        format!("{}: {}", line.unwrap_or_default(), error.message())
    })?;
    for name in tasks.keys() {
        check_name(name).map_err(|problem| format!(": {problem}"))?;
    }
    Ok(tasks)
}

fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    if (1..=MAX_NAME).contains(&name.len()) && name.chars().all(fits) {
        return Ok(());
    }
    Err(format!("'{name}' is not a task's name; write 1 to 64 of a-z A-Z 0-9 . _ -"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_a_name_and_a_command_line() {
        let task = named("report=/bin/sh -c 'echo a=b'").unwrap();
        assert_eq!(task.name, "report");
        assert_eq!(task.command.program.as_deref(), Some("/bin/sh"));
        assert_eq!(task.command.args, ["-c", "echo a=b"]);
        for (wrong, said) in [
            ("report", "write TASK=COMMAND"),
            ("report=", "write TASK=COMMAND"),
            ("report='' a", "write TASK=COMMAND"),
            ("report='a", "close the quote"),
            ("re port=a", "'re port' is not a task's name"),
            ("=a", "'' is not a task's name"),
        ] {
            let problem = named(wrong).unwrap_err();
            assert!(problem.contains(said), "{wrong}: {problem}");
        }
    }

    #[test]
    fn a_file_has_the_keys_of_a_command_target() {
        let text = "[tasks.report]\nprogram = 'report'\nargs = ['--daily']\n\
                    directory = '/srv'\nenv = { TZ = 'UTC' }\n\n[tasks.clean]\nscript = 'rm -f *'\n";
        let tasks = parsed(text).unwrap();
        assert_eq!(tasks.keys().collect::<Vec<_>>(), ["clean", "report"]);
        assert_eq!(tasks["report"].directory.as_deref(), Some("/srv"));
        assert_eq!(tasks["report"].env["TZ"].expose(), "UTC");
        for (wrong, said) in [
            ("[tasks.a]\nprogram = 'a'\npasswd = 'hush'\n", ": unknown field `passwd`"),
            ("[task.a]\nprogram = 'a'\n", "unknown field `task`"),
            ("[tasks.'a b']\nprogram = 'a'\n", ": 'a b' is not a task's name"),
        ] {
            let problem = parsed(wrong).unwrap_err();
            assert!(problem.contains(said) && !problem.contains("hush"), "{problem}");
        }
    }

    #[test]
    fn a_task_is_defined_once() {
        let twice = ["a=one", "a=two"].map(|text| named(text).unwrap()).to_vec();
        let problem = all(twice, None).unwrap_err().to_string();
        assert_eq!(problem, "the task 'a' is defined twice; leave one out");
    }
}

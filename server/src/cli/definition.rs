//! The definition of all commands, for help, completions, man pages and the reference.

use anstyle::{Effects, Style};
use clap::{ArgMatches, CommandFactory, builder::StyledStr, error::ErrorKind, parser::ValueSource};

use super::{
    Cli,
    guide::{GUIDE, NESTED},
};

/// The command, with its help in groups, an example for each subcommand, and the flags that may
/// also precede the subcommand.
pub(super) fn command() -> clap::Command {
    // Subcommands that support such a flag show it in their own help; for the others it is useless.
    let mut command = Cli::command().mut_args(|arg| {
        let is_everywhere = arg.is_global_set();
        arg.hide(is_everywhere)
    });
    for (name, example) in GUIDE.iter().flat_map(|group| group.commands) {
        command = command.mut_subcommand(name, |one| one.after_help(shown_example(example)));
    }
    for (outer, inner, example) in NESTED {
        command = command.mut_subcommand(outer, |outer| {
            outer.mut_subcommand(inner, |inner| inner.after_help(shown_example(example)))
        });
    }
    let help = help(&command);
    command.override_help(help)
}

const BOLD: Style = Style::new().effects(Effects::BOLD.insert(Effects::UNDERLINE));

fn shown_example(example: &str) -> StyledStr {
    format!("{BOLD}Example:{BOLD:#}\n  {example}").into()
}

/// The top-level help: the subcommands, grouped by purpose.
fn help(command: &clap::Command) -> StyledStr {
    use std::fmt::Write;
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("{about}\n\n{BOLD}Usage:{BOLD:#} carillon [OPTIONS] <COMMAND>\n");
    for group in GUIDE {
        let _ = write!(text, "\n{BOLD}{}:{BOLD:#}\n", group.title);
        for (name, _) in group.commands {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name:<12} {about}");
        }
    }
    let _ = write!(text, "\n{BOLD}Options, before or after the command:{BOLD:#}\n");
    for arg in command.get_arguments().filter(|arg| arg.is_global_set()) {
        let name = arg.get_long().unwrap_or_default();
        let value = arg.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
        let about = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let flag = format!("--{name} <{value}>");
        let _ = writeln!(text, "  {flag:<23} {about}");
    }
    text.push_str(
        "  -h, --help              Print help; of a command with 'carillon COMMAND --help'\n",
    );
    text.push_str("  -V, --version           Print version\n");
    text.into()
}

/// The error for a flag before a subcommand that does not support it.
pub(super) fn misplaced(matches: &ArgMatches) -> Option<clap::Error> {
    let mut definition = Cli::command();
    let given: Vec<String> = definition
        .get_arguments()
        .filter(|arg| arg.is_global_set())
        .map(|arg| arg.get_id().to_string())
        .filter(|id| matches.value_source(id) == Some(ValueSource::CommandLine))
        .collect();
    if given.is_empty() {
        return None;
    }
    let (mut one, mut matches, mut names) = (&definition, matches, vec!["carillon"]);
    let mut known: Vec<String> = Vec::new();
    while let Some((name, inner)) = matches.subcommand() {
        one = one.find_subcommand(name)?;
        names.push(one.get_name());
        known.extend(one.get_arguments().map(|arg| arg.get_id().to_string()));
        matches = inner;
    }
    let wrong = given.iter().find(|id| !known.contains(id))?;
    let text = format!("'{}' does not use --{}", names.join(" "), wrong.replace('_', "-"));
    Some(definition.error(ErrorKind::UnknownArgument, text))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn the_definition_holds_together() {
        command().debug_assert();
    }

    #[test]
    fn each_subcommand_is_in_one_group_of_the_help() {
        let guided: Vec<&str> =
            GUIDE.iter().flat_map(|group| group.commands).map(|(name, _)| *name).collect();
        let defined = Cli::command();
        let mut defined: Vec<&str> =
            defined.get_subcommands().map(clap::Command::get_name).collect();
        let mut sorted = guided.clone();
        sorted.sort_unstable();
        defined.sort_unstable();
        assert_eq!(sorted, defined);
        let help = command().render_help().to_string();
        assert!(guided.iter().all(|name| help.contains(&format!("\n  {name} "))), "{help}");
    }

    /// Splits a command line as a shell does.
    fn taken_apart(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(std::mem::take(&mut word)),
                c => word.push(c),
            }
        }
        words.push(word);
        words
    }

    #[test]
    fn each_example_is_a_command_line_of_its_subcommand() {
        for (name, example) in GUIDE.iter().flat_map(|group| group.commands) {
            let words = taken_apart(example);
            assert_eq!(words.first().map(String::as_str), Some("carillon"), "{example}");
            let matches = command().try_get_matches_from(&words);
            let matches = matches.unwrap_or_else(|error| panic!("{example}: {error}"));
            assert_eq!(matches.subcommand_name(), Some(*name), "{example}");
        }
        for (outer, inner, example) in NESTED {
            let matches = command().try_get_matches_from(taken_apart(example));
            let matches = matches.unwrap_or_else(|error| panic!("{example}: {error}"));
            let (name, below) = matches.subcommand().unwrap();
            assert_eq!((name, below.subcommand_name()), (*outer, Some(*inner)), "{example}");
        }
    }

    #[test]
    fn each_nested_subcommand_has_an_example_and_keeps_its_place() {
        let defined = Cli::command();
        let nested = |outer: &clap::Command| {
            let names = outer.get_subcommands().map(|inner| inner.get_name().to_owned());
            names.map(|inner| (outer.get_name().to_owned(), inner)).collect::<Vec<_>>()
        };
        let mut defined: Vec<_> = defined.get_subcommands().flat_map(nested).collect();
        let mut shown: Vec<_> = NESTED
            .iter()
            .map(|(outer, inner, _)| ((*outer).to_owned(), (*inner).to_owned()))
            .collect();
        // Only the order within a command counts: a stable sort leaves it as it is.
        defined.sort_by_cached_key(|(outer, _)| outer.clone());
        shown.sort_by_cached_key(|(outer, _)| outer.clone());
        assert_eq!(shown, defined);
    }

    #[test]
    fn flags_may_come_before_and_after_the_subcommand() {
        let server = |line: &str| {
            let matches = command().try_get_matches_from(taken_apart(line)).unwrap();
            assert!(misplaced(&matches).is_none(), "{line}");
            let mut inner = &matches;
            while let Some((_, deeper)) = inner.subcommand() {
                inner = deeper;
            }
            inner.get_one::<String>("server").cloned()
        };
        for line in [
            "carillon --server http://a schedules",
            "carillon schedules --server http://a",
            "carillon --server http://a run show 01997e4c-1111-7000-8000-000000000001",
            "carillon feeds --server http://a list",
            "carillon feeds list --server http://a",
        ] {
            assert_eq!(server(line).as_deref(), Some("http://a"), "{line}");
        }
        for line in [
            "carillon --database-url sqlite:x token list",
            "carillon token --database-url sqlite:x list",
            "carillon token list --database-url sqlite:x",
        ] {
            Cli::try_parse_from(taken_apart(line)).unwrap();
        }
    }

    #[test]
    fn a_useless_flag_is_refused_in_any_position() {
        let line = "carillon --server http://a preview @daily";
        let matches = command().try_get_matches_from(taken_apart(line)).unwrap();
        let error = misplaced(&matches).unwrap().to_string();
        assert!(error.contains("'carillon preview' does not use --server"), "{error}");
    }
}

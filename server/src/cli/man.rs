//! `carillon man`: man pages and the reference, generated from the same definition as the help.

use std::path::PathBuf;

use clap::{Arg, Args, Command, Id};

use super::{CliError, definition, guide::GUIDE, output};

/// Write a man page for each command into a folder, or print the reference as Markdown
#[derive(Debug, Args)]
pub(super) struct Man {
    /// The folder, such as /usr/local/share/man/man1
    #[arg(value_name = "DIR", required_unless_present = "markdown")]
    folder: Option<PathBuf>,
    /// Print docs/reference/cli.md instead
    #[arg(long, conflicts_with = "folder")]
    markdown: bool,
}

impl Man {
    pub(super) fn run(self) -> Result<(), CliError> {
        let Some(folder) = self.folder else {
            return output::text(&reference());
        };
        std::fs::create_dir_all(&folder).map_err(CliError::io("make the folder"))?;
        let written = clap_mangen::generate_to(definition::command(), &folder);
        written.map_err(CliError::io("write the man pages"))?;
        output::line(format!("wrote the man pages to {}", folder.display()))
    }
}

/// All commands on one Markdown page.
fn reference() -> String {
    let mut command = definition::command();
    command.build();
    let mut text = "# Commands\n\n\
        <!-- Written by `carillon man --markdown`; a test compares it. -->\n\n\
        `carillon COMMAND --help` says the same of one command. Instants are written `2h`, \
        `2h ago`, `in 2h`, `14:30`,\n`yesterday 02:00`, `2026-03-29 02:30` (local time) or \
        `2026-03-29T01:00:00Z`, durations `90s`, `1h30m` or `7d`.\nExit codes: 0 done, 1 failed, 2 \
        the command line or an expression is wrong, 3 something differs (where that was\nasked \
        for), 4 a run that was waited for did not succeed.\n"
        .to_owned();
    text.push_str("\n## Options, before or after the command\n\n| | |\n| --- | --- |\n");
    let everywhere = command.get_arguments().filter(|arg| arg.is_global_set());
    let (ids, rows): (Vec<&Id>, Vec<String>) =
        everywhere.map(|arg| (arg.get_id(), row(arg))).unzip();
    rows.iter().for_each(|row| text.push_str(row));
    text.push_str("\nThe first three are for commands that ask a server, the others for those that work on the database.\n");
    for group in GUIDE {
        text.push_str(&format!("\n## {}\n", group.title));
        for (name, _) in group.commands {
            if let Some(one) = command.find_subcommand(name) {
                describe(one, &format!("carillon {name}"), 3, &ids, &mut text);
            }
        }
    }
    text
}

/// Appends a command and its subcommands to the page.
fn describe(command: &Command, path: &str, depth: usize, everywhere: &[&Id], text: &mut String) {
    let about = command.get_long_about().or_else(|| command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    text.push_str(&format!(
        "\n{} `{path}`\n\n{}.\n",
        "#".repeat(depth),
        about.trim_end_matches('.')
    ));
    if let Some(example) = command.get_after_help() {
        let example = example.to_string();
        let example = example.lines().skip(1).map(str::trim).collect::<Vec<_>>().join("\n");
        text.push_str(&format!("\n```sh\n{example}\n```\n"));
    }
    let own = |arg: &&Arg| {
        let id = arg.get_id();
        !arg.is_hide_set() && id != "help" && id != "version" && !everywhere.contains(&id)
    };
    let rows: Vec<String> = command.get_arguments().filter(own).map(row).collect();
    // A command that requires a subcommand has no flags of its own.
    if !rows.is_empty() && !command.is_subcommand_required_set() {
        text.push_str("\n| | |\n| --- | --- |\n");
        rows.iter().for_each(|row| text.push_str(row));
    }
    for one in command.get_subcommands().filter(|one| one.get_name() != "help") {
        describe(one, &format!("{path} {}", one.get_name()), depth + 1, everywhere, text);
    }
}

/// An argument or flag as a table row.
fn row(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default();
    let values = values.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" ");
    let takes_value = arg.get_action().takes_values();
    let written = match arg.get_long() {
        None => values,
        Some(long) if takes_value => format!("--{long} {values}"),
        Some(long) => format!("--{long}"),
    };
    let written = match arg.get_short() {
        Some(short) => format!("-{short}, {written}"),
        None => written,
    };
    let mut about = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let words: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| takes_value && !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !words.is_empty() {
        about.push_str(&format!(": {}", words.join(", ")));
    }
    for alias in arg.get_visible_aliases().unwrap_or_default() {
        about.push_str(&format!(" (also `--{alias}`)"));
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| format!("`{}`", value.display())).collect();
    if takes_value && !defaults.is_empty() {
        about.push_str(&format!(" (default {})", defaults.join(", ")));
    }
    if let Some(variable) = arg.get_env() {
        about.push_str(&format!(" (or `{}`)", variable.display()));
    }
    let required = if arg.is_required_set() { " (required)" } else { "" };
    let about = about.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ");
    format!("| `{}` | {about}{required} |\n", written.replace('|', "\\|"))
}

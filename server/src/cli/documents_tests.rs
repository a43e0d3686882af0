//! Every command line that a document shows is one: its commands and its flags are defined.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::definition;

/// What a command line may follow: a prompt, or a part of a longer line.
const BEFORE: [&str; 8] = ["", "$ ", "`", "$(", "| ", "&& ", "sudo ", "sudo -u carillon "];

/// The command lines in a text, each without `carillon` and without a comment.
fn command_lines(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim_start();
        for (at, word) in line.match_indices("carillon ") {
            let (before, rest) = (&line[..at], &line[at + word.len()..]);
            let is_start = BEFORE
                .iter()
                .any(|start| before == *start || !start.is_empty() && before.ends_with(start));
            if is_start && rest.starts_with(|c: char| c.is_ascii_lowercase()) {
                let end = rest.find(['`', '|', '>', ';', '$']).unwrap_or(rest.len());
                let end = rest.find(" #").map_or(end, |comment| comment.min(end));
                found.push(&rest[..end]);
            }
        }
    }
    found
}

/// A command or flag of the line that is not defined.
fn undefined(definition: &clap::Command, line: &str) -> Option<String> {
    let mut command = definition;
    for (index, word) in line.split_whitespace().enumerate() {
        let word = word.trim_end_matches(['.', ',', ':', ')', '\'', '"']);
        if let Some(flag) = word.strip_prefix("--").filter(|flag| !flag.is_empty()) {
            let flag = flag.split('=').next().unwrap_or(flag);
            let is_defined = command.get_arguments().any(|arg| {
                let aliases = arg.get_visible_aliases().unwrap_or_default();
                arg.get_long() == Some(flag) || aliases.contains(&flag)
            });
            if !is_defined {
                return Some(format!("--{flag}"));
            }
        } else if let Some(inner) = command.find_subcommand(word) {
            command = inner;
        } else if index == 0 {
            return Some(word.to_owned());
        }
    }
    None
}

/// The text files below a path that people read. Past decisions and changes may name what is gone.
fn documents(path: &Path, found: &mut Vec<PathBuf>) {
    let is_past = path.ends_with("docs/decisions") || path.ends_with("CHANGELOG.md");
    if is_past {
        return;
    }
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            documents(&entry.unwrap().path(), found);
        }
    } else {
        found.push(path.to_owned());
    }
}

#[test]
fn every_command_line_of_the_documents_is_defined() {
    let mut definition = definition::command();
    // Only then do subcommands have the global flags.
    definition.build();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for path in ["README.md", "CONTRIBUTING.md", "docs", "examples", "assets", "Dockerfile"] {
        documents(&root.join(path), &mut files);
    }
    let mut wrong = Vec::new();
    let mut read = 0;
    for file in files {
        // Fonts and pictures are no text.
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for line in command_lines(&text) {
            read += 1;
            if let Some(word) = undefined(&definition, line) {
                wrong.push(format!("{}: 'carillon {line}': no {word}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read > 200, "{read} command lines: they are read wrongly");
}

#[test]
fn a_command_line_that_is_none_is_noticed() {
    let mut definition = definition::command();
    definition.build();
    let page = "Run `carillon serve`, or `carillon schedule list`:\n\n```sh\n\
                carillon user add ada --rol admin   # no --comment\nid=$(carillon runs | head)\n\
                carillon --server http://a runs\ncarillon Helm chart\n```\n";
    let lines = command_lines(page);
    assert_eq!(lines, ["serve", "schedule list", "user add ada --rol admin  ", "runs "]);
    let found: Vec<Option<String>> =
        lines.iter().map(|line| undefined(&definition, line)).collect();
    assert_eq!(found, [None, Some("schedule".to_owned()), Some("--rol".to_owned()), None]);
}

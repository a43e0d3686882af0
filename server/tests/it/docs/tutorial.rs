//! docs/tutorial.md as a new user follows it: the commands in order, in one folder, with the output
//! compared with the page. Three dots mean any text.

use std::{collections::BTreeMap, fs, path::Path, process::Command, time::Duration};

use carillon::clock::Clock;

use crate::{
    settings::repository,
    support::{self, Server, TestDatabase},
};

/// A fenced block: the text after the fence, and the content.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    let mut is_open = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(info) if !is_open => {
                is_open = true;
                found.push((info, String::new()));
            }
            Some(_) => is_open = false,
            None if is_open => {
                let (_, text) = found.last_mut().unwrap();
                text.push_str(line);
                text.push('\n');
            }
            None => {}
        }
    }
    found
}

/// Whether a text matches the page: `...` in a line means any text, and on a line of its own any
/// lines.
fn is_as_shown(printed: &str, shown: &str) -> bool {
    fn lines(printed: &[&str], shown: &[&str]) -> bool {
        match shown.split_first() {
            None => printed.is_empty(),
            Some((&"...", rest)) => {
                (0..=printed.len()).any(|skipped| lines(&printed[skipped..], rest))
            }
            Some((pattern, rest)) => printed.split_first().is_some_and(|(line, others)| {
                fits(line.trim_end(), pattern) && lines(others, rest)
            }),
        }
    }
    fn fits(line: &str, pattern: &str) -> bool {
        match pattern.split_once("...") {
            None => line == pattern,
            Some((begin, rest)) => line.strip_prefix(begin).is_some_and(|behind| {
                let mut cuts = behind.char_indices().map(|(at, _)| at).chain([behind.len()]);
                cuts.any(|at| fits(&behind[at..], rest.trim_start_matches('.')))
            }),
        }
    }
    let printed: Vec<&str> = printed.lines().collect();
    lines(&printed, &shown.lines().map(str::trim_end).collect::<Vec<_>>())
}

/// A shell command in the reader's folder; exported variables stay set, as in one terminal.
struct Terminal<'a> {
    folder: &'a Path,
    variables: BTreeMap<String, String>,
}

impl Terminal<'_> {
    fn run(&mut self, command: &str) -> (bool, String) {
        let binary = Path::new(env!("CARGO_BIN_EXE_carillon")).parent().unwrap();
        let script = format!("set -ea\n{command}\nexport -p >variables");
        let output = Command::new("/bin/sh")
            .args(["-c", &script])
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", binary.display()))
            .envs(&self.variables)
            .current_dir(self.folder)
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        if output.status.success() {
            let exported = fs::read_to_string(self.folder.join("variables")).unwrap();
            for line in exported.lines().filter_map(|line| line.strip_prefix("export ")) {
                if let Some((name, value)) = line.split_once('=')
                    && !["PATH", "PWD", "OLDPWD"].contains(&name)
                {
                    self.variables.insert(name.to_owned(), value.trim_matches('\'').to_owned());
                }
            }
        }
        (output.status.success(), printed + &String::from_utf8(output.stderr).unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tutorial_does_what_it_shows() {
    let page = repository("docs/tutorial.md");
    let blocks = blocks(&page);
    let database = TestDatabase::sqlite().await;
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = Terminal { folder: folder.path(), variables: BTreeMap::new() };
    let mut server = None;
    let mut steps = 0;
    for (at, (info, text)) in blocks.iter().enumerate() {
        let shown = blocks.get(at + 1).filter(|(info, _)| *info == "text").map(|(_, text)| text);
        if let Some(name) = info.strip_prefix("yaml ") {
            fs::write(folder.path().join(name), text).unwrap();
        } else if *info == "sh server" {
            let flags: Vec<&str> =
                text.trim().strip_prefix("carillon serve ").unwrap().split(' ').collect();
            let started = Server::start_with(&database, &flags);
            let url = started.url.clone();
            terminal.variables.insert("CARILLON_SERVER".to_owned(), url);
            terminal.variables.insert("CARILLON_DATABASE__URL".to_owned(), database.url.clone());
            server = Some(started);
        } else if *info == "sh" {
            assert!(server.is_some(), "the server comes first");
            step(&mut terminal, text, shown).await;
            steps += 1;
        }
    }
    assert!(steps >= 11, "{steps} steps");
}

/// Executes one step. A command that only reads is repeated until its output matches the page,
/// because readers take some seconds between two steps.
async fn step(terminal: &mut Terminal<'_>, command: &str, shown: Option<&String>) {
    let only_looks = ["carillon schedules", "carillon run ", "carillon resume greet --dry-run"];
    let only_looks = only_looks.iter().any(|begin| command.starts_with(begin));
    let clock = Clock::system();
    for _ in 0..150 {
        let (succeeded, printed) = terminal.run(command);
        if succeeded && shown.is_none_or(|shown| is_as_shown(&printed, shown)) {
            return;
        }
        let shown = shown.map_or("", |shown| shown);
        assert!(only_looks, "{command}\nprinted\n{printed}\ninstead of\n{shown}");
        clock.sleep(Duration::from_millis(200)).await;
    }
    let (_, printed) = terminal.run(command);
    panic!("{command}\nprinted\n{printed}\ninstead of\n{}", shown.map_or("", |shown| shown));
}

#[test]
fn differences_from_the_page_are_noticed() {
    assert!(is_as_shown("a 1 b\nc\nd\n", "a ... b\n...\nd\n"));
    assert!(is_as_shown("a\n", "a\n...\n"));
    assert!(!is_as_shown("a 1 b\nx\n", "a ... c\nx\n"));
    assert!(!is_as_shown("a\nb\n", "a\n"));
    assert!(!is_as_shown("a\n", "a\nb\n"));
    // Each command that a page mentions exists.
    let help = support::Command::new(&["--help"]).run().done();
    for word in
        repository("docs/tutorial.md").lines().filter_map(|line| line.strip_prefix("carillon "))
    {
        let command = word.split(' ').next().unwrap();
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
    }
}

//! Checks that the README shows real output, and that the tests named in documents exist.

use std::{collections::BTreeMap, path::Path, process::Command};

use serde_json::{Value, json};

use crate::{api::desk::Desk, docs::documents, layers::rust_files, support::TestDatabase};

const README: &str = include_str!("../../../README.md");

/// The text between a line that ends with `begin` and the next line that is `end`.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("{begin}\n")).expect(begin);
    rest.split_once(&format!("\n{end}\n")).expect(end).0
}

#[tokio::test]
async fn the_request_in_the_readme_makes_the_schedule_that_it_describes() {
    let body: Value = serde_json::from_str(between(README, "<<'JSON'", "JSON")).unwrap();
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let answer = desk.ask(body["query"].as_str().unwrap(), body["variables"].clone()).await;
    let made = &answer["createSchedule"];
    assert_eq!(made["warnings"], json!([]), "{made}");
    assert_eq!(made["schedule"]["nextFires"].as_array().unwrap().len(), 3, "{made}");
    let words = made["schedule"]["timing"]["description"].as_str().unwrap();
    assert!(words.contains("02:30"), "{words}");
}

#[test]
fn the_preview_in_the_readme_is_what_the_command_prints() {
    let example = between(README, "```console", "```");
    let (command, shown) = example.split_once('\n').unwrap();
    let folder = Path::new(env!("CARGO_BIN_EXE_carillon")).parent().unwrap();
    let run = Command::new("/bin/sh")
        .args(["-c", command.strip_prefix("$ ").unwrap()])
        .env("PATH", folder)
        .output()
        .unwrap();
    let printed = String::from_utf8(run.stdout).unwrap();
    assert_eq!(printed.lines().count(), shown.lines().count(), "{printed}");
    for (printed, shown) in printed.lines().zip(shown.lines()) {
        // A line that is too long for the page ends with three dots.
        let is_shown = shown.strip_suffix(" ...").map(|begin| printed.starts_with(begin));
        assert!(is_shown.unwrap_or(printed == shown), "{printed:?} is not {shown:?}");
    }
}

#[test]
fn every_test_that_a_document_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = ["server/src", "server/tests", "timetable"].map(|folder| root.join(folder));
    let files = folders.iter().flat_map(|folder| rust_files(folder));
    let code: String = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    // Words that look like the name of a test: metrics, and settings of other programs.
    let is_other = |word: &str| word.starts_with("carillon_") || word.ends_with("_timeout");
    // The name of a test is a sentence with underscores.
    let is_name = |word: &&str| {
        word.matches('_').count() >= 4
            && word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            && !is_other(word)
    };
    let mut counted = BTreeMap::new();
    for path in documents() {
        let text = std::fs::read_to_string(root.join(&path)).unwrap();
        let named: Vec<&str> = text.split('`').filter(is_name).collect();
        for name in &named {
            assert!(code.contains(&format!("fn {name}(")), "{path} names {name}");
        }
        counted.insert(path, named.len());
    }
    for (path, least) in
        [("docs/guarantees-evidence.md", 90), ("docs/people.md", 20), ("docs/security.md", 35)]
    {
        assert!(counted[path] >= least, "{path} names {} tests", counted[path]);
    }
}

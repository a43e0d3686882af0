//! Checks that the tests named in each line of docs/guarantees-evidence.md exist.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::layers::rust_files;

const EVIDENCE: &str = include_str!("../../../docs/guarantees-evidence.md");
/// The folders in which the tests and files named in the last column may be.
const ROOTS: [&str; 3] = ["server/tests/it", "server/src", "."];

#[test]
fn every_line_of_the_guarantees_is_shown_by_tests_that_are_there() {
    let lines = shown(EVIDENCE);
    assert!(lines.len() > 100, "{} lines: the tables are read wrongly", lines.len());
    let wrong: Vec<String> = lines.iter().flat_map(|(what, shown)| missing(what, shown)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_line_without_its_test_is_noticed() {
    let table = "| what | shown by |\n|---|---|\n| a | `layers`: `a_test_that_is_not` |\n| b | words |\n\n\
                 | setting | decides |\n|---|---|\n| c | d |";
    let lines = shown(table);
    assert_eq!(lines, [("a", "`layers`: `a_test_that_is_not`"), ("b", "words")]);
    for (what, shown) in lines {
        assert_eq!(missing(what, shown).len(), 1, "{what}");
    }
    assert!(missing("c", "`layers`: `imports_are_read_...`; `guarantees`").is_empty());
}

/// The first and the last cell of each line of the tables that name tests.
fn shown(text: &str) -> Vec<(&str, &str)> {
    let mut names_tests = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let Some(cells) = line.strip_prefix('|').and_then(|line| line.strip_suffix('|')) else {
            names_tests = false;
            continue;
        };
        let cells: Vec<&str> = cells.split('|').map(str::trim).collect();
        let (what, shown) = (cells[0], cells[cells.len() - 1]);
        if shown == "shown by" {
            names_tests = true;
        } else if names_tests && !what.starts_with("---") {
            lines.push((what, shown));
        }
    }
    lines
}

/// The names in a line that do not exist: a file or folder of tests, followed by tests in it.
fn missing(what: &str, shown: &str) -> Vec<String> {
    let names: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
    if names.is_empty() {
        return vec![format!("{what}: no test is named")];
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut within =
        ["server/src", "server/tests", "timetable"].map(|place| root.join(place)).to_vec();
    let mut missing = Vec::new();
    for name in names {
        let places = places(root, name);
        if !places.is_empty() {
            within = places;
        } else if !is_there(&within, name) {
            missing.push(format!("{what}: there is no {name}"));
        }
    }
    missing
}

fn places(root: &Path, name: &str) -> Vec<PathBuf> {
    let of = |place: &str| {
        let path = root.join(place).join(name);
        [path.with_extension("rs"), path].into_iter().filter(|path| path.exists())
    };
    ROOTS.iter().flat_map(|place| of(place)).collect()
}

/// Whether one of the sources has a test with that name; a name that ends with dots is a prefix.
fn is_there(within: &[PathBuf], name: &str) -> bool {
    let function = match name.strip_suffix("...") {
        Some(begin) => format!("fn {begin}"),
        None => format!("fn {name}("),
    };
    let sources = within.iter().flat_map(|place| match place.is_dir() {
        true => rust_files(place),
        false => vec![place.clone()],
    });
    sources.into_iter().any(|source| fs::read_to_string(source).unwrap().contains(&function))
}

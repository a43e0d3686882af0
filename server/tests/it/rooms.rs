//! Who may know whom: each room's imports against one table.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const LEAVES: &[&str] = &["clock", "config", "random", "telemetry"];

/// A room and those beneath it. What may use everything (`app`, the CLI, the roots) is not here.
const BENEATH: &[(&str, &[&str])] = &[
    ("web", &["api", "engine", "store", "target", "entity", "timetable"]),
    ("api", &["engine", "store", "search", "target", "entity", "timetable"]),
    ("engine", &["store", "search", "target", "beacon", "entity", "timetable"]),
    ("store", &["search", "entity", "migration"]),
    ("search", &[]),
    ("target", &[]),
    ("beacon", &["entity"]),
    ("clock", &[]),
    ("config", &[]),
    ("random", &[]),
    ("telemetry", &[]),
];
const ABOVE_ALL: &[&str] = &["app", "cli", "lib", "main"];
const CRATES: &[&str] = &["entity", "migration", "timetable"];

#[test]
fn every_room_knows_only_the_rooms_beneath_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut strangers = Vec::new();
    for file in rust_files(&source) {
        let path = file.strip_prefix(&source).unwrap();
        let room = path.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        if ABOVE_ALL.contains(&room) {
            continue;
        }
        let (_, beneath) = BENEATH
            .iter()
            .find(|(name, _)| *name == room)
            .unwrap_or_else(|| panic!("{}: give the room a place in the table", path.display()));
        for known in rooms_named(&fs::read_to_string(&file).unwrap()) {
            let known = known.as_str();
            if known != room && !beneath.contains(&known) && !LEAVES.contains(&known) {
                strangers.push(format!("{}: {room} may not know {known}", path.display()));
            }
        }
    }
    assert!(strangers.is_empty(), "{}", strangers.join("\n"));
}

#[test]
fn imports_are_read_in_all_their_shapes() {
    let source = "use crate::clock::Clock;\nuse crate::{\n    engine::{self, node},\n    store,\n};\n\
                  // crate::web in prose\nlet x = entity::fire::Kind::Normal;";
    let expected = ["clock", "engine", "entity", "store"].map(str::to_owned);
    assert_eq!(rooms_named(source), BTreeSet::from(expected));
}

/// The rooms and crates of ours that a source names, its comments and its own tests aside.
fn rooms_named(source: &str) -> BTreeSet<String> {
    let lines = source.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    let code: String =
        lines.filter(|line| !line.trim_start().starts_with("//")).flat_map(|l| [l, "\n"]).collect();
    let mut named = BTreeSet::new();
    for path in code.match_indices("crate::").map(|(at, word)| &code[at + word.len()..]) {
        match path.strip_prefix('{') {
            Some(group) => named.extend(heads(group)),
            None => named.extend([identifier(path)]),
        }
    }
    let words: BTreeSet<_> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    named.extend(CRATES.iter().filter(|name| words.contains(*name)).map(|name| (*name).to_owned()));
    named
}

/// The first word of each item in `a::{b, c}, d}`.
fn heads(group: &str) -> Vec<String> {
    let mut depth = 0;
    let mut heads = vec![identifier(group)];
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => heads.push(identifier(&group[at + 1..])),
            _ => {}
        }
    }
    heads.retain(|head| !head.is_empty());
    heads
}

fn identifier(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

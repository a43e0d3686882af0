//! Who may know whom: each room's imports against one table, and the repository knows nothing
//! outside itself.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
    process::Command,
};

const LEAVES: &[&str] = &["clock", "config", "random", "telemetry"];

/// A room and those beneath it. What may use everything (`app`, the CLI, the roots) is not here.
const BENEATH: &[(&str, &[&str])] = &[
    ("web", &["api", "commands", "access", "engine", "store", "target", "entity", "timetable"]),
    (
        "api",
        &[
            "commands",
            "access",
            "engine",
            "model",
            "store",
            "search",
            "target",
            "entity",
            "timetable",
        ],
    ),
    (
        "commands",
        &["access", "engine", "vault", "model", "store", "search", "target", "entity", "timetable"],
    ),
    // These know `commands` and `engine` still.
    ("access", &["commands", "engine", "vault", "model", "store", "target", "entity"]),
    (
        "engine",
        &[
            "commands",
            "vault",
            "model",
            "store",
            "search",
            "target",
            "beacon",
            "entity",
            "timetable",
        ],
    ),
    ("vault", &["commands", "store", "target", "entity"]),
    ("model", &["commands", "engine", "store", "target", "entity", "timetable"]),
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

/// Paths upwards that no program opens: what tests send as attacks, what a build makes, and what is
/// relative to a place outside the sources.
const NOT_READ: &[&str] = &[
    "dist",
    "UTC",
    "admin",
    "audit/export",
    "venv/bin/",
    "escape",
    "etc/passwd",
    "secret",
    "Europe/London",
];

/// A clone with nothing beside it must build and pass its tests.
#[test]
fn no_tracked_file_reads_outside_the_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let git = ["-c", "safe.directory=*", "ls-files", "-z"];
    let listed = Command::new("git").args(git).current_dir(root).output().unwrap();
    assert!(listed.status.success(), "git lists the tracked files: {listed:?}");
    let listed = String::from_utf8(listed.stdout).unwrap();
    let files: Vec<&Path> = listed.split('\0').filter(|f| !f.is_empty()).map(Path::new).collect();
    let mut outside = Vec::new();
    for file in &files {
        let path = root.join(file);
        if path.is_symlink() && !path.canonicalize().is_ok_and(|to| to.starts_with(root)) {
            outside.push(format!("{}: a link that leads out", file.display()));
        }
        if file.extension().is_some_and(|extension| extension == "md") {
            continue;
        }
        // A file that was removed is not committed yet; one that is no text names no paths.
        let text = fs::read_to_string(&path).unwrap_or_default();
        for upward in upward_paths(&text) {
            let rest = upward.trim_start_matches("../");
            if !exists_above(&files, file, upward) && !NOT_READ.contains(&rest) {
                outside.push(format!("{}: {upward}", file.display()));
            }
        }
    }
    let outside = outside.join("\n");
    assert!(outside.is_empty(), "move it into the repository, or name it in NOT_READ:\n{outside}");
}

#[test]
fn a_path_out_of_the_repository_is_seen() {
    let tracked =
        ["timetable/tests/it/a.rs", "timetable/tests/b.json", "docs/c.txt"].map(Path::new);
    let (up, file) = (format!("..{}", '/'), tracked[0]);
    for (path, inside) in [
        (format!("{up}b.json"), true),
        (format!("{up}{up}{up}docs"), true),
        (format!("{up}docs/c.txt"), true),
        (format!("{up}{up}beside/b.json"), false),
        (format!("{up}{up}{up}{up}docs/c.txt"), false),
    ] {
        let text = format!("read(\"/{path}\")");
        assert_eq!(upward_paths(&text), [&*path]);
        assert_eq!(exists_above(&tracked, file, &path), inside, "{path}");
    }
}

/// The paths in a text that begin with a step upwards.
fn upward_paths(text: &str) -> Vec<&str> {
    let step = concat!("..", "/");
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '-' | '@');
    let (mut paths, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(step) {
        let path = &rest[at..];
        let end = path.find(|c| !is_path(c)).unwrap_or(path.len());
        if path[..end].len() > step.len() {
            paths.push(&path[..end]);
        }
        rest = &path[end.max(step.len())..];
    }
    paths
}

/// Whether a path leads to something tracked: from a file's folder, or from one above it, such as
/// the manifest's.
fn exists_above(tracked: &[&Path], file: &Path, upward: &str) -> bool {
    file.ancestors().skip(1).any(|base| {
        let mut to = base.to_path_buf();
        let stays = Path::new(upward).components().all(|component| {
            let is_upward = component == Component::ParentDir;
            if !is_upward {
                to.push(component);
            }
            !is_upward || to.pop()
        });
        stays && tracked.iter().any(|file| file.starts_with(&to))
    })
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

//! The repository refers to nothing outside itself.

use std::{
    fs,
    path::{Component, Path},
    process::Command,
};

/// Upward paths that no program opens: attacks that tests send, files that a build creates, and
/// paths relative to a place outside the sources.
const NOT_READ: &[&str] = &[
    "dist",
    "target/console.css",
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
        // A removed file is not committed yet; a binary file names no paths.
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

/// Whether a path leads to a tracked file: from a file's folder, or from one above it, such as the
/// manifest's.
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
        // A TypeScript module is imported by its name after compilation.
        let source = to.with_extension("ts");
        stays && tracked.iter().any(|file| file.starts_with(&to) || *file == source)
    })
}

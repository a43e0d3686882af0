//! The repository uses no files outside of itself.

use std::{
    fs,
    path::{Component, Path},
    process::Command,
};

use sha2::{Digest, Sha256};

/// Paths with `..` that no program opens: attacks that tests send, files that a build creates, and
/// paths relative to a folder outside the sources.
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

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The paths of the tracked files.
fn tracked(root: &Path) -> Vec<String> {
    let git = ["-c", "safe.directory=*", "ls-files", "-z"];
    let listed = Command::new("git").args(git).current_dir(root).output().unwrap();
    assert!(listed.status.success(), "git lists the tracked files: {listed:?}");
    let listed = String::from_utf8(listed.stdout).unwrap();
    listed.split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect()
}

/// A clone with nothing beside it must build and pass its tests.
#[test]
fn no_tracked_file_reads_outside_the_repository() {
    let root = root();
    let listed = tracked(root);
    let files: Vec<&Path> = listed.iter().map(Path::new).collect();
    let mut outside = Vec::new();
    for file in &files {
        let path = root.join(file);
        if path.is_symlink() && !path.canonicalize().is_ok_and(|to| to.starts_with(root)) {
            outside.push(format!("{}: a link that leads out", file.display()));
        }
        if file.extension().is_some_and(|extension| extension == "md") {
            continue;
        }
        // `git` also lists a file whose removal is not committed yet. A binary file contains no
        // paths.
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

/// Browsers cache fonts for ever, so a changed font needs another name.
#[test]
fn the_names_of_fonts_hold_their_hashes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/fonts");
    let mut fonts = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "woff2") {
            let digest = Sha256::digest(fs::read(&path).unwrap());
            let hash: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(name.ends_with(&format!("-{hash}")), "{name} must end with -{hash}");
            fonts += 1;
        }
    }
    assert_eq!(fonts, 2);
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

/// Logs can be searched and counted only if the text of a message is always the same
/// (docs/LOGGING.md).
#[test]
fn the_messages_of_the_log_are_constant() {
    let root = root();
    let (mut calls, mut varying) = (0, Vec::new());
    let files = tracked(root);
    for file in files.iter().filter(|file| file.starts_with("server/src/")) {
        if !file.ends_with(".rs") {
            continue;
        }
        // `git` also lists a file whose removal is not committed yet.
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        for literals in log_calls(&text) {
            calls += 1;
            let inserted = literals.into_iter().filter(|literal| literal.contains('{'));
            varying.extend(inserted.map(|literal| format!("{file}: {literal}")));
        }
    }
    assert!(calls > 100, "only {calls} calls were found");
    let varying = varying.join("\n");
    assert!(varying.is_empty(), "make the values fields of the event:\n{varying}");
}

#[test]
fn a_message_with_a_value_in_it_is_seen() {
    let text = r#"tracing::info!(path = %path.display(), "a \"file\" (one) is read");
        tracing::warn!(
            "failed to read it: {error}"
        );
        info!("not a call of ours")"#;
    let expected = [vec![r#"a \"file\" (one) is read"#], vec!["failed to read it: {error}"]];
    assert_eq!(log_calls(text), expected);
}

/// The string literals of each call of a macro that logs.
fn log_calls(text: &str) -> Vec<Vec<&str>> {
    let mut calls = Vec::new();
    for (at, _) in text.match_indices("tracing::") {
        let rest = &text[at + "tracing::".len()..];
        let levels = ["trace", "debug", "info", "warn", "error"];
        let called = |level: &str| rest.strip_prefix(level)?.strip_prefix("!(");
        calls.extend(levels.into_iter().find_map(called).map(literals));
    }
    calls
}

/// The string literals up to the parenthesis that closes the call.
fn literals(arguments: &str) -> Vec<&str> {
    let (mut found, mut depth, mut begun, mut is_escaped) = (Vec::new(), 1, None, false);
    for (at, c) in arguments.char_indices() {
        match (begun, c) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(from), '"') => {
                found.push(&arguments[from..at]);
                begun = None;
            }
            (None, '"') => begun = Some(at + 1),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (Some(_) | None, _) => {}
        }
        if depth == 0 {
            break;
        }
    }
    found
}

//! No two types of the server have the same name, unless a reader cannot take one for the other.
//!
//! Three kinds of types are left out. A private type is read in its own file only. A type in `cli`
//! is named like its command. A type in `config` is named like its section of the file; other
//! layers call it `config::Session`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use crate::layers::{rust_files, sources};

/// Types of the API that show the type of the same name in a layer below. Their names are those of
/// the SDL.
const SHOWN_BY_THE_API: &[&str] = &[
    "Acknowledgement",
    "AlertEvent",
    "Broker",
    "BudgetFigure",
    "CloudEvent",
    "CommandTarget",
    "Density",
    "FieldChange",
    "InstantState",
    "LedgerFinding",
    "Misfire",
    "Module",
    "Ping",
    "ResumeChoice",
    "ResumePreview",
    "Sasl",
    "SecretUser",
    "Tally",
    "Target",
    "Task",
    "TextProblem",
    "Theme",
    "Timing",
    "Viewer",
    "ViewerKind",
    "WorkerTarget",
    "WorkflowReading",
];

/// Types that are always named with their module: `schedules::Filter`.
const NAMED_WITH_THEIR_MODULE: &[&str] = &["Filter", "Key"];

/// Types of which a build compiles one.
const ALTERNATIVES: &[&str] = &["SqsQueues"];

#[test]
fn no_two_types_of_the_server_have_the_same_name() {
    let mut layers_of = layers_by_type();
    layers_of.retain(|_, layers| layers.len() > 1);
    let is_shown = |name: &str, layers: &[String]| {
        let of_api = layers.iter().filter(|layer| *layer == "api").count();
        SHOWN_BY_THE_API.contains(&name) && layers.len() == 2 && of_api == 1
    };
    let others = [NAMED_WITH_THEIR_MODULE, ALTERNATIVES].concat();
    let is_fine = |name: &str, layers: &[String]| others.contains(&name) || is_shown(name, layers);
    let twice: BTreeMap<_, _> =
        layers_of.iter().filter(|(name, layers)| !is_fine(name, layers)).collect();
    assert!(twice.is_empty(), "give each of these types a name of its own: {twice:#?}");

    let listed = [SHOWN_BY_THE_API, &others[..]].concat();
    let gone: Vec<_> = listed.iter().filter(|name| !layers_of.contains_key(**name)).collect();
    assert!(gone.is_empty(), "these names are no longer shared; remove them: {gone:?}");
}

#[test]
fn shared_names_are_imported_with_their_module() {
    let types = layers_by_type();
    let mut problems = BTreeSet::new();
    for source in sources() {
        let layer = source.module.first().map_or("", String::as_str);
        for origin in source.names.values() {
            let [first, .., name] = origin.as_slice() else { continue };
            let is_section = first == "config" && layer != "config" && types.contains_key(name);
            let is_shared = first == "store" && NAMED_WITH_THEIR_MODULE.contains(&name.as_str());
            // A folder re-exports the types of its files.
            if (is_section || is_shared) && !origin.starts_with(&source.module) {
                problems.insert(format!("{}: {}", source.module.join("::"), origin.join("::")));
            }
        }
    }
    assert!(problems.is_empty(), "import the module and name the type with it: {problems:#?}");
}

/// The types that other files can use, each with the layers that define it.
fn layers_by_type() -> BTreeMap<String, Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in rust_files(&folder) {
        let place = file.strip_prefix(&folder).unwrap().with_extension("");
        let layer = place.iter().next().unwrap().to_str().unwrap();
        if ["cli", "config"].contains(&layer) {
            continue;
        }
        for name in fs::read_to_string(&file).unwrap().lines().filter_map(defined_type) {
            types.entry(name.to_owned()).or_default().push(layer.to_owned());
        }
    }
    types
}

/// The type that a line defines for other files.
fn defined_type(line: &str) -> Option<&str> {
    let behind = line.strip_prefix("pub")?;
    let behind = match behind.strip_prefix('(') {
        Some(scope) => scope.split_once(')')?.1,
        None => behind,
    };
    let (keyword, name) = behind.trim_start().split_once(' ')?;
    let is_type = ["struct", "enum", "trait", "type"].contains(&keyword);
    is_type.then(|| name.split(|c: char| !c.is_alphanumeric()).next()).flatten()
}

#[test]
fn types_are_seen_in_all_their_shapes() {
    assert_eq!(defined_type("pub struct Fire {"), Some("Fire"));
    assert_eq!(defined_type("pub(in crate::engine) struct Planner;"), Some("Planner"));
    assert_eq!(defined_type("pub(super) type Key = (i64, Uuid);"), Some("Key"));
    assert_eq!(defined_type("pub enum Answer<T> {"), Some("Answer"));
    assert_eq!(defined_type("struct Inner {"), None);
    assert_eq!(defined_type("pub fn type_of() {}"), None);
    assert_eq!(defined_type("    pub struct Indented;"), None);
}

//! Compares the table of layers in docs/ARCHITECTURE.md with the imports in the sources, and the
//! modules of the console with what each may use.

#[path = "layers/imports.rs"]
mod imports;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use self::imports::Source;

/// The modules above all layers: they may use everything, and are not in the table.
const ABOVE_ALL: &[&str] = &["app", "cli", "lib", "main"];
const CRATES: &[&str] = &["entity", "migration", "timetable"];

/// The modules of the console, each with those that it may use.
const CONSOLE: &[(&str, &[&str])] = &[
    ("time", &[]),
    ("model", &["time"]),
    ("route", &[]),
    ("state", &["model", "route", "time"]),
    ("api", &["model", "time"]),
    ("components", &["model", "route", "state", "time"]),
    ("data", &["api", "components", "model", "state", "time"]),
    ("pages", &["api", "components", "data", "model", "route", "state", "time"]),
    ("frame", &["api", "components", "data", "model", "route", "state", "time"]),
];

/// The table of the layers: each layer with the layers that it may use.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let text = document();
    let lines = text.lines().skip_while(|line| *line != "| layer | may use |").skip(2);
    let table: BTreeMap<_, _> = lines
        .map_while(|line| line.strip_prefix("| `")?.split_once("` |"))
        .map(|(layer, uses)| (layer.to_owned(), names_in(uses)))
        .collect();
    assert!(table.contains_key("web"), "docs/ARCHITECTURE.md has the table of the layers");
    table
}

/// The names in the sentence of the document that begins with `words`.
fn named_behind(words: &str) -> BTreeSet<String> {
    let text = document();
    let sentence = text.split(words).nth(1).unwrap_or_else(|| panic!("there is no {words:?}"));
    names_in(sentence.split('.').next().unwrap())
}

fn document() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(root.join("docs/ARCHITECTURE.md")).unwrap()
}

fn names_in(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_layer_uses_only_those_that_the_table_names() {
    let (table, sources) = (table(), sources());
    let names = names(&sources);
    let leaves = named_behind("Every layer may use the leaves as well:");
    let none = BTreeSet::new();
    let mut problems = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for source in sources.iter().filter(|source| !source.module.is_empty()) {
        let layer = &source.module[0];
        if ABOVE_ALL.contains(&layer.as_str()) {
            continue;
        }
        let leaf = leaves.contains(layer).then_some(&none);
        let Some(beneath) = table.get(layer).or(leaf) else {
            problems
                .insert(format!("{layer}: give it a line in the table of docs/ARCHITECTURE.md"));
            continue;
        };
        seen.insert(layer.clone());
        for path in &source.paths {
            let used = canonical(path, &names)[0].clone();
            let is_ours = table.contains_key(&used)
                || CRATES.contains(&used.as_str())
                || ABOVE_ALL.contains(&used.as_str());
            if is_ours && used != *layer && !beneath.contains(&used) && !leaves.contains(&used) {
                let (module, path) = (source.module.join("::"), path.join("::"));
                problems.insert(format!("{module}: {layer} may not use {path}"));
            }
        }
    }
    let gone = table.keys().filter(|layer| !seen.contains(*layer));
    problems.extend(gone.map(|layer| format!("{layer}: it is in the table and not there")));
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn the_parts_of_a_layer_form_no_circle() {
    let sources = sources();
    let names = names(&sources);
    let parted = named_behind("The parts of ");
    assert!(!parted.is_empty());
    for layer in parted {
        let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for source in &sources {
            let Some(part) = part_of(&source.module, &layer) else { continue };
            for path in &source.paths {
                let used = canonical(path, &names);
                let used = part_of(&used, &layer).filter(|used| used != &part);
                uses.entry(part.clone()).or_default().extend(used);
            }
        }
        // Repeatedly removes a part that uses none of the remaining ones. If parts remain, they
        // form a cycle.
        while let Some(lowest) = uses
            .iter()
            .find(|(_, used)| !used.iter().any(|part| uses.contains_key(part)))
            .map(|(part, _)| part.clone())
        {
            uses.remove(&lowest);
        }
        assert!(uses.is_empty(), "a circle in {layer}: {uses:#?}");
    }
}

#[test]
fn every_module_of_the_console_uses_only_those_beneath_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("frontend/src");
    let console: BTreeMap<&str, &[&str]> = CONSOLE.iter().copied().collect();
    let mut problems = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for source in sources_of(&folder) {
        let Some(part) = source.module.first() else { continue };
        // `app` and `main` are above all of them.
        let Some(beneath) = console.get(part.as_str()) else { continue };
        seen.insert(part.clone());
        for path in &source.paths {
            let used = path[0].as_str();
            if console.contains_key(used) && used != part && !beneath.contains(&used) {
                let (module, path) = (source.module.join("::"), path.join("::"));
                problems.insert(format!("{module}: {part} may not use {path}"));
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    assert_eq!(seen.len(), CONSOLE.len(), "a module of the list is not there: {seen:?}");
}

/// The part of `layer` in which a path lies; `None` for the root of the layer.
fn part_of(path: &[String], layer: &str) -> Option<String> {
    let is_part = |part: &&String| part.starts_with(char::is_lowercase);
    (path.first()? == layer).then(|| path.get(1)).flatten().filter(is_part).cloned()
}

type Names = BTreeMap<String, Vec<String>>;

fn names(sources: &[Source]) -> Names {
    sources.iter().flat_map(|source| source.names.clone()).collect()
}

/// The path of the definition, whatever re-exports it.
fn canonical(path: &[String], names: &Names) -> Vec<String> {
    let mut path = path.to_vec();
    for _ in 0..8 {
        let reexported = (1..=path.len()).rev().find_map(|length| {
            let (head, rest) = path.split_at(length);
            let origin = names.get(&head.join("::"))?;
            (origin != head).then(|| [origin, rest].concat())
        });
        match reexported {
            Some(origin) => path = origin,
            None => break,
        }
    }
    path
}

pub(crate) fn sources() -> Vec<Source> {
    sources_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

fn sources_of(folder: &Path) -> Vec<Source> {
    let files = rust_files(folder);
    let module_of = |file: &PathBuf| {
        let path = file.strip_prefix(folder).unwrap().with_extension("");
        let mut module: Vec<String> =
            path.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
        module.pop_if(|last| last == "mod");
        module
    };
    let modules: Vec<String> = files.iter().map(|file| module_of(file).join("::")).collect();
    let read = |file: &PathBuf| {
        let module = module_of(file);
        let module: Vec<&str> = module.iter().map(String::as_str).collect();
        Source::read(&module, &fs::read_to_string(file).unwrap(), &modules)
    };
    let are_tests = |file: &&PathBuf| file.to_str().unwrap().ends_with("tests.rs");
    files.iter().filter(|file| !are_tests(file)).map(read).collect()
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

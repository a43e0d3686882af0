//! The documents and the files shipped beside the binary: links resolve, examples deploy, the
//! tutorial's commands print what it shows, and every alert has its runbook.
//!
//! - `links`: links and anchors, and the site's table of contents
//! - `tutorial`: docs/tutorial.md, step by step
//! - `events`: docs/how-to/follow-events.md, its subscription
//! - `reference`: the pages that are generated from the schemas
//! - `examples`: examples/, each linted and deployed
//! - `runbooks`: docs/runbooks and the alert rules
//! - `chart`: the Helm chart, without Helm
//! - `helm`: the chart by Helm itself, where it is there
//! - `kubernetes`: the chart and the plain manifests, by the schemas of Kubernetes
//! - `states`: the diagrams of docs/ARCHITECTURE.md
//! - `pieces`: the shared pieces of the console, and the gallery
//! - `shipped`: compose files, packages, the action and the hook
//! - `installed`: the `.deb`, installed and served from

mod chart;
mod events;
mod examples;
mod helm;
mod installed;
mod kubernetes;
mod links;
mod pieces;
mod reference;
mod runbooks;
mod shipped;
mod states;
mod tutorial;

use std::{fs, path::PathBuf};

/// The repository's folder.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every document, by its path in the repository.
pub(crate) fn documents() -> Vec<String> {
    let files = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "clients/python/README.md",
        "clients/typescript/README.md",
        "worker/README.md",
    ];
    let mut found: Vec<String> = files.into_iter().map(str::to_owned).collect();
    let mut folders = vec!["docs".to_owned(), "examples".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.ends_with(".md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The files of a folder with that ending, by name.
fn files(folder: &str, ending: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(ending)).collect();
    names.sort();
    names
}

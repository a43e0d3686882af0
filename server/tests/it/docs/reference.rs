//! The pages of the reference that `scripts/reference.py` generates from the schemas for the site.

use std::{collections::BTreeMap, fs, process::Command};

use serde_json::Value;

use super::{
    links::{anchors, links},
    root,
};
use crate::settings::repository;

/// The pages, by their names.
fn pages() -> BTreeMap<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let mut script = Command::new("python3");
    script.arg("scripts/reference.py").arg(folder.path()).current_dir(root());
    let ran = script.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect()
}

#[test]
fn the_reference_describes_every_type_and_every_key() {
    let pages = pages();
    let all: String = pages.values().map(String::as_str).collect();
    let mut types = 0;
    for line in repository("server/schema.graphql").lines() {
        let kinds = ["type ", "interface ", "union ", "input ", "enum ", "scalar "];
        let Some(rest) = kinds.iter().find_map(|kind| line.strip_prefix(*kind)) else { continue };
        let name = rest.split(' ').next().unwrap();
        assert!(all.contains(&format!("## {name}\n")), "{name} is on no page");
        types += 1;
    }
    assert!(types > 200, "only {types} types were read");
    let schema: Value = serde_json::from_str(&repository("server/module.schema.json")).unwrap();
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        let page = &pages["module.md"];
        let section = page.split(&format!("## {name}\n")).nth(1);
        let section = section.unwrap_or_else(|| panic!("{name} is not on the page"));
        let section = section.split("\n## ").next().unwrap();
        for key in definition["properties"].as_object().into_iter().flat_map(|keys| keys.keys()) {
            assert!(section.contains(&format!("| `{key}` |")), "{name}.{key} is not on the page");
        }
    }
}

#[test]
fn the_reference_leads_from_each_type_to_the_next() {
    let pages = pages();
    let sections: BTreeMap<&str, _> =
        pages.iter().map(|(name, text)| (name.as_str(), anchors(text))).collect();
    let mut followed = 0;
    for (name, text) in &pages {
        for (target, anchor) in links(text) {
            let to = if target.is_empty() { name } else { &target };
            // Other links lead to pages outside the reference.
            let (Some(sections), Some(anchor)) = (sections.get(to.as_str()), anchor) else {
                continue;
            };
            followed += 1;
            assert!(sections.contains(&anchor), "{name}: {to}#{anchor}");
        }
    }
    assert!(followed > 900, "{followed} links: they are read wrongly");
}

#[test]
fn every_key_of_a_module_is_described_without_its_neighbours() {
    let schema: Value = serde_json::from_str(&repository("server/module.schema.json")).unwrap();
    let definitions = schema["$defs"].as_object().unwrap().iter();
    let all = definitions.map(|(name, definition)| (name.as_str(), definition));
    let mut riddles = Vec::new();
    let mut read = 0;
    for (name, definition) in all.chain([("module", &schema)]) {
        for (key, property) in definition["properties"].as_object().into_iter().flatten() {
            read += 1;
            // An editor shows the description of one key, so "its" and "they" refer to nothing.
            let text = property["description"].as_str().unwrap_or_default();
            let refers = ["Its ", "It ", "They ", "For people"];
            let is_short = text.split_whitespace().count() < 4;
            if is_short || refers.iter().any(|start| text.starts_with(start)) {
                riddles.push(format!("{name}.{key}: {text:?}"));
            }
        }
    }
    assert!(riddles.is_empty(), "{}", riddles.join("\n"));
    assert!(read > 100, "{read} keys: they are read wrongly");
}

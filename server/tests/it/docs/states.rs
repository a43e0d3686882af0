use std::collections::BTreeSet;

use sea_orm::Iterable;

use super::root;
use crate::settings::repository;

/// The states of the diagram under a heading, and those that have a transition.
fn diagram(page: &str, heading: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (_, rest) = page.split_once(&format!("\n### {heading}\n")).expect(heading);
    let (_, rest) = rest.split_once("```mermaid\nstateDiagram-v2\n").expect(heading);
    let steps = rest.split_once("```").unwrap().0.lines();
    let mut states = BTreeSet::new();
    let mut left = BTreeSet::new();
    for step in steps {
        let (from, to) = step.trim().split_once(" --> ").unwrap_or_else(|| panic!("{step}"));
        let to = to.split(':').next().unwrap();
        states.extend([from, to].into_iter().filter(|state| *state != "[*]").map(str::to_owned));
        left.insert(from.to_owned());
    }
    (states, left)
}

#[test]
fn the_diagrams_have_the_states_that_are_stored() {
    fn names<S: Iterable + std::fmt::Debug>() -> BTreeSet<String> {
        S::iter().map(|state| format!("{state:?}")).collect()
    }
    let page = repository("docs/ARCHITECTURE.md");
    for (heading, stored) in [
        ("A fire", names::<entity::fire::Verdict>()),
        ("A run", names::<entity::run::State>()),
        ("An attempt", names::<entity::task_run::State>()),
        ("A backfill", names::<entity::backfill::State>()),
        ("A maintenance window", names::<entity::maintenance_window::State>()),
    ] {
        let (states, left) = diagram(&page, heading);
        assert_eq!(states, stored, "{heading}");
        assert!(states.is_subset(&left), "{heading}: a state leads nowhere, not even to the end");
    }
}

#[test]
fn the_walkthroughs_name_files_that_are_there() {
    let page = repository("docs/ARCHITECTURE.md");
    let (_, walks) = page.split_once("\n## Three walkthroughs\n").unwrap();
    let walks = walks.split_once("\n## ").unwrap().0;
    let named = walks.split('`').skip(1).step_by(2).filter(|word| word.ends_with(".rs"));
    let mut count = 0;
    for file in named {
        let is_there =
            [root(), root().join("server/src")].iter().any(|place| place.join(file).exists());
        assert!(is_there, "there is no {file}");
        count += 1;
    }
    assert!(count > 25, "{count} files");
}

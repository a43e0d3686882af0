//! docs/console/shared-pieces.md: the gallery shows each piece, and its files are there.

use super::root;
use crate::settings::repository;

/// The words in code spans of a section's entry, such as `- **Gallery:** `Table``.
fn entry<'a>(section: &'a str, name: &str) -> Vec<&'a str> {
    let (_, rest) = section.split_once(&format!("\n- **{name}:** ")).expect(name);
    let entry = rest.split("\n\n").next().unwrap().split("\n- ").next().unwrap();
    entry.split('`').skip(1).step_by(2).collect()
}

#[test]
fn each_shared_piece_is_in_the_gallery_and_its_files_are_there() {
    let page = repository("docs/console/shared-pieces.md");
    let gallery = repository("frontend/src/pages/gallery.rs");
    let sections: Vec<&str> = page.split("\n## ").skip(1).collect();
    let pieces: Vec<&str> =
        sections.iter().map(|section| section.lines().next().unwrap()).collect();
    assert_eq!(pieces, ["Table", "Query bar", "Bulk bar", "Shapes", "When", "Draft guard", "Hold"]);
    for section in sections {
        let shown = entry(section, "Gallery");
        assert!(!shown.is_empty(), "{section}");
        for title in shown {
            assert!(gallery.contains(&format!("panel(\"{title}\",")), "no part {title}");
        }
        for file in entry(section, "Code") {
            assert!(root().join(file).exists(), "there is no {file}");
        }
        for part in ["**States.**", "**Keyboard.**", "**Must never**", "```rust"] {
            assert!(section.contains(part), "{part} is missing: {section}");
        }
    }
}

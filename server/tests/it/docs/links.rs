//! Checks the sources of the site, which needs no mdBook.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

use super::{documents, files, root};
use crate::settings::repository;

/// The targets of a page's links, without those in code: the path as written, and the anchor.
pub(super) fn links(text: &str) -> Vec<(String, Option<String>)> {
    let mut is_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        // Every second piece is between backticks, so it is code.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for target in prose.split("](").skip(1) {
            let target = target.split([')', ' ']).next().unwrap();
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = match target.split_once('#') {
                Some((path, anchor)) => (path, Some(anchor.to_owned())),
                None => (target, None),
            };
            found.push((path.to_owned(), anchor));
        }
    }
    found
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
pub(super) fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let Some(heading) = line.strip_prefix('#').filter(|_| !is_code) else { continue };
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        // A repeated anchor gets a number appended.
        let again = (0..).map(|n| if n == 0 { anchor.clone() } else { format!("{anchor}-{n}") });
        let free = again.into_iter().find(|anchor| !found.contains(anchor)).unwrap();
        found.insert(free);
    }
    found
}

fn resolved(page: &str, target: &str) -> PathBuf {
    let mut path = PathBuf::new();
    let folder = Path::new(page).parent().unwrap();
    for component in folder.join(target).components() {
        match component {
            Component::ParentDir => assert!(path.pop(), "{page}: {target} leaves the repository"),
            Component::Normal(name) => path.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    path
}

#[test]
fn every_link_of_a_document_leads_to_a_file_and_to_a_heading_that_are_there() {
    let mut wrong = Vec::new();
    let mut followed = 0;
    for page in documents() {
        let text = repository(&page);
        for (target, anchor) in links(&text) {
            followed += 1;
            let to =
                if target.is_empty() { PathBuf::from(&page) } else { resolved(&page, &target) };
            let file = root().join(&to);
            let is_page = to.extension().is_some_and(|extension| extension == "md");
            let is_there = file.exists();
            let has_anchor = || match &anchor {
                Some(anchor) if is_page => {
                    anchors(&fs::read_to_string(&file).unwrap()).contains(anchor)
                }
                Some(_) | None => true,
            };
            if !is_there || !has_anchor() {
                wrong.push(format!("{page}: {target}#{}", anchor.unwrap_or_default()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(followed > 250, "{followed} links: they are read wrongly");
}

#[test]
fn a_link_that_leads_nowhere_is_noticed() {
    let page = "# One\n## A b: `c`!\n## One\n[a](x.md) `[b](y.md)` [c](#one-1) [d](https://e.example)\n\
                ```\n# no heading\n[f](g.md)\n```\n";
    let anchor = |text: &str| Some(text.to_owned());
    assert_eq!(links(page), [("x.md".to_owned(), None), (String::new(), anchor("one-1"))]);
    let expected = ["a-b-c", "one", "one-1"].map(str::to_owned);
    assert_eq!(anchors(page), expected.into());
}

#[test]
fn the_sites_table_of_contents_lists_every_page_once() {
    let summary = repository("docs/SUMMARY.md");
    let listed: Vec<PathBuf> =
        links(&summary).into_iter().map(|(to, _)| resolved("docs/SUMMARY.md", &to)).collect();
    let pages: BTreeSet<&PathBuf> = listed.iter().collect();
    assert_eq!(pages.len(), listed.len(), "a page is listed twice: {listed:?}");
    // scripts/docs.py takes the decisions from their own table.
    let decisions = repository("docs/decisions/README.md");
    for page in documents().iter().filter(|page| page.starts_with("docs/")) {
        let name = Path::new(page).file_name().unwrap().to_str().unwrap();
        let is_decision = page.starts_with("docs/decisions/") && name != "README.md";
        let is_listed = match is_decision {
            true => decisions.contains(&format!("]({name}) | ")),
            false => page == "docs/SUMMARY.md" || pages.contains(&PathBuf::from(page)),
        };
        assert!(is_listed, "{page} is on no page of the site");
    }
}

#[test]
fn every_number_of_a_decision_has_a_page_or_a_reason() {
    let readme = repository("docs/decisions/README.md");
    let (_, without) = readme.split_once("## Numbers without a page").unwrap();
    // Every second piece is between backticks, so it is code.
    let unused = without.split('`').skip(1).step_by(2).map(|number| number.parse::<u32>().unwrap());
    let unused: BTreeSet<u32> = unused.collect();
    let names = files("docs/decisions", ".md");
    let pages: BTreeSet<u32> =
        names.iter().filter_map(|name| name.get(..4)?.parse().ok()).collect();
    let both: Vec<&u32> = pages.intersection(&unused).collect();
    assert!(both.is_empty(), "these have a page and are listed as numbers without one: {both:?}");
    let last = *pages.last().unwrap();
    let gaps: Vec<u32> =
        (1..=last).filter(|number| !pages.contains(number) && !unused.contains(number)).collect();
    assert!(gaps.is_empty(), "say in docs/decisions/README.md what became of {gaps:?}");
}

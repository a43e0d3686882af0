use std::collections::BTreeSet;

use serde_json::Value;

use super::files;
use crate::settings::repository;

#[test]
fn every_alert_leads_to_a_runbook_and_every_runbook_to_an_alert() {
    let rules: Value =
        serde_saphyr::from_str(&repository("assets/prometheus/carillon.yaml")).unwrap();
    let groups = rules["groups"].as_array().unwrap();
    let rules = groups.iter().flat_map(|group| group["rules"].as_array().unwrap());
    let index = repository("docs/runbooks/README.md");
    let mut alerts = BTreeSet::from(["README.md".to_owned()]);
    for rule in rules {
        let alert = rule["alert"].as_str().unwrap();
        let url = rule["annotations"]["runbook_url"].as_str().unwrap_or_default();
        let expected = format!("https://carillon.example.org/docs/runbooks/{alert}.html");
        assert_eq!(url, expected, "{alert}");
        let page = repository(&format!("docs/runbooks/{alert}.md"));
        for part in [
            &*format!("# {alert}\n"),
            "**Fires when:**",
            "**What it means:**",
            "## What to do\n\n1. ",
        ] {
            assert!(page.contains(part), "the runbook of {alert} has no {part:?}");
        }
        let severity = rule["labels"]["severity"].as_str().unwrap();
        assert!(index.contains(&format!("[{alert}]({alert}.md) | {severity} |")), "{alert}");
        alerts.insert(format!("{alert}.md"));
    }
    let pages: BTreeSet<String> = files("docs/runbooks", ".md").into_iter().collect();
    assert_eq!(pages, alerts);
}

#[test]
fn the_dashboard_leads_to_the_console_and_to_runbooks_that_are_there() {
    let text = repository("assets/grafana/carillon.json");
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let variables: Vec<&str> = dashboard["templating"]["list"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| variable["name"].as_str().unwrap())
        .collect();
    assert_eq!(variables, ["datasource", "job", "instance", "console"]);
    // Every variable used is defined.
    for used in text.split("${").skip(1) {
        let name = used.split('}').next().unwrap();
        assert!(variables.contains(&name), "there is no variable {name}");
    }
    let pages = files("docs/runbooks", ".md");
    let mut led = 0;
    for link in text.split("${console}/docs/runbooks/").skip(1) {
        let page = link.split('"').next().unwrap();
        let page =
            page.strip_suffix(".html").map_or("README.md".to_owned(), |page| format!("{page}.md"));
        assert!(pages.contains(&page), "the dashboard leads to {page}");
        led += 1;
    }
    assert!(led > 5, "{led} links to runbooks");
}

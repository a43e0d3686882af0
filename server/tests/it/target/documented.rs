//! What docs/targets.md says that targets receive is what they receive.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use carillon::target::Stream;
use serde_json::{Value, json};

use super::support::{open, receiver, run, succeeded, texts};
use crate::settings::repository;

/// The part of the page under a heading.
fn section(heading: &str) -> String {
    let page = repository("docs/targets.md");
    let (_, rest) = page.split_once(&format!("# {heading}\n")).expect(heading);
    rest.split("\n#").next().unwrap().to_owned()
}

/// The names in the first column of the table under a heading.
fn documented(heading: &str) -> BTreeSet<String> {
    let section = section(heading);
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    rows.map(str::to_owned).collect()
}

#[tokio::test]
async fn the_variables_of_a_program_are_documented() {
    let (outcome, lines) = run(open(), json!({"command": {"script": "env"}})).await;
    succeeded(outcome);
    // The shell itself adds these variables.
    let own = ["PWD", "OLDPWD", "SHLVL", "_"];
    let said = texts(&lines, Stream::Stdout);
    let names = said.iter().filter_map(|line| Some(line.split_once('=')?.0));
    let names: BTreeSet<String> =
        names.filter(|name| !own.contains(name)).map(str::to_owned).collect();
    assert_eq!(documented("A program"), names);
    let section = section("A program");
    let example = section.split("```").nth(1).unwrap();
    for line in example.lines().filter(|line| line.starts_with("CARILLON_")) {
        let name = line.split('=').next().unwrap();
        assert!(names.contains(name), "{name} is in the example");
    }
}

#[tokio::test]
async fn the_body_and_the_headers_of_a_request_are_documented() {
    let (address, mut received) = receiver().await;
    let key = STANDARD.encode([9; 32]);
    let definition = json!({"http": {
        "url": format!("http://{address}/"), "signing_secret": format!("whsec_{key}"),
    }});
    succeeded(run(open(), definition).await.0);
    let request = received.recv().await.unwrap();

    let fields =
        |body: &Value| -> BTreeSet<String> { body.as_object().unwrap().keys().cloned().collect() };
    let sent = fields(&serde_json::from_slice(&request.body).unwrap());
    assert_eq!(documented("The usual body"), sent);
    let section = section("The usual body");
    let example = section.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(fields(&serde_json::from_str(example).unwrap()), sent);

    // HTTP itself needs these headers.
    let own = ["accept", "content-length", "host"];
    let sent = request.headers.keys().map(|name| name.as_str());
    let sent: BTreeSet<String> =
        sent.filter(|name| !own.contains(name)).map(str::to_owned).collect();
    let named: BTreeSet<String> =
        documented("Headers").iter().map(|name| name.to_ascii_lowercase()).collect();
    assert_eq!(sent, named);
}

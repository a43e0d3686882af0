use serde_json::{Value, json};

use crate::support::{Command, Server, TestDatabase};

#[tokio::test]
async fn the_next_fires_are_skipped_from_the_command_line() {
    let database = TestDatabase::sqlite().await;
    let token = |name: &str, role: &str| {
        let create = ["token", "create", name, "--role", role];
        Command::new(&create).on(&database).run().done().trim().to_owned()
    };
    let (editor, operator) = (token("editor", "editor"), token("operator", "operator"));
    let server = Server::start(&database);
    let create = json!({ "query": "mutation { createSchedule(input: { name: \"yearly\",
        timing: { expressions: [\"0 0 1 1 *\"] }, task: { target: { noop: {} } } }) {
        schedule { nextFireAt } } }" });
    let made = server.post("/graphql").bearer_auth(&editor).json(&create).send().await.unwrap();
    let made: Value = made.json().await.unwrap();
    let next = made["data"]["createSchedule"]["schedule"]["nextFireAt"].as_str().unwrap();

    let skip = |more: &[&str]| {
        let args = [&["skip-next", "yearly", "--server", &server.url], more].concat();
        Command::new(&args).env("CARILLON_TOKEN", &operator).run()
    };
    let said = skip(&["--reason", "new year's eve"]).done();
    let year: i32 = next[..4].parse().unwrap();
    let after = next.replacen(&year.to_string(), &(year + 1).to_string(), 1);
    assert_eq!(said, format!("skipped {next}\nnext {after}\n"));
    let said = skip(&["--reason", "x", "--count", "2", "--json"]).done();
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["skippedAt"].as_array().unwrap().len(), 2);
    assert!(skip(&["--reason", "x", "--count", "101"]).refused(2).contains("--count"));
    assert!(skip(&["--reason", " "]).refused(1).contains("reason"));
    assert_eq!(server.stop(), 0);
}

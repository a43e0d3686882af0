use serde_json::Value;

use crate::support::{Command, Server, TestDatabase};

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_searched_from_the_command_line() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "shell", "--role", "editor"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let server = Server::start(&database);
    let ask = |args: &[&str]| {
        Command::new(args).env("CARILLON_SERVER", &server.url).env("CARILLON_TOKEN", &token)
    };
    let module = "module: shop\nschedules:\n  report:\n    when: \"@daily\"\n    \
                  tags: [billing]\n    task: { target: { noop: {} } }\n  backup:\n    \
                  when: \"@daily\"\n    task: { target: { noop: {} } }\n";
    ask(&["apply", "shop.yaml"]).file("shop.yaml", module).run().done();

    let found = ask(&["schedules", "--search", "tag:billing next:<2d", "--json"]).run().done();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found.as_array().unwrap().len(), 1);
    assert_eq!(found[0]["name"], "report");
    let table = ask(&["schedules", "--search", "-tag:billing"]).run().done();
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[0].starts_with("SCHEDULE  STATE"), "{table}");
    assert!(lines[1].starts_with("backup    active  @daily"), "{table}");
    assert_eq!(lines.len(), 2);

    ask(&["trigger", "report"]).run().done();
    let runs = ask(&["runs", "--search", "workflow:report trigger:manual", "--json"]).run().done();
    assert_eq!(serde_json::from_str::<Value>(&runs).unwrap().as_array().unwrap().len(), 1);
    let none = ask(&["runs", "--search", "workflow:backup", "--json"]).run().done();
    assert_eq!(none.trim(), "[]");

    // Refused where it is typed: no server is asked.
    let refused = Command::new(&["runs", "--search", "tag:billing stat:failed"]).run().refused(2);
    let lines: Vec<_> = refused.lines().collect();
    assert!(lines[0].starts_with("--search: runs have no field 'stat'"), "{refused}");
    assert!(lines[0].contains("did you mean 'state'?"), "{refused}");
    assert_eq!(lines[1..], ["  tag:billing stat:failed", "              ^^^^"]);
}

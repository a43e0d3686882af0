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

    // The client itself refuses the search, without asking a server.
    let refused = Command::new(&["runs", "--search", "tag:billing stat:failed"]).run().refused(2);
    let lines: Vec<_> = refused.lines().collect();
    assert!(lines[0].starts_with("--search: runs have no field 'stat'"), "{refused}");
    assert!(lines[0].contains("did you mean 'state'?"), "{refused}");
    assert_eq!(lines[1..], ["  tag:billing stat:failed", "              ^^^^"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_go_through_all_pages_or_say_that_there_are_more() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "shell", "--role", "editor"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let server = Server::start(&database);
    let ask = |args: &[&str]| {
        Command::new(args).env("CARILLON_SERVER", &server.url).env("CARILLON_TOKEN", &token)
    };
    let entry = |index: usize| {
        format!("  s{index:03}: {{ when: '@manually', task: {{ target: {{ noop: {{}} }} }} }}\n")
    };
    let schedules: String = (0..230).map(entry).collect();
    let module = format!("module: many\nschedules:\n{schedules}");
    ask(&["apply", "many.yaml"]).file("many.yaml", &module).run().done();

    let count = |out: &str| serde_json::from_str::<Value>(out).unwrap().as_array().unwrap().len();
    let all = ask(&["schedules", "--json"]).run();
    assert_eq!((count(&all.out), &*all.err), (230, ""));
    let some = ask(&["schedules", "--json", "--limit", "210"]).run();
    assert_eq!(count(&some.out), 210);
    assert!(some.err.contains("210 shown, 20 are left"), "{}", some.err);

    let none = ask(&["schedules", "--search", "tag:none"]).run();
    assert_eq!((none.code, &*none.err), (0, "nothing was found\n"), "{none:?}");

    // A schedule that never fires by itself does not count as finished.
    for (search, found) in [("state:active", 230), ("state:finished", 0)] {
        let listed = ask(&["schedules", "--search", search, "--json"]).run().done();
        assert_eq!(count(&listed), found, "{search}");
    }
    let listed: Value = serde_json::from_str(&all.out).unwrap();
    assert_eq!(listed[0]["state"], "ACTIVE");
    for name in ["s000", "s001"] {
        ask(&["trigger", name]).run().done();
    }
    let runs = ask(&["runs", "--limit", "1"]).run();
    assert!(runs.err.contains("1 shown, 1 is left"), "{runs:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_list_reads_on_or_says_what_is_left() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "shell", "--role", "editor"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let server = Server::start(&database);
    let ask = |args: &[&str]| {
        Command::new(args).env("CARILLON_SERVER", &server.url).env("CARILLON_TOKEN", &token)
    };
    let module = |times: &[&str]| {
        let entry = |(index, time): (usize, &&str)| {
            format!(
                "  s{index}: {{ when: '{time}', paused: true, task: {{ target: {{ noop: {{}} }} }} }}\n"
            )
        };
        let schedules: String = times.iter().enumerate().map(entry).collect();
        format!("module: some\nschedules:\n{schedules}")
    };
    for time in ["@daily", "@hourly"] {
        ask(&["apply", "some.yaml"]).file("some.yaml", &module(&[time])).run().done();
    }
    for hours in ["2", "3"] {
        let to = format!("2024-03-01T0{hours}:00:00Z");
        let from = ["backfill", "create", "s0", "--from", "2024-03-01T00:00:00Z"];
        ask(&[&from[..], &["--to", &to, "--reason", "a test"]].concat()).run().done();
    }
    for name in ["old", "older"] {
        let definition = format!(
            "{{\"name\": \"{name}\", \"timing\": {{\"expressions\": [\"@daily\"]}}, \
             \"task\": {{\"target\": {{\"noop\": {{}}}}}}}}"
        );
        ask(&["create", &definition]).run().done();
        ask(&["delete", "schedule", name]).run().done();
    }

    let count = |out: &str| serde_json::from_str::<Value>(out).unwrap().as_array().unwrap().len();
    for list in [&["versions", "s0"][..], &["backfill", "list"], &["deleted"]] {
        let all = ask(&[list, &["--json"]].concat()).run();
        assert_eq!((count(&all.out), &*all.err), (2, ""), "{list:?}");
        for form in [&[][..], &["--json"]] {
            let some = ask(&[list, &["--limit", "1"], form].concat()).run();
            assert!(some.err.starts_with("1 shown, 1 is left: give --limit"), "{list:?} {some:?}");
        }
    }
    let unknown = ask(&["versions", "00000000-0000-0000-0000-000000000000"]).run().refused(1);
    assert!(unknown.contains("there is no schedule with the id"), "{unknown}");

    for form in ["table", "jsonl", "csv"] {
        let audit = ["audit", "--limit", "1", "--format", form];
        let some = Command::new(&audit).on(&database).run();
        assert!(some.err.contains("1 shown, there are more: give --limit"), "{form} {some:?}");
        let all = Command::new(&["audit", "--limit", "1000", "--format", form]);
        let all = all.on(&database).run();
        assert!(!all.err.contains("there are more"), "{form} {all:?}");
    }
}

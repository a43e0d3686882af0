//! The ledger from the command line: listed, explained and followed, and waiting for runs.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use serde_json::Value;

use super::desk::Desk;
use crate::support::{Command, Server, TestDatabase, on_both};

on_both!(
    the_ledger_is_filtered_explained_and_followed,
    a_schedule_is_shown_with_what_comes_next,
    an_outage_is_tried_on_all_schedules_and_on_one,
    a_run_is_waited_for_and_its_log_followed,
);

const MODULE: &str = "module: test
schedules:
  tick:
    when: '* * * * * *'
    task: { target: { noop: {} } }
  nightly:
    when: '0 2 * * *'
    zone: Europe/Berlin
    tags: [billing]
    paused: true
    task: { target: { noop: {} } }
  chatty:
    when: '@yearly'
    task: { target: { command: { program: /bin/sh, args: [-c, 'echo one; sleep 1; echo two'] } } }
  bad:
    when: '@yearly'
    task:
      target: { http: { url: 'http://127.0.0.1:9/' } }
      retry: { max_attempts: 1 }
";

fn desk(database: &TestDatabase) -> Desk {
    let create = ["token", "create", "ci", "--role", "editor"];
    let token = Command::new(&create).on(database).run().done().trim().to_owned();
    let server = Server::start_with(database, &["--allow-commands", "--allow-private-addresses"]);
    let desk = Desk { server, token };
    desk.command(&["apply", "module.yaml"]).file("module.yaml", MODULE).run().done();
    desk
}

fn rows(of: &Value) -> &Vec<Value> {
    of.as_array().unwrap()
}

async fn the_ledger_is_filtered_explained_and_followed(database: TestDatabase) {
    let desk = desk(&database);
    let started = ["fires", "--schedule", "tick", "--verdict", "started"];
    let fires = desk.until(&started, |fires| rows(fires).len() >= 3);
    let at = |row: &Value| row["scheduledAt"].as_str().unwrap().to_owned();
    assert!(rows(&fires).windows(2).all(|pair| at(&pair[0]) > at(&pair[1])), "{fires}");
    let list = |more: &[&str]| desk.json(&[&["fires", "--schedule", "tick"], more].concat());
    for none in [
        &["--verdict", "missed"][..],
        &["--reason", "by-request"],
        &["--until", "1h"],
        &["--since", "2099-01-01T00:00:00Z"],
    ] {
        assert_eq!(list(none), Value::Array(vec![]), "{none:?}");
    }
    let some = list(&["--since", "2h", "--verdict", "started", "--verdict", "skipped"]);
    assert!(!rows(&some).is_empty());
    let few = desk.command(&["fires", "--schedule", "tick", "--limit", "2"]).run();
    assert_eq!((few.out.lines().count(), few.code), (3, 0), "{few:?}");
    assert!(few.out.starts_with("FIRE  ") && few.out.contains("  started  "), "{few:?}");
    assert!(few.err.contains("2 shown, ") && few.err.contains(" left: give --limit"), "{few:?}");
    let wrong = desk.command(&["fires", "--schedule", "tick", "--since", "soon"]).run().refused(2);
    assert!(wrong.contains("yesterday 02:00"), "{wrong}");

    // The fires of all schedules, or of those that match a search.
    let all = desk.json(&["fires", "--limit", "3"]);
    assert!(rows(&all).iter().all(|row| row["schedule"]["name"] == "tick"), "{all}");
    let found =
        desk.json(&["fires", "--search", "name:tick", "--reason", "on-time", "--limit", "1"]);
    assert_eq!(rows(&found).len(), 1, "{found}");
    let none = desk.json(&["fires", "--search", "tag:absent", "--namespace", "default"]);
    assert!(rows(&none).is_empty(), "{none}");
    let fire = &rows(&fires)[0];
    let id = fire["id"].as_str().unwrap();
    let told = desk.said(&["explain", id]);
    let expected = format!("tick was due at {}: started\n  why: ", at(fire));
    assert!(told.starts_with(&expected), "{told}");
    assert!(told.contains("more: carillon run show "), "{told}");
    let same = desk.json(&["explain", "tick", "--at", &at(fire)]);
    assert_eq!(same["id"], id);
    let nobody = desk.command(&["explain", &uuid::Uuid::nil().to_string()]).run().refused(1);
    assert!(nobody.contains("'carillon fires' lists them"), "{nobody}");
    let none = desk.command(&["explain", "nightly"]).run().refused(1);
    assert!(none.contains("no fire of 'nightly' was due until"), "{none}");

    // `--follow` prints new rows as they appear.
    let follow = ["fires", "--schedule", "tick", "--follow", "--limit", "1", "--json"];
    let (mut command, _folder) = desk.command(&follow).into_inner();
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let first: Value = serde_json::from_str(&desk_line(lines, &at(fire))).unwrap();
    assert!(at(&first) > at(fire));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The second printed fire after the instant `before`. That fire did not exist when the command
/// began to follow.
fn desk_line(lines: impl Iterator<Item = String>, before: &str) -> String {
    let fires = lines.filter(|line| {
        let row: Value = serde_json::from_str(line).unwrap();
        row["scheduledAt"].as_str().unwrap() > before && row["verdict"] == "STARTED"
    });
    fires.take(2).last().unwrap()
}

async fn a_schedule_is_shown_with_what_comes_next(database: TestDatabase) {
    let desk = desk(&database);
    let told = desk.said(&["show", "nightly"]);
    assert!(told.starts_with("nightly in default: paused\n"), "{told}");
    for part in ["when       0 2 * * * (Europe/Berlin)", "tags       billing", "module     test"] {
        assert!(told.contains(part), "{told}");
    }
    assert!(told.contains("next       "), "{told}");
    assert_eq!(desk.json(&["show", "nightly"])["timing"]["zone"], "Europe/Berlin");
    let missing = desk.command(&["show", "nigthly"]).run().refused(1);
    assert!(missing.contains("there is no schedule 'nigthly'"), "{missing}");
    assert!(missing.ends_with("did you mean 'nightly'?"), "{missing}");
    let missing = desk.command(&["show", "somewhat-else"]).run().refused(1);
    assert!(missing.ends_with("'carillon schedules --namespace default' lists them"), "{missing}");

    let next = desk.command(&["upcoming", "--for", "1h", "--limit", "3"]).run();
    assert!(next.out.starts_with("AT  ") && next.out.lines().count() == 4, "{next:?}");
    assert!(next.out.lines().skip(1).all(|line| line.contains("  tick  ")), "{next:?}");
    assert!(next.err.contains("3 shown") && next.err.contains("left until"), "{next:?}");
    let never = desk.command(&["upcoming", "--for", "15d"]).run().refused(2);
    assert!(never.contains("must be 1h to 14d"), "{never}");
    desk.said(&["pause", "tick", "--reason", "x", "--until", "in 2h"]);
    let bad = desk.command(&["pause", "tick", "--reason", "x", "--until", "2h ago"]).run();
    assert!(bad.refused(1).contains("until"));
}

async fn an_outage_is_tried_on_all_schedules_and_on_one(database: TestDatabase) {
    let desk = desk(&database);
    let outage = ["what-if", "--from", "tomorrow", "--to", "tomorrow 00:01"];
    let all = desk.said(&outage);
    assert!(all.starts_with("SCHEDULE  POLICY") && all.contains("\nnightly   paused"), "{all}");
    assert_eq!(all.lines().filter(|line| line.starts_with("tick  ")).count(), 3, "{all}");
    assert_eq!(all.lines().filter(|line| line.contains(" * ")).count(), 3, "one a schedule: {all}");
    let one = desk.said(&[&outage[..], &["tick", "--policy", "all"]].concat());
    assert!(one.contains("\nall:\nAT ") && one.contains("runs late"), "{one}");
    let told = desk.json(&[&outage[..], &["tick"]].concat());
    // 60 instants of the minute, and the one at its end.
    assert_eq!(told["expected"], 61);
    assert_eq!(told["totals"][0]["counts"]["onTime"], 1);
    assert_eq!(told["totals"][0]["counts"]["missed"], 60);
    let both = desk.command(&[&outage[..], &["tick", "--search", "tick"]].concat()).run();
    assert_eq!(both.code, 2, "{both:?}");
    let backward = desk.command(&["what-if", "--from", "tomorrow", "--to", "today"]).run();
    assert!(backward.refused(1).contains("is not after 'from'"));
}

async fn a_run_is_waited_for_and_its_log_followed(database: TestDatabase) {
    let desk = desk(&database);
    let said = desk.said(&["trigger", "chatty", "--wait"]);
    assert!(said.starts_with("run ") && said.contains("\nsucceeded after "), "{said}");
    let failed = desk.command(&["trigger", "bad", "--wait"]).run();
    assert_eq!(failed.code, 4, "{failed:?}");
    assert!(failed.out.ends_with("failed after ") || failed.out.contains("\nfailed"), "{failed:?}");
    assert!(
        failed.err.starts_with("error: run ") && failed.err.contains(" failed: "),
        "{failed:?}"
    );
    let run = desk.json(&["trigger", "chatty", "--wait"]);
    assert_eq!(run["state"], "SUCCEEDED");

    // The log is followed from before its first line until it ends.
    let id = desk.said(&["trigger", "chatty"]);
    let id = id.trim().strip_prefix("run ").unwrap();
    for follow in [&["logs", id, "--follow"][..], &["run", "logs", id, "-f"]] {
        let told = desk.said(follow);
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), 2, "{told}");
        assert!(lines[0].ends_with("stdout: one") && lines[1].ends_with("stdout: two"), "{told}");
    }
}

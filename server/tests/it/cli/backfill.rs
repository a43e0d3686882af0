use serde_json::{Value, json};

use super::desk::Desk;
use crate::support::{Command, TestDatabase, on_both};

on_both!(a_backfill_is_previewed_ordered_and_listed, a_backfill_is_paused_resumed_and_cancelled);

/// The discard port is closed: the first attempt fails, and the run waits for the next.
const MODULE: &str = "module: test
schedules:
  tick:
    when: '@hourly'
    paused: true
    task: { target: { noop: {} } }
  slow:
    when: '@hourly'
    paused: true
    task:
      target: { http: { url: 'http://127.0.0.1:9/' } }
      retry: { max_attempts: 2, initial: 1h, max: 1h }
";

/// The command `backfill preview` or `backfill create` for the three hours after midnight.
fn wanted<'a>(action: &'a str, schedule: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let window = ["--from", "2024-03-01T00:00:00Z", "--to", "2024-03-01T03:00:00Z"];
    [&["backfill", action, schedule], &window[..], more].concat()
}

async fn a_backfill_is_previewed_ordered_and_listed(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    let cut = desk.command(&wanted("preview", "tick", &["--limit", "2"])).run();
    assert_eq!(cut.err, "2 shown, 1 is left: give --limit, up to 10000\n");
    let told = cut.done();
    assert!(told.contains("2024-03-01T01:00:00Z") && !told.contains("T02:00:00Z"), "{told}");
    let last = "3 fires: 3 missing, 0 failed, 0 succeeded, 0 live, 0 suppressed, 0 forgotten; \
                3 would run";
    assert_eq!(told.lines().last(), Some(last));
    assert_eq!(desk.json(&wanted("preview", "tick", &[]))["selected"], 3);
    let window = ["--from", "2024-03-01T00:00:00Z", "--to", "2024-03-14T00:00:00Z"];
    let long = ["backfill", "preview", "tick", "--limit", "300", "--standing", "missing"];
    let long = desk.json(&[&long[..], &window].concat());
    let fires = long["fires"].as_array().unwrap();
    assert_eq!((&long["total"], fires.len()), (&312.into(), 300));
    assert_eq!(fires[299]["at"], "2024-03-13T11:00:00Z");

    let more = ["--reason", "a test", "--order", "newest-first", "--concurrency", "2"];
    let made = desk.json(&wanted("create", "tick", &more));
    assert_eq!((&made["order"], &made["reason"]), (&"NEWEST_FIRST".into(), &"a test".into()));
    let list = ["backfill", "list", "--schedule", "tick", "--state", "completed"];
    let done = desk.until(&list, |list| list[0].is_object())[0].take();
    assert_eq!((&done["id"], &done["progress"]["succeeded"]), (&made["id"], &3.into()));
    let table = desk.said(&list);
    assert!(table.contains("completed") && table.contains("3/3"), "{table}");
    assert_eq!(desk.json(&wanted("preview", "tick", &["--mode", "all"]))["succeeded"], 3);
    let runs = desk.json(&["runs", "--schedule", "tick"]);
    assert_eq!((runs.as_array().unwrap().len(), &runs[0]["trigger"]), (3, &"BACKFILL".into()));
    // A schedule's id does as well as its name.
    let id = desk.json(&["show", "tick"])["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.json(&["runs", "--schedule", &id]), runs);
    assert_eq!(desk.json(&["backfill", "list", "--schedule", &id])[0]["id"], made["id"]);
}

async fn a_backfill_is_paused_resumed_and_cancelled(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    let made = desk.said(&wanted("create", "slow", &["--reason", "a test"]));
    let id = made.strip_prefix("backfill ").and_then(|line| line.strip_suffix(" of 3 fires\n"));
    let id = id.unwrap_or_else(|| panic!("{made}"));
    let told = desk.said(&["backfill", "pause", id, "--reason", "zu früh: ticket 42"]);
    assert!(told.starts_with(&format!("backfill {id} is paused: 0/3")), "{told}");
    assert_eq!(desk.json(&["backfill", "resume", id])["state"], "RUNNING");
    let cancelled = desk.json(&["backfill", "cancel", id, "--reason", "enough"]);
    assert_eq!(cancelled["state"], "CANCELLED");
    let log = Command::new(&["audit", "--format", "jsonl"]).on(&database).run().done();
    for (action, why) in [
        ("pause", json!("zu früh: ticket 42")),
        ("resume", Value::Null),
        ("cancel", json!("enough")),
    ] {
        let action = format!("backfill.{action}");
        let mut lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let entry = lines.find(|entry| entry["action"] == *action).unwrap();
        assert_eq!(entry["reason"], why, "{entry}");
    }
    let again = desk.command(&["backfill", "cancel", id]).run().refused(1);
    assert!(again.starts_with("failed to cancel the backfill: "), "{again}");
    assert!(again.contains("is cancelled already"), "{again}");

    let refused = desk.command(&wanted("create", "tick", &["--reason", " "])).run().refused(1);
    assert!(refused.contains("reason") && refused.contains("give a reason"), "{refused}");
    let missing = desk.command(&wanted("preview", "tock", &[])).run().refused(1);
    assert!(missing.contains("there is no schedule 'tock'"), "{missing}");
    let mode = desk.command(&wanted("preview", "tick", &["--mode", "some"])).run();
    assert_eq!(mode.code, 2, "{mode:?}");
}

use serde_json::Value;

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(
    a_window_is_previewed_planned_changed_and_cancelled,
    an_active_window_pauses_its_schedules_until_it_is_cancelled,
);

const MODULE: &str = "module: test
schedules:
  books:
    when: '@hourly'
    tags: [billing]
    task: { target: { noop: {} } }
  letters:
    when: '@hourly'
    task: { target: { noop: {} } }
";

/// The command that plans a window for the schedules that have a tag.
fn plan<'a>(title: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["maintenance", "plan", title, "--search", "tag:billing"], more].concat()
}

async fn a_window_is_previewed_planned_changed_and_cancelled(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    let when = ["--from", "in 2d", "--until", "in 3d", "--ticket", "OPS-42", "--missed", "latest"];
    let told = desk.said(&plan("Move", &[&when[..], &["--dry-run"]].concat()));
    assert!(told.starts_with("1 schedule would be in it\n  books\n"), "{told}");
    assert!(told.contains("24 fires would fall into it, then runs the latest"), "{told}");
    assert_eq!(desk.json(&["maintenance", "list"]), Value::Array(vec![]));

    let made = desk.json(&plan("Move", &when));
    assert_eq!((&made["state"], &made["missed"]), (&"PLANNED".into(), &"LATEST".into()));
    assert_eq!((&made["ticket"], &made["search"]), (&"OPS-42".into(), &"tag:billing".into()));
    let id = made["id"].as_str().unwrap();
    let list = desk.said(&["maintenance", "list"]);
    assert!(list.contains("Move") && list.contains("planned"), "{list}");

    let shown = ["show", "books"];
    desk.until(&shown, |books| books["plannedPause"]["window"]["title"] == "Move");
    let told = desk.said(&shown);
    assert!(told.contains(", then runs the latest: Move"), "{told}");

    let changed = desk.json(&["maintenance", "change", id, "--title", "Later", "--ticket", ""]);
    assert_eq!((&changed["title"], &changed["ticket"]), (&"Later".into(), &Value::Null));
    assert_eq!(changed["startsAt"], made["startsAt"]);
    // A window does not overlap itself.
    let again = desk.json(&["maintenance", "change", id, "--until", "in 4d", "--dry-run"]);
    assert_eq!(
        (&again["overlapping"], &again["scheduleCount"]),
        (&Value::Array(vec![]), &1.into())
    );
    let other = desk.json(&plan("Other", &[&when[..], &["--dry-run"]].concat()));
    assert_eq!(other["overlapping"][0]["title"], "Later");

    let cancel = ["maintenance", "cancel", id, "--reason", "postponed"];
    let told = desk.said(&cancel);
    assert!(told.starts_with(&format!("maintenance {id} is cancelled: Later from ")), "{told}");
    let over = desk.json(&["maintenance", "list", "--state", "cancelled"]);
    assert_eq!((&over[0]["id"], &over[0]["cancelReason"]), (&id.into(), &"postponed".into()));
    let refused = desk.command(&cancel).run().refused(1);
    assert!(refused.starts_with("failed to cancel the maintenance: "), "{refused}");

    let wrong = desk.command(&["maintenance", "plan", "x", "--until", "1h", "--search", "tga:x"]);
    let refused = wrong.run().refused(2);
    assert!(refused.contains("--search"), "{refused}");
    let missing = ["maintenance", "change", "01997e4c-1111-7000-8000-000000000001"];
    let refused = desk.command(&missing).run().refused(1);
    assert!(refused.contains("there is no maintenance window"), "{refused}");
}

async fn an_active_window_pauses_its_schedules_until_it_is_cancelled(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    let made = desk.json(&plan("Move", &["--until", "in 2h"]));
    let id = made["id"].as_str().unwrap();
    let paused = ["schedules", "--search", "state:paused"];
    let found = desk.until(&paused, |found| found[0].is_object());
    assert_eq!((found.as_array().unwrap().len(), &found[0]["name"]), (1, &"books".into()));
    let active = ["maintenance", "list", "--state", "active"];
    let active = desk.until(&active, |windows| windows[0]["scheduleCount"] == 1);
    assert_eq!(active[0]["id"], id);

    desk.said(&["maintenance", "cancel", id, "--reason", "done early"]);
    desk.until(&paused, |found| found.as_array().is_some_and(Vec::is_empty));
}

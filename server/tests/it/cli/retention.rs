use entity::{Timestamp, run};
use sea_orm::{EntityTrait, IntoActiveModel};
use serde_json::{Value, json};
use uuid::Uuid;

use super::desk::Desk;
use crate::support::{Command, TestDatabase, on_both};

on_both!(
    a_dry_run_removes_nothing_and_a_round_does,
    how_long_history_is_kept_is_shown_and_set,
    a_retention_is_previewed_before_it_is_set,
);

/// Schedules that never fire by themselves.
const MODULE: &str = "module: shop
schedules:
  nightly: { when: '@daily', paused: true, task: { target: { noop: {} } } }
";

/// An administrator, who may set everything.
fn admin(database: &TestDatabase) -> Desk {
    let desk = Desk::open(database, MODULE);
    let create = ["token", "create", "boss", "--role", "admin"];
    let token = Command::new(&create).on(database).run().done().trim().to_owned();
    Desk { token, ..desk }
}

async fn how_long_history_is_kept_is_shown_and_set(database: TestDatabase) {
    let desk = admin(&database);
    let shown = "default keeps history for 45 days, as the server is configured\n";
    assert_eq!(desk.said(&["retention", "show"]), shown);
    let set = ["retention", "set", "90", "--reason", "the auditors"];
    assert_eq!(desk.said(&set), "default keeps history for 90 days\n");
    let audit = desk.command(&["audit"]).on(&database).run().done();
    assert!(audit.contains("the auditors"), "{audit}");
    assert_eq!(
        desk.json(&["retention", "show"]),
        json!({ "namespace": "default", "days": 90, "effectiveDays": 90, "schedules": [] })
    );
    let nightly = ["retention", "show", "--schedule", "nightly"];
    assert_eq!(desk.said(&nightly), "nightly keeps history for 90 days, as its namespace\n");
    // Only the module's file may change the retention of its schedule.
    let set = ["retention", "set", "7", "--schedule", "nightly"];
    assert!(desk.command(&set).run().refused(1).contains("declared by the module"));
    assert_eq!(desk.said(&["retention", "set", "default"]), "default keeps history for 45 days\n");
    for days in ["0", "3651", "week"] {
        let refused = desk.command(&["retention", "set", days]).run();
        assert_eq!(refused.code, 2, "{days}");
    }
    let missing = ["retention", "show", "--schedule", "missing"];
    assert!(desk.command(&missing).run().refused(1).contains("there is no schedule 'missing'"));
}

async fn a_retention_is_previewed_before_it_is_set(database: TestDatabase) {
    let desk = admin(&database);
    desk.said(&["trigger", "nightly"]);
    desk.until(&["runs", "--schedule", "nightly"], |runs| {
        runs.as_array().is_some_and(|runs| runs.iter().any(|run| run["state"] == "SUCCEEDED"))
    });
    // Another run of the same kind settled ten days ago.
    let store = &database.store;
    let run = run::Entity::find().one(store.read()).await.unwrap().unwrap();
    let then = Timestamp(run.created_at.0 - 10 * 86_400_000);
    let old = run::Model {
        fire_id: None,
        id: Uuid::from_u128((u128::from(then.0.unsigned_abs()) << 80) | (0x7 << 76) | (0x2 << 62)),
        created_at: then,
        finished_at: Some(then),
        idempotency_key: "old".to_owned(),
        ..run
    };
    let tx = store.begin().await.unwrap();
    run::Entity::insert(old.into_active_model()).exec_without_returning(&tx).await.unwrap();
    store.commit(tx).await.unwrap();

    let nothing = desk.said(&["retention", "preview", "--namespace", "default"]);
    assert!(nothing.starts_with("nothing is old enough to be removed\n"), "{nothing}");
    let told = desk.said(&["retention", "set", "7", "--dry-run"]);
    let words: Vec<&str> = told.lines().nth(1).unwrap().split_whitespace().collect();
    let day = then.utc().format("%F").to_string();
    assert_eq!(words[..3], ["run", "0", "1"], "{told}");
    assert_eq!(words[4..], [&*day, &*day], "{told}");
    assert!(told.contains("OLDEST (UTC)") && told.contains("NEWEST (UTC)"), "{told}");
    let of_one = desk.json(&["retention", "set", "7", "--schedule", "nightly", "--dry-run"]);
    assert_eq!(of_one["now"]["tables"], json!([]));
    assert_eq!(of_one["then"]["tables"][0]["rows"], 1);
    let kept = desk.json(&["retention", "show"]);
    assert_eq!(kept["days"], Value::Null, "nothing was set");

    desk.said(&["retention", "set", "7"]);
    let preview = desk.json(&["retention", "preview"]);
    let of_ours = preview["tables"].as_array().unwrap();
    let of_ours = of_ours.iter().find(|figure| figure["namespace"] == "default").unwrap();
    assert_eq!((&of_ours["table"], &of_ours["rows"]), (&json!("run"), &json!(1)));
    let table = desk.said(&["retention", "preview"]);
    assert!(table.starts_with("NAMESPACE") && table.contains("default"), "{table}");
    assert!(table.contains("OLDEST (UTC)"), "{table}");
    let oldest = table.lines().find(|line| line.starts_with("the oldest run ")).unwrap();
    assert!(oldest.ends_with(" (UTC)"), "{table}");
}

async fn a_dry_run_removes_nothing_and_a_round_does(database: TestDatabase) {
    let sql = "INSERT INTO session (id, data, expires_at) VALUES ('old', '{}', 1)";
    let tx = database.store.begin().await.unwrap();
    sea_orm::ConnectionTrait::execute_unprepared(&tx, sql).await.unwrap();
    database.store.commit(tx).await.unwrap();
    let run = |args: &[&str]| {
        let out = Command::new(args).on(&database).run().done();
        serde_json::from_str::<Value>(&out).unwrap()
    };
    for _ in 0..2 {
        let preview = run(&["retention", "--dry-run", "--json"]);
        assert_eq!((&preview["longestDays"], &preview["shortestDays"]), (&45.into(), &45.into()));
        assert_eq!(preview["tables"][0]["table"], "session");
        assert_eq!(preview["tables"][0]["rows"], 1);
    }
    let said = Command::new(&["retention", "--dry-run"]).on(&database).run().done();
    assert!(said.starts_with("TABLE") && said.contains("session"), "{said}");
    assert_eq!(run(&["retention", "--json"])["others"], 1);
    assert_eq!(run(&["retention", "--dry-run", "--json"])["tables"], serde_json::json!([]));
}

#[test]
fn a_retention_out_of_bounds_is_refused() {
    let bad = Command::new(&["retention"]).env("CARILLON_RETENTION__DAYS", "0").run().refused(1);
    assert!(bad.contains("retention.days") && bad.contains("1 to 3650"), "{bad}");
}

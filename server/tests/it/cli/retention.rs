use serde_json::Value;

use crate::support::{Command, TestDatabase, on_both};

on_both!(a_dry_run_removes_nothing_and_a_round_does);

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

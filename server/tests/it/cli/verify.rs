//! The check of the ledger from the command line.

use sea_orm::ConnectionTrait;
use serde_json::Value;

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(a_ledger_that_adds_up_is_told_from_one_that_does_not);

const MODULE: &str = "module: test
schedules:
  tick:
    when: '* * * * * *'
    tags: [billing]
    task: { target: { noop: {} } }
  rare:
    when: '@yearly'
    task: { target: { noop: {} } }
";

async fn a_ledger_that_adds_up_is_told_from_one_that_does_not(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    let started = ["fires", "--schedule", "tick", "--verdict", "started"];
    let fires = desk.until(&started, |fires| fires.as_array().unwrap().len() >= 3);
    let told = desk.said(&["verify"]);
    assert!(told.starts_with("2 schedules from ") && told.contains(", unexplained 0, "), "{told}");
    let found = desk.json(&["verify", "--search", "tag:billing", "--since", "1h"]);
    assert_eq!((&found["schedules"], &found["findings"]), (&1.into(), &Value::Array(vec![])));
    assert!(found["expected"].as_u64().unwrap() >= 2, "{found}");
    assert_eq!(found["expected"], found["accounted"]);
    assert_eq!(found["unjudged"], 0, "{found}");

    let fire = &fires[0];
    let id: uuid::Uuid = fire["id"].as_str().unwrap().parse().unwrap();
    let store = &database.store;
    let tx = store.begin().await.unwrap();
    let remove = store.dialect().statement("DELETE FROM fire WHERE id = $1", [id.into()]);
    tx.execute_raw(remove).await.unwrap();
    store.commit(tx).await.unwrap();
    let wrong = desk.command(&["verify", "--namespace", "default"]).run();
    assert_eq!(wrong.code, 1, "{wrong:?}");
    assert!(wrong.out.contains(", unexplained 1, "), "{wrong:?}");
    let at = fire["scheduledAt"].as_str().unwrap();
    let row = format!("{at}  default/tick  the schedule was due, and no row accounts for it");
    assert!(wrong.out.lines().any(|line| line.starts_with(&row)), "{row}: {wrong:?}");
    assert!(wrong.err.contains("error: the ledger does not add up: instants without a row: 1"));
    let json = desk.command(&["verify", "--json"]).run();
    let found: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((json.code, &found["unexplained"]), (1, &1.into()), "{json:?}");

    let far = desk.command(&["verify", "--since", "60d"]).run().refused(1);
    assert!(far.contains("more than 31 days"), "{far}");
    let bad = desk.command(&["verify", "--search", "nonsense:1"]).run().refused(2);
    assert!(bad.contains("--search: "), "{bad}");
}

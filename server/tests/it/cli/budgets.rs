//! `carillon budgets`: set, listed and removed.

use serde_json::json;

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(budgets_are_set_listed_and_removed);

const MODULE: &str = "module: test
schedules:
  tick: { when: '@yearly', tags: [billing], task: { target: { noop: {} } } }
";

async fn budgets_are_set_listed_and_removed(database: TestDatabase) {
    let desk = Desk::open(&database, MODULE);
    let set = ["budgets", "set", "billing", "--missed", "0", "--late", "5s", "--span", "2h"];
    assert_eq!(desk.said(&set), "set the budget of 'billing'\n");
    let listed = desk.json(&["budgets", "--tag", "billing"]);
    let budget = &listed[0];
    assert_eq!((&budget["spanMinutes"], &budget["healthy"]), (&json!(120), &json!(true)));
    assert_eq!((&budget["missed"]["own"], &budget["late"]["own"]), (&json!(0), &json!(5_000)));
    let table = desk.said(&["budgets"]);
    assert!(table.starts_with("TAG "), "{table}");
    let row = table.lines().nth(1).unwrap();
    for cell in ["billing", "default", "within", "0/0", "0/5", "-/5000 ms", "120 min"] {
        assert!(row.contains(cell), "{cell} in {row}");
    }
    let odd = desk.command(&["budgets", "set", "billing", "--missed", "0", "--span", "90s"]);
    assert!(odd.run().refused(2).contains("whole minutes"));
    let twice = desk.command(&["budgets", "--tag", "billing", "remove", "shipping"]).run();
    assert!(twice.refused(2).contains("--tag is for the list"));
    let none = desk.command(&["budgets", "set", "billing"]).run().refused(1);
    assert!(none.contains("limits nothing"), "{none}");
    let said = desk.said(&["budgets", "remove", "billing", "--reason", "not needed"]);
    assert_eq!(said, "removed the budget of 'billing'\n");
    let missing = desk.command(&["budgets", "remove", "billing"]).run().refused(1);
    assert!(missing.contains("billing"), "{missing}");
    assert_eq!(desk.json(&["budgets"]), json!([]));
}

//! Budgets of tags and maintenance windows declared by a module's file: planned, created, owned,
//! exported and removed.

use carillon::store::{Constraint, StoreError, maintenance};
use entity::{
    health_budget,
    maintenance_window::{self, ActiveModel, State},
};
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, Set, sea_query::Expr};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    desk::Desk,
    maintenance::{input, plan},
    planning,
};
use crate::support::{TestDatabase, on_both};

on_both!(
    budgets_and_windows_of_a_file_are_planned_made_changed_and_removed,
    code_owns_budgets_and_windows_and_operators_may_cancel,
    a_change_behind_the_commands_is_drift_and_is_corrected,
    drift_of_budgets_and_windows_is_adopted_or_reverted,
    a_changed_window_says_when_it_was_changed,
    an_export_of_budgets_and_windows_changes_nothing,
    a_window_that_has_begun_or_is_over_is_left_alone,
    a_window_that_is_deployed_a_moment_before_its_start_stays_as_it_is,
    a_title_of_several_windows_is_not_adopted,
    a_module_declares_a_title_once,
    a_mistake_about_budgets_and_windows_changes_nothing_and_names_its_place,
);

const DEPLOY: &str = "mutation($source: String!, $dryRun: Boolean! = false,
    $adopt: Boolean! = false, $format: ModuleFormat! = YAML, $prune: Boolean! = true) {
    deployModule(source: $source, dryRun: $dryRun, adopt: $adopt, format: $format, prune: $prune) {
        changes { action kind name detail fields { path before after } } } }";
const THERE: &str = "{ healthBudgets { tag module spanMinutes missed { own } failed { own }
        stalled { own } late { own } }
    maintenanceWindows(states: [PLANNED, ACTIVE]) { nodes { title module state search missed
        ticket startsAt endsAt } } }";
const DRIFT: &str = "{ moduleDrift(name: \"health\") { drifted {
    kind name side by reason fields { path before after } } } }";
const SET: &str = "mutation($tag: String!) {
    setHealthBudget(tag: $tag, limits: { missed: 7 }) { budget { id } } }";
const CANCEL: &str = "mutation($id: UUID!) {
    cancelMaintenance(id: $id, reason: \"postponed\") { window { id } } }";

const SOURCE: &str = r#"
module: health
health_budgets:
  billing: { missed: 0, failed: 3, late: 5s }
  reports: { stalled: 1, span: 24h }
maintenance_windows:
  Database move:
    start: 2026-03-02T22:00:00Z
    end: 2026-03-02T23:30:00Z
    search: tag:billing
    missed: latest
    ticket: OPS-42
  "Power: hall 2": { start: 2026-03-03T08:00:00Z, end: 2026-03-03T09:00:00Z }
"#;

async fn told(desk: &Desk, variables: Value) -> Vec<String> {
    planning::told(&desk.ask(DEPLOY, variables).await["deployModule"])
}

async fn deploy(desk: &Desk, source: &str) -> Vec<String> {
    told(desk, json!({ "source": source })).await
}

async fn drifted(desk: &Desk) -> Value {
    desk.ask(DRIFT, json!({})).await["moduleDrift"]["drifted"].take()
}

/// The windows of a title: state, module and key of each.
async fn windows(desk: &Desk, title: &str) -> Vec<(String, Value, Uuid)> {
    let query = "{ maintenanceWindows { nodes { id title state module } } }";
    let answer = desk.ask(query, json!({})).await;
    let nodes = answer["maintenanceWindows"]["nodes"].as_array().unwrap().iter();
    let nodes = nodes.filter(|node| node["title"] == title);
    nodes
        .map(|node| {
            let text = |key: &str| node[key].as_str().unwrap().to_owned();
            (text("state"), node["module"].clone(), text("id").parse().unwrap())
        })
        .collect()
}

/// Ends a window, as the engine would.
async fn end(desk: &Desk, id: Uuid) {
    let store = &desk.database.store;
    let tx = store.begin().await.unwrap();
    let ended =
        ActiveModel { state: Set(State::Ended), is_open: Set(false), ..ActiveModel::default() };
    maintenance::update(&tx, id, ended).await.unwrap();
    store.commit(tx).await.unwrap();
}

async fn budgets_and_windows_of_a_file_are_planned_made_changed_and_removed(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let made = [
        "CREATE health_budget billing",
        "CREATE health_budget reports",
        "CREATE maintenance_window Database move",
        "CREATE maintenance_window Power: hall 2",
    ];
    assert_eq!(told(&desk, json!({ "source": SOURCE, "dryRun": true })).await, made);
    let nothing = desk.ask(THERE, json!({})).await;
    assert_eq!(nothing, json!({ "healthBudgets": [], "maintenanceWindows": { "nodes": [] } }));

    assert_eq!(deploy(&desk, SOURCE).await, made);
    assert_eq!(deploy(&desk, SOURCE).await, [""; 0], "the second time");
    let none = json!({ "own": null });
    assert_eq!(
        desk.ask(THERE, json!({})).await,
        json!({
            "healthBudgets": [
                { "tag": "billing", "module": "health", "spanMinutes": 60, "missed": { "own": 0 },
                    "failed": { "own": 3 }, "stalled": none, "late": { "own": 5000 } },
                { "tag": "reports", "module": "health", "spanMinutes": 1440, "missed": none,
                    "failed": none, "stalled": { "own": 1 }, "late": none }],
            "maintenanceWindows": { "nodes": [
                { "title": "Database move", "module": "health", "state": "PLANNED",
                    "search": "tag:billing", "missed": "LATEST", "ticket": "OPS-42",
                    "startsAt": "2026-03-02T22:00:00Z", "endsAt": "2026-03-02T23:30:00Z" },
                { "title": "Power: hall 2", "module": "health", "state": "PLANNED",
                    "search": null, "missed": "SKIP", "ticket": null,
                    "startsAt": "2026-03-03T08:00:00Z", "endsAt": "2026-03-03T09:00:00Z" }] },
        })
    );
    let modules = "{ modules { nodes { name schedules } } }";
    let listed = desk.ask(modules, json!({})).await;
    assert_eq!(listed["modules"]["nodes"], json!([{ "name": "health", "schedules": 0 }]));

    let changed = SOURCE
        .replace("missed: 0, failed: 3", "missed: 1")
        .replace("  reports: { stalled: 1, span: 24h }\n", "")
        .replace("T23:30", "T23:45")
        .replace("    ticket: OPS-42\n", "")
        .split_inclusive('\n')
        .filter(|line| !line.contains("Power"))
        .collect::<String>();
    let expected = [
        "DELETE health_budget reports",
        "UPDATE health_budget billing",
        "  failed: 3 -> -",
        "  missed: 0 -> 1",
        "DELETE maintenance_window Power: hall 2",
        "UPDATE maintenance_window Database move",
        "  end: 2026-03-02T23:30:00Z -> 2026-03-02T23:45:00Z",
        "  ticket: OPS-42 -> -",
    ];
    // Without pruning, the same changes are made, and nothing is removed.
    let kept = json!({ "source": changed, "prune": false, "dryRun": true });
    let kept = told(&desk, kept).await;
    assert_eq!(kept.len(), expected.len() - 2, "{kept:?}");
    assert_eq!(told(&desk, json!({ "source": changed, "dryRun": true })).await, expected);
    assert_eq!(deploy(&desk, &changed).await, expected);
    assert_eq!(windows(&desk, "Power: hall 2").await[0].0, "CANCELLED");
    // A window that was removed and is declared again is planned again.
    let again = deploy(&desk, SOURCE).await;
    assert!(again.contains(&"CREATE maintenance_window Power: hall 2".to_owned()), "{again:?}");
    assert_eq!(windows(&desk, "Power: hall 2").await.len(), 2);

    let gone = deploy(&desk, "module: health").await;
    assert_eq!(gone.iter().filter(|line| line.starts_with("DELETE")).count(), 4, "{gone:?}");
    let listed = desk.ask(modules, json!({})).await;
    assert_eq!(listed["modules"]["nodes"], json!([]));
    let left = desk.ask(THERE, json!({})).await;
    assert_eq!(left["healthBudgets"], json!([]));
    for (action, count) in [
        ("health_budget.set", 5),
        ("health_budget.remove", 3),
        ("maintenance.plan", 3),
        ("maintenance.change", 2),
        ("maintenance.cancel", 3),
    ] {
        assert_eq!(desk.audited(action).await, count, "{action}");
    }
}

async fn code_owns_budgets_and_windows_and_operators_may_cancel(database: TestDatabase) {
    let desk = Desk::open(database).await;
    deploy(&desk, SOURCE).await;
    let id = windows(&desk, "Database move").await[0].2;
    let other = input("Other", "2026-03-02T12:00:00Z", "2026-03-02T14:00:00Z");
    for (query, variables) in [
        (SET, json!({ "tag": "billing" })),
        (
            "mutation($tag: String!) { removeHealthBudget(tag: $tag) { id } }",
            json!({ "tag": "billing" }),
        ),
        (
            "mutation($id: UUID!, $input: MaintenanceInput!) {
            changeMaintenance(id: $id, input: $input) { window { id } } }",
            json!({ "id": id, "input": other }),
        ),
    ] {
        let error = desk.refused(query, variables).await;
        assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
        assert!(error["message"].as_str().unwrap().contains("the module \"health\""), "{error}");
    }
    assert_eq!(drifted(&desk).await, json!([]));
    desk.ask(CANCEL, json!({ "id": id })).await;
    assert_eq!(
        drifted(&desk).await,
        json!([{ "kind": "maintenance_window", "name": "Database move", "side": "OPERATORS",
            "by": "ada", "reason": "postponed",
            "fields": [{ "path": "state", "before": "planned", "after": "cancelled" }] }])
    );
    // The same declaration does not plan again what an operator has cancelled; other times do.
    assert_eq!(deploy(&desk, SOURCE).await, [""; 0]);
    // Nothing is left of the window to differ once its declared end is past.
    desk.clock.set("2026-03-02T23:30:00Z".parse().unwrap());
    assert_eq!(drifted(&desk).await, json!([]));
    let moved = SOURCE.replace("2026-03-02T2", "2026-03-09T2");
    assert_eq!(deploy(&desk, &moved).await, ["CREATE maintenance_window Database move"]);
    let mut found = windows(&desk, "Database move").await;
    found.sort_by_key(|(state, ..)| state.clone());
    let found: Vec<_> = found.iter().map(|(state, module, _)| (&**state, module)).collect();
    assert_eq!(found, [("CANCELLED", &Value::Null), ("PLANNED", &json!("health"))]);
    assert_eq!(drifted(&desk).await, json!([]));
}

async fn a_change_behind_the_commands_is_drift_and_is_corrected(database: TestDatabase) {
    let desk = Desk::open(database).await;
    deploy(&desk, SOURCE).await;
    let id = windows(&desk, "Database move").await[0].2;
    let store = &desk.database.store;
    let tx = store.begin().await.unwrap();
    let missed = health_budget::Entity::update_many()
        .col_expr(health_budget::Column::Missed, Expr::value(9_i64))
        .filter(health_budget::Column::Tag.eq("billing"));
    missed.exec(&tx).await.unwrap();
    let removed = health_budget::Entity::delete_many();
    removed.filter(health_budget::Column::Tag.eq("reports")).exec(&tx).await.unwrap();
    let ticket = ActiveModel { ticket: Set(Some("OPS-43".to_owned())), ..ActiveModel::default() };
    maintenance::update(&tx, id, ticket).await.unwrap();
    store.commit(tx).await.unwrap();
    let found = drifted(&desk).await;
    let found: Vec<_> = found.as_array().unwrap().iter().collect();
    let names: Vec<_> = found.iter().map(|one| (&one["name"], &one["side"])).collect();
    let module = json!("MODULE");
    assert_eq!(
        names,
        [
            (&json!("billing"), &module),
            (&json!("reports"), &module),
            (&json!("Database move"), &module)
        ]
    );
    assert_eq!(
        found[0]["fields"],
        json!([{ "path": "missed", "before": "0", "after": "9" }]),
        "{found:?}"
    );
    assert_eq!(
        deploy(&desk, SOURCE).await,
        [
            "UPDATE health_budget billing",
            "  missed: 9 -> 0",
            "CREATE health_budget reports",
            "UPDATE maintenance_window Database move",
            "  ticket: OPS-43 -> OPS-42",
        ]
    );
    assert_eq!(drifted(&desk).await, json!([]));
}

async fn drift_of_budgets_and_windows_is_adopted_or_reverted(database: TestDatabase) {
    let desk = Desk::open(database).await;
    deploy(&desk, SOURCE).await;
    let id = windows(&desk, "Database move").await[0].2;
    desk.ask(CANCEL, json!({ "id": id })).await;
    let change = async || {
        let store = &desk.database.store;
        let tx = store.begin().await.unwrap();
        let missed = health_budget::Entity::update_many()
            .col_expr(health_budget::Column::Missed, Expr::value(9_i64))
            .filter(health_budget::Column::Tag.eq("billing"));
        missed.exec(&tx).await.unwrap();
        store.commit(tx).await.unwrap();
    };
    let settle = async |mutation: &str| {
        let digest = "{ moduleDrift(name: \"health\") { digest } }";
        let digest = desk.ask(digest, json!({})).await["moduleDrift"]["digest"].take();
        let query = format!(
            "mutation($digest: String!) {{ {mutation}ModuleDrift(name: \"health\",
                digest: $digest, reason: \"agreed\"{}) {{ settled }} }}",
            if mutation == "revert" { ", missed: SKIP" } else { "" }
        );
        let settled = desk.ask(&query, json!({ "digest": digest })).await;
        assert_eq!(settled[format!("{mutation}ModuleDrift")]["settled"], 2);
        assert_eq!(drifted(&desk).await, json!([]));
    };
    change().await;
    settle("revert").await;
    // The window is planned again, and the budget is the declared one.
    let planned = windows(&desk, "Database move").await;
    assert_eq!(planned.iter().filter(|(state, ..)| state == "PLANNED").count(), 1);
    assert_eq!(deploy(&desk, SOURCE).await, [""; 0]);
    let id = planned.iter().find(|(state, ..)| state == "PLANNED").unwrap().2;
    desk.ask(CANCEL, json!({ "id": id })).await;
    change().await;
    settle("adopt").await;
    // The declaration has the budget as it is, and the cancelled window no more.
    let there = desk.ask(THERE, json!({})).await;
    assert_eq!(there["healthBudgets"][0]["missed"]["own"], 9);
    assert_eq!(there["maintenanceWindows"]["nodes"].as_array().unwrap().len(), 1);
}

async fn a_changed_window_says_when_it_was_changed(database: TestDatabase) {
    const CHANGED: &str = "{ modules { nodes { changedAt } } }";
    const MOVE: &str = "module: health\nmaintenance_windows:\n  Move:\n    \
        start: 2026-03-02T22:00:00Z\n    end: 2026-03-02T23:30:00Z\n";
    let desk = Desk::open(database).await;
    deploy(&desk, MOVE).await;
    let planned = desk.ask(CHANGED, json!({})).await;
    assert_eq!(planned["modules"]["nodes"][0]["changedAt"], "2026-03-01T12:00:00Z");
    desk.clock.set("2026-03-01T13:00:00Z".parse().unwrap());
    deploy(&desk, &MOVE.replace("23:30", "23:50")).await;
    let changed = desk.ask(CHANGED, json!({})).await;
    assert_eq!(changed["modules"]["nodes"][0]["changedAt"], "2026-03-01T13:00:00Z");

    let id = windows(&desk, "Move").await[0].2;
    let store = &desk.database.store;
    let tx = store.begin().await.unwrap();
    let ticket = ActiveModel { ticket: Set(Some("OPS-43".to_owned())), ..ActiveModel::default() };
    maintenance::update(&tx, id, ticket).await.unwrap();
    store.commit(tx).await.unwrap();
    let drift = "{ moduleDrift(name: \"health\") { drifted { name at } } }";
    let drift = desk.ask(drift, json!({})).await;
    let expected = json!([{ "name": "Move", "at": "2026-03-01T13:00:00Z" }]);
    assert_eq!(drift["moduleDrift"]["drifted"], expected);
}

async fn an_export_of_budgets_and_windows_changes_nothing(database: TestDatabase) {
    const EXPORT: &str = "query($format: ModuleFormat!) {
        exportModules(format: $format) { module isByHand source } }";
    let desk = Desk::open(database).await;
    desk.ask(SET, json!({ "tag": "ops" })).await;
    let mut firewall = input("Firewall \"north\"", "2026-03-05T12:00:00Z", "2026-03-05T13:00:00Z");
    firewall["search"] = "tag:net".into();
    plan(&desk, &firewall).await;
    deploy(&desk, SOURCE).await;
    for format in ["YAML", "TOML"] {
        let answer = desk.ask(EXPORT, json!({ "format": format })).await;
        let files = answer["exportModules"].as_array().unwrap();
        assert_eq!(files.len(), 2, "{answer}");
        for file in files {
            let text = file["source"].as_str().unwrap();
            let adopt = file["isByHand"] == true;
            let again = json!({ "source": text, "format": format, "adopt": adopt, "dryRun": true });
            let adopted =
                ["ADOPT health_budget ops", "ADOPT maintenance_window Firewall \"north\""];
            let expected: &[&str] = if adopt { &adopted } else { &[] };
            assert_eq!(told(&desk, again).await, expected, "{text}");
        }
    }
    let answer = desk.ask(EXPORT, json!({ "format": "YAML" })).await;
    let files = answer["exportModules"].as_array().unwrap();
    let file = files.iter().find(|file| file["isByHand"] == true).unwrap();
    let text = file["source"].as_str().unwrap();
    let refused = desk.refused(DEPLOY, json!({ "source": text })).await;
    assert!(refused["message"].as_str().unwrap().contains("adopt it"), "{refused}");
    let changed = text.replace("missed: 7", "missed: 8");
    assert_eq!(
        told(&desk, json!({ "source": changed, "adopt": true })).await,
        [
            "ADOPT health_budget ops",
            "  missed: 7 -> 8",
            "ADOPT maintenance_window Firewall \"north\"",
        ]
    );
    assert_eq!(desk.audited("module.adopt").await, 2);
    // What one module declares, another one cannot have.
    let stolen = SOURCE.replace("module: health", "module: thief");
    let refused = desk.refused(DEPLOY, json!({ "source": stolen, "adopt": true })).await;
    assert!(refused["message"].as_str().unwrap().contains("\"health\""), "{refused}");
}

async fn a_window_that_has_begun_or_is_over_is_left_alone(database: TestDatabase) {
    const MOVE: &str = "module: health\nmaintenance_windows:\n  Move:\n    \
        start: 2026-03-02T22:00:00Z\n    end: 2026-03-02T23:30:00Z\n";
    let desk = Desk::open(database).await;
    desk.clock.set("2026-03-02T22:30:00Z".parse().unwrap());
    // A window that is deployed late begins with the deployment.
    assert_eq!(deploy(&desk, MOVE).await, ["CREATE maintenance_window Move"]);
    let there = desk.ask(THERE, json!({})).await;
    assert_eq!(there["maintenanceWindows"]["nodes"][0]["startsAt"], "2026-03-02T22:30:00Z");
    desk.clock.set("2026-03-02T22:40:00Z".parse().unwrap());
    assert_eq!(deploy(&desk, MOVE).await, [""; 0]);
    assert_eq!(drifted(&desk).await, json!([]));
    let longer = MOVE.replace("23:30", "23:50");
    assert_eq!(
        deploy(&desk, &longer).await,
        ["UPDATE maintenance_window Move", "  end: 2026-03-02T23:30:00Z -> 2026-03-02T23:50:00Z",]
    );
    // The end is past, and the engine has not ended the window yet.
    desk.clock.set("2026-03-03T00:00:00Z".parse().unwrap());
    assert_eq!(deploy(&desk, &longer).await, [""; 0]);
    end(&desk, windows(&desk, "Move").await[0].2).await;
    assert_eq!(deploy(&desk, &longer).await, [""; 0]);
    assert_eq!(drifted(&desk).await, json!([]));
    assert_eq!(
        desk.ask("{ modules { nodes { name } } }", json!({})).await["modules"]["nodes"],
        json!([])
    );
    // It is history. Declared for another day, it is another window.
    let next = longer.replace("03-02T", "03-09T");
    assert_eq!(deploy(&desk, &next).await, ["CREATE maintenance_window Move"]);
    let found = windows(&desk, "Move").await;
    assert_eq!(found.len(), 2);
    assert_eq!(found.iter().filter(|(_, module, _)| *module == json!("health")).count(), 1);
    // A module whose windows are all over has nothing to remove, and never plans them again.
    deploy(&desk, "module: health").await;
    assert_eq!(deploy(&desk, &longer).await, [""; 0]);
    assert_eq!(windows(&desk, "Move").await.len(), 2);
}

async fn a_window_that_is_deployed_a_moment_before_its_start_stays_as_it_is(
    database: TestDatabase,
) {
    const MOVE: &str = "module: health\nmaintenance_windows:\n  Move:\n    \
        start: 2026-03-02T22:00:00Z\n    end: 2026-03-02T23:30:00Z\n";
    let desk = Desk::open(database).await;
    // A window that would begin within a second begins at once.
    desk.clock.set("2026-03-02T21:59:59.500Z".parse().unwrap());
    assert_eq!(deploy(&desk, MOVE).await, ["CREATE maintenance_window Move"]);
    let there = desk.ask(THERE, json!({})).await;
    assert_eq!(there["maintenanceWindows"]["nodes"][0]["startsAt"], "2026-03-02T21:59:59.500Z");
    assert_eq!(drifted(&desk).await, json!([]));
    // The engine has begun its pauses, so its start may not change.
    let id = windows(&desk, "Move").await[0].2;
    let store = &desk.database.store;
    let tx = store.begin().await.unwrap();
    let active = ActiveModel { state: Set(State::Active), ..ActiveModel::default() };
    maintenance::update(&tx, id, active).await.unwrap();
    store.commit(tx).await.unwrap();
    for now in ["2026-03-02T21:59:59.900Z", "2026-03-02T22:30:00Z"] {
        desk.clock.set(now.parse().unwrap());
        assert_eq!(deploy(&desk, MOVE).await, [""; 0], "{now}");
        assert_eq!(drifted(&desk).await, json!([]), "{now}");
    }
    let longer = MOVE.replace("23:30", "23:50");
    assert_eq!(
        deploy(&desk, &longer).await,
        ["UPDATE maintenance_window Move", "  end: 2026-03-02T23:30:00Z -> 2026-03-02T23:50:00Z"]
    );
}

async fn a_title_of_several_windows_is_not_adopted(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for day in ["2026-03-05", "2026-03-06"] {
        let (from, to) = (format!("{day}T12:00:00Z"), format!("{day}T13:00:00Z"));
        plan(&desk, &input("Database move", &from, &to)).await;
    }
    let refused = desk.refused(DEPLOY, json!({ "source": SOURCE, "adopt": true })).await;
    assert_eq!(refused["extensions"]["field"], "maintenance_windows.Database move.title");
    assert!(refused["message"].as_str().unwrap().contains("several"), "{refused}");
    let there = desk.ask(THERE, json!({})).await;
    assert_eq!(there["healthBudgets"], json!([]), "nothing of the deployment stays");
}

/// What two deployments at the same moment would write is refused by the database.
async fn a_module_declares_a_title_once(database: TestDatabase) {
    let desk = Desk::open(database).await;
    deploy(&desk, SOURCE).await;
    let store = &desk.database.store;
    let id = windows(&desk, "Database move").await[0].2;
    let row = maintenance::by_id(store.read(), id).await.unwrap().unwrap();
    let copy = |module: Option<&str>| {
        let module = module.map(str::to_owned);
        maintenance_window::Model { id: Uuid::now_v7(), module, ..row.clone() }.into_active_model()
    };
    let tx = store.begin().await.unwrap();
    // People may plan several windows of one title, and another module has titles of its own.
    for module in [None, None, Some("other")] {
        maintenance::insert(&tx, copy(module)).await.unwrap();
    }
    let refused = maintenance::insert(&tx, copy(Some("health"))).await.unwrap_err();
    let constraint = Constraint::WindowTitle;
    assert!(matches!(refused, StoreError::Broken { constraint: it } if it == constraint));
    tx.rollback().await.unwrap();
}

async fn a_mistake_about_budgets_and_windows_changes_nothing_and_names_its_place(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    desk.ask(SET, json!({ "tag": "ops" })).await;
    plan(&desk, &input("Firewall", "2026-03-05T12:00:00Z", "2026-03-05T13:00:00Z")).await;
    let before = desk.ask(THERE, json!({})).await;
    let with = |from: &str, to: &str| {
        assert!(SOURCE.contains(from), "{from}");
        SOURCE.replacen(from, to, 1)
    };
    let (budget, window) = ("health_budgets.billing", "maintenance_windows.Database move");
    for (bad, field, said) in [
        (with("failed: 3", "faild: 3"), "source".to_owned(), "line 4"),
        (with("late: 5s", "span: 90s"), "source".to_owned(), "whole minutes"),
        (with("missed: latest", "missed: last"), "source".to_owned(), "line 11"),
        (with("    end: 2026-03-02T23:30:00Z\n", ""), "source".to_owned(), "end"),
        (with("missed: 0, failed: 3, late: 5s", "span: 30m"), budget.to_owned(), "limits nothing"),
        (with("failed: 3", "failed: -1"), format!("{budget}.failed"), "0 to"),
        (with("late: 5s", "late: 2d"), format!("{budget}.late"), "86400000"),
        (with("late: 5s", "span: 25h"), format!("{budget}.span"), "1440"),
        (with("billing:", "b illing:"), "health_budgets.b illing.tag".to_owned(), "A-Z"),
        (with("reports:", "ops:"), "health_budgets.ops".to_owned(), "by hand"),
        (with("tag:billing", "tga:billing"), format!("{window}.search"), "tga"),
        (with("T23:30", "T21:30"), format!("{window}.end"), "not after"),
        (with("end: 2026-03-02", "end: 2026-05-02"), format!("{window}.end"), "31 days"),
        (
            with("start: 2026-03-02T22:00:00Z", "start: 2028-03-02T22:00:00Z")
                .replace("end: 2026-03-02", "end: 2028-03-02"),
            format!("{window}.start"),
            "366 days",
        ),
        (with("OPS-42", &"x".repeat(201)), format!("{window}.ticket"), "201"),
        (
            with("Database move", "'Database move '"),
            format!("{window} .title"),
            "ends with a space",
        ),
        (
            with("Database move", "Firewall"),
            "maintenance_windows.Firewall.title".to_owned(),
            "by hand",
        ),
    ] {
        let error = desk.refused(DEPLOY, json!({ "source": bad })).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
        let named = error["extensions"]["field"].as_str().unwrap();
        assert!(named.starts_with(&field), "{field}: {error}");
        assert!(error["message"].as_str().unwrap().contains(said), "{said}: {error}");
    }
    assert_eq!(desk.ask(THERE, json!({})).await, before);
}

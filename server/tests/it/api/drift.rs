//! Adopting and reverting the drift of a module in one step.

use carillon::access::{Grant, Grants, Viewer};
use entity::{alert_rule, concurrency_group, schedule, user::Role};
use sea_orm::{ActiveValue::Set, ConnectionTrait, EntityTrait};
use serde_json::{Value, json};

use super::{
    desk::{Desk, viewer},
    maintenance::{hold, input, plan},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    adopted_drift_is_what_the_module_declares,
    reverted_drift_is_gone_and_the_objects_are_as_declared,
    a_mute_is_reverted_and_never_adopted,
    an_object_that_is_gone_is_made_again_or_no_longer_declared,
    an_adopted_note_gives_way_to_the_file_once_more,
    a_drift_that_was_not_seen_is_not_settled,
    a_maintenance_window_keeps_its_pauses,
    a_revert_that_is_refused_undoes_no_deployment_and_no_cancellation,
    a_changed_context_is_drift_even_for_people_who_may_not_see_it,
);

const SOURCE: &str = r#"
module: shop
groups: { reports: 2 }
schedules:
  asleep: { when: "0 3 * * *", paused: true, task: { target: { noop: {} } } }
  nightly: { when: "0 2 * * *", note: as coded, group: reports, task: { target: { noop: {} } } }
"#;
const DEPLOY: &str = "mutation($source: String!) { deployModule(source: $source) {
    changes { action kind name } } }";
const DRIFT: &str = "query($name: String! = \"shop\") { moduleDrift(name: $name) {
    digest deployedBy deployedAt drifted { kind name side fields { path before after } } } }";
const ADOPT: &str = "mutation($name: String! = \"shop\", $digest: String!, $key: String) {
    adoptModuleDrift(name: $name, digest: $digest, reason: \"it is better\", idempotencyKey: $key) {
        settled drift { deployedAt drifted { kind name } } } }";
const REVERT: &str = "mutation($name: String! = \"shop\", $digest: String!, $key: String) {
    revertModuleDrift(
        name: $name, digest: $digest, missed: SKIP, reason: \"as agreed\", idempotencyKey: $key
    ) { settled drift { drifted { kind name } } } }";
const STATES: &str = "{ asleep: schedule(name: \"asleep\") { state pause { reason } }
    nightly: schedule(name: \"nightly\") { state note }
    concurrencyGroups { name maxRuns } }";

async fn drift(desk: &Desk, name: &str) -> Value {
    desk.ask(DRIFT, json!({ "name": name })).await["moduleDrift"].take()
}

/// Changes the limit of the group past the commands.
async fn widen(desk: &Desk) {
    let store = &desk.database.store;
    let tx = store.begin().await.unwrap();
    let wider = concurrency_group::ActiveModel {
        max_runs: Set(7),
        ..concurrency_group::ActiveModel::default()
    };
    concurrency_group::Entity::update_many().set(wider).exec(&tx).await.unwrap();
    store.commit(tx).await.unwrap();
}

async fn write(desk: &Desk, sql: &str) {
    let store = &desk.database.store;
    let tx = store.begin().await.unwrap();
    tx.execute_raw(store.dialect().statement(sql, [])).await.unwrap();
    store.commit(tx).await.unwrap();
}

/// Lets a deployment of the module take place as soon as a transaction changes the group.
async fn deploy_meanwhile(desk: &Desk) {
    const OTHER: &str = r#"{"groups": {"reports": {"limit": 3}}}"#;
    if !desk.database.store.dialect().is_postgres() {
        let trigger = format!(
            "CREATE TRIGGER meanwhile AFTER UPDATE ON concurrency_group \
             BEGIN UPDATE module SET declared = '{OTHER}'; END"
        );
        return write(desk, &trigger).await;
    }
    let function = format!(
        "CREATE FUNCTION meanwhile() RETURNS trigger LANGUAGE plpgsql AS \
         'BEGIN UPDATE module SET declared = ''{OTHER}''; RETURN NEW; END'"
    );
    write(desk, &function).await;
    let trigger = "CREATE TRIGGER meanwhile AFTER UPDATE ON concurrency_group FOR EACH ROW \
        EXECUTE FUNCTION meanwhile()";
    write(desk, trigger).await;
}

/// Deploys the module, and changes something of every kind: a pause, a note, a schedule that begins
/// paused, and, past the commands, a group. Returns the drift.
async fn drifted(desk: &Desk) -> Value {
    desk.ask(DEPLOY, json!({ "source": SOURCE })).await;
    let ids =
        "{ asleep: schedule(name: \"asleep\") { id } nightly: schedule(name: \"nightly\") { id } }";
    let ids = desk.ask(ids, json!({})).await;
    let (asleep, nightly) = (&ids["asleep"]["id"], &ids["nightly"]["id"]);
    let change = "mutation($asleep: UUID!, $nightly: UUID!) {
        resumeSchedule(id: $asleep) { schedule { id } }
        annotateSchedule(id: $nightly, note: \"ask Bo\") { schedule { id } }
        pauseSchedule(id: $nightly, reason: \"stock-taking\") { schedule { id } } }";
    desk.ask(change, json!({ "asleep": asleep, "nightly": nightly })).await;
    widen(desk).await;
    let drift = drift(desk, "shop").await;
    let told = |one: &Value| {
        let field = &one["fields"][0];
        json!([
            one["kind"],
            one["name"],
            one["side"],
            field["path"],
            field["before"],
            field["after"]
        ])
    };
    let told: Vec<Value> = drift["drifted"].as_array().unwrap().iter().map(told).collect();
    assert_eq!(
        json!(told),
        json!([
            ["group", "reports", "MODULE", "limit", "2", "7"],
            ["schedule", "asleep", "OPERATORS", "paused", "true", null],
            ["schedule", "nightly", "OPERATORS", "note", "as coded", "ask Bo"],
            ["schedule", "nightly", "OPERATORS", "paused", null, "true"],
        ])
    );
    drift
}

async fn adopted_drift_is_what_the_module_declares(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let seen = drifted(&desk).await;
    let call = json!({ "digest": seen["digest"], "key": "k" });
    let before = desk.ask(STATES, json!({})).await;
    let adopted = desk.ask(ADOPT, call.clone()).await;
    let expected = json!({ "settled": 4,
        "drift": { "deployedAt": seen["deployedAt"], "drifted": [] } });
    assert_eq!(adopted["adoptModuleDrift"], expected);
    assert_eq!(desk.ask(ADOPT, call).await, adopted, "the repeated call");
    assert_eq!(desk.ask(STATES, json!({})).await, before, "adopting changes no object");
    assert_eq!(desk.audited("module.adopt_drift").await, 1);

    let audit = "{ auditEvents(filter: { action: \"module.adopt_drift\" }) {
        nodes { subject reason before after } } }";
    let audit = desk.ask(audit, json!({})).await;
    let entry = &audit["auditEvents"]["nodes"][0];
    assert_eq!((&entry["subject"], &entry["reason"]), (&json!("shop"), &json!("it is better")));
    assert_eq!(entry["before"]["schedule nightly"], json!({ "note": "as coded", "paused": null }));
    assert_eq!(entry["after"]["schedule nightly"], json!({ "note": "ask Bo", "paused": "true" }));

    // The exported file is what the module declares now.
    let export = "{ exportModules(module: \"shop\") { source } }";
    let exported = desk.ask(export, json!({})).await;
    let source = exported["exportModules"][0]["source"].as_str().unwrap();
    for text in ["reports: 7", "ask Bo", "paused: true"] {
        assert!(source.contains(text), "{source}");
    }
    let again = desk.ask(DEPLOY, json!({ "source": source })).await;
    let changes = again["deployModule"]["changes"].as_array().unwrap();
    assert!(changes.iter().all(|change| change["action"] == "UNCHANGED"), "{again}");
    assert_eq!(drift(&desk, "shop").await["drifted"], json!([]));
}

async fn reverted_drift_is_gone_and_the_objects_are_as_declared(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let seen = drifted(&desk).await;
    let call = json!({ "digest": seen["digest"], "key": "k" });
    let reverted = desk.ask(REVERT, call.clone()).await;
    assert_eq!(reverted["revertModuleDrift"], json!({ "settled": 4, "drift": { "drifted": [] } }));
    assert_eq!(desk.ask(REVERT, call).await, reverted, "the repeated call");
    assert_eq!(
        desk.ask(STATES, json!({})).await,
        json!({
            "asleep": { "state": "PAUSED", "pause": { "reason": "as agreed" } },
            "nightly": { "state": "ACTIVE", "note": "as coded" },
            "concurrencyGroups": [{ "name": "reports", "maxRuns": 2 }],
        })
    );
    for action in ["module.revert_drift", "module.deploy"] {
        let audit = "query($action: String) { auditEvents(filter: { action: $action }) {
            nodes { reason } } }";
        let audit = desk.ask(audit, json!({ "action": action })).await;
        let entries = audit["auditEvents"]["nodes"].as_array().unwrap();
        assert!(entries.iter().any(|entry| entry["reason"] == "as agreed"), "{action}: {audit}");
    }
    assert_eq!(desk.audited("schedule.resume").await, 2, "by hand, and by the revert");
}

const WATCH: &str = "module: watch
alert_channels: { ops: { kind: webhook, url: 'https://hooks.example/x' } }
alert_rules: { billing: { on: [failed], channels: [ops] } }
";

async fn an_object_that_is_gone_is_made_again_or_no_longer_declared(database: TestDatabase) {
    const RULES: &str = "{ alertRules { name module } }";
    let desk = Desk::open(database).await;
    desk.ask(DEPLOY, json!({ "source": WATCH })).await;
    let made = desk.ask(RULES, json!({})).await;
    assert_eq!(made["alertRules"], json!([{ "name": "billing", "module": "watch" }]));
    let vanish = async || {
        let store = &desk.database.store;
        let tx = store.begin().await.unwrap();
        alert_rule::Entity::delete_many().exec(&tx).await.unwrap();
        store.commit(tx).await.unwrap();
        let drift = drift(&desk, "watch").await;
        let fields = json!([{ "path": "", "before": "declared", "after": null }]);
        let gone = json!([{ "kind": "alert_rule", "name": "billing", "side": "MODULE",
            "fields": fields }]);
        assert_eq!(drift["drifted"], gone);
        json!({ "name": "watch", "digest": drift["digest"] })
    };
    let reverted = desk.ask(REVERT, vanish().await).await;
    let settled = json!({ "settled": 1, "drift": { "drifted": [] } });
    assert_eq!(reverted["revertModuleDrift"], settled);
    assert_eq!(desk.ask(RULES, json!({})).await, made, "made again");

    let adopted = desk.ask(ADOPT, vanish().await).await;
    assert_eq!(adopted["adoptModuleDrift"]["settled"], 1);
    assert_eq!(drift(&desk, "watch").await["drifted"], json!([]));
    assert_eq!(desk.ask(RULES, json!({})).await["alertRules"], json!([]));
}

async fn an_adopted_note_gives_way_to_the_file_once_more(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let seen = drifted(&desk).await;
    desk.ask(ADOPT, json!({ "digest": seen["digest"] })).await;
    // The old file says something else than the module has declared since.
    desk.ask(DEPLOY, json!({ "source": SOURCE })).await;
    let states = desk.ask(STATES, json!({})).await;
    assert_eq!(states["nightly"], json!({ "state": "PAUSED", "note": "as coded" }));
    assert_eq!(states["concurrencyGroups"], json!([{ "name": "reports", "maxRuns": 2 }]));
}

async fn a_mute_is_reverted_and_never_adopted(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.ask(DEPLOY, json!({ "source": WATCH })).await;
    let rule = desk.ask("{ alertRules { id } }", json!({})).await["alertRules"][0]["id"].take();
    let mute = "mutation($id: UUID!) { muteAlertRule(id: $id, until: \"2026-03-01T13:00:00Z\",
        reason: \"release\") { rule { id } } }";
    desk.ask(mute, json!({ "id": rule })).await;
    let seen = drift(&desk, "watch").await;
    let call = json!({ "name": "watch", "digest": seen["digest"] });
    let adopted = desk.ask(ADOPT, call.clone()).await;
    assert_eq!(adopted["adoptModuleDrift"]["settled"], 0);
    assert_eq!(desk.audited("module.adopt_drift").await, 0, "nothing was adopted");
    assert_eq!(drift(&desk, "watch").await, seen);
    let reverted = desk.ask(REVERT, call).await;
    assert_eq!(reverted["revertModuleDrift"], json!({ "settled": 1, "drift": { "drifted": [] } }));
    let rules = desk.ask("{ alertRules { mutedUntil } }", json!({})).await;
    assert_eq!(rules["alertRules"], json!([{ "mutedUntil": null }]));
}

async fn a_drift_that_was_not_seen_is_not_settled(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let seen = drifted(&desk).await;
    let annotate = "mutation($id: UUID!) { annotateSchedule(id: $id, note: \"ask Cy\") {
        schedule { id } } }";
    let found = desk.ask("{ schedule(name: \"nightly\") { id } }", json!({})).await;
    desk.ask(annotate, json!({ "id": found["schedule"]["id"] })).await;
    let before = drift(&desk, "shop").await;
    assert_ne!(before["digest"], seen["digest"]);
    for query in [ADOPT, REVERT] {
        let error = desk.refused(query, json!({ "digest": seen["digest"] })).await;
        assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
        let none = desk.refused(query, json!({ "name": "none", "digest": "x" })).await;
        assert_eq!(none["extensions"]["code"], "NOT_FOUND", "{none}");
        let blank = query.replace("it is better", " ").replace("as agreed", " ");
        let error = desk.refused(&blank, json!({ "digest": before["digest"] })).await;
        assert_eq!(error["extensions"]["field"], "reason", "{error}");
    }
    assert_eq!(drift(&desk, "shop").await, before, "nothing was settled");
}

async fn a_maintenance_window_keeps_its_pauses(database: TestDatabase) {
    const NIGHTLY: &str = "{ schedule(name: \"nightly\") { id state note pause { reason } } }";
    let desk = Desk::open(database).await;
    desk.ask(DEPLOY, json!({ "source": SOURCE })).await;
    let window = input("Upgrade", "2026-03-01T12:00:00Z", "2026-03-01T14:00:00Z");
    let window = plan(&desk, &window).await;
    let id = desk.ask(NIGHTLY, json!({})).await["schedule"]["id"].take();
    hold(&desk, id.as_str().unwrap(), &window).await;
    assert_eq!(drift(&desk, "shop").await["drifted"], json!([]), "no operator has paused it");

    let annotate = "mutation($id: UUID!) { annotateSchedule(id: $id, note: \"ask Bo\") {
        schedule { id } } }";
    desk.ask(annotate, json!({ "id": id })).await;
    let seen = drift(&desk, "shop").await;
    let reverted = desk.ask(REVERT, json!({ "digest": seen["digest"] })).await;
    assert_eq!(reverted["revertModuleDrift"], json!({ "settled": 1, "drift": { "drifted": [] } }));
    let held = json!({ "id": id, "state": "PAUSED", "note": "as coded",
        "pause": { "reason": "Maintenance: Upgrade" } });
    assert_eq!(desk.ask(NIGHTLY, json!({})).await["schedule"], held);
    assert_eq!(desk.audited("schedule.resume").await, 0);

    desk.ask(annotate, json!({ "id": id })).await;
    let seen = drift(&desk, "shop").await;
    desk.ask(ADOPT, json!({ "digest": seen["digest"] })).await;
    let exported = desk.ask("{ exportModules(module: \"shop\") { source } }", json!({})).await;
    let source = exported["exportModules"][0]["source"].as_str().unwrap();
    assert_eq!(source.matches("paused: true").count(), 1, "only asleep is paused: {source}");
    assert!(source.contains("ask Bo"), "{source}");
    let deployed = desk.ask(DEPLOY, json!({ "source": source })).await;
    let changes = deployed["deployModule"]["changes"].as_array().unwrap();
    assert!(changes.iter().all(|change| change["action"] == "UNCHANGED"), "{deployed}");
    assert_eq!(desk.ask(NIGHTLY, json!({})).await["schedule"]["state"], "PAUSED");
}

async fn a_revert_that_is_refused_undoes_no_deployment_and_no_cancellation(database: TestDatabase) {
    const WINDOWS: &str = "{ maintenanceWindows { nodes { id state module } } }";
    let desk = Desk::open(database).await;
    let window = "{ Upgrade: { start: 2026-03-02T12:00:00Z, end: 2026-03-02T14:00:00Z } }";
    let source = format!("{SOURCE}maintenance_windows: {window}\n");
    desk.ask(DEPLOY, json!({ "source": source })).await;
    let windows = desk.ask(WINDOWS, json!({})).await;
    let cancel = "mutation($id: UUID!) { cancelMaintenance(id: $id, reason: \"postponed\") {
        window { id } } }";
    desk.ask(cancel, json!({ "id": windows["maintenanceWindows"]["nodes"][0]["id"] })).await;
    widen(&desk).await;
    let seen = drift(&desk, "shop").await;
    let cancelled = desk.ask(WINDOWS, json!({})).await;
    deploy_meanwhile(&desk).await;
    let error = desk.refused(REVERT, json!({ "digest": seen["digest"] })).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
    assert!(error["message"].as_str().unwrap().contains("in the meantime"), "{error}");
    assert_eq!(drift(&desk, "shop").await, seen);
    assert_eq!(desk.ask(WINDOWS, json!({})).await, cancelled);
    assert_eq!(desk.audited("maintenance.plan").await, 1);

    let postgres = desk.database.store.dialect().is_postgres();
    let table = if postgres { " ON concurrency_group" } else { "" };
    write(&desk, &format!("DROP TRIGGER meanwhile{table}")).await;
    let reverted = desk.ask(REVERT, json!({ "digest": seen["digest"] })).await;
    assert_eq!(reverted["revertModuleDrift"], json!({ "settled": 2, "drift": { "drifted": [] } }));
    let windows = desk.ask(WINDOWS, json!({})).await;
    let nodes = windows["maintenanceWindows"]["nodes"].as_array().unwrap();
    let mut states: Vec<_> = nodes.iter().map(|node| (&node["state"], &node["module"])).collect();
    states.sort_by_key(|(state, _)| state.to_string());
    let (shop, none) = (json!("shop"), Value::Null);
    assert_eq!(states, [(&json!("CANCELLED"), &none), (&json!("PLANNED"), &shop)]);
    assert_eq!(desk.audited("maintenance.plan").await, 2);
}

async fn a_changed_context_is_drift_even_for_people_who_may_not_see_it(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let source = "module: shop\nschedules:\n  nightly: { when: '0 2 * * *', context: { customer: old }, \
        task: { target: { noop: {} } } }";
    desk.ask(DEPLOY, json!({ "source": source })).await;
    let store = &desk.database.store;
    let tx = store.begin().await.unwrap();
    let context = schedule::ActiveModel {
        context: Set(json!({ "customer": "new" })),
        ..schedule::ActiveModel::default()
    };
    schedule::Entity::update_many().set(context).exec(&tx).await.unwrap();
    store.commit(tx).await.unwrap();
    let seen = drift(&desk, "shop").await;
    let field = json!([{ "path": "context.customer", "before": "old", "after": "new" }]);
    assert_eq!(seen["drifted"][0]["fields"], field);

    let grants = Grants::new(Some(Grant { role: Role::Viewer, sees_payloads: false }), []);
    let who = Viewer { grants, ..viewer(Role::Viewer) };
    let answer = desk.send_as(&who, DRIFT, json!({})).await;
    assert!(answer.errors.is_empty(), "{:?}", answer.errors);
    let masked = answer.data.into_json().unwrap();
    let field = json!([{ "path": "context", "before": "***", "after": "***" }]);
    assert_eq!(masked["moduleDrift"]["drifted"][0]["fields"], field);
}

//! Namespaces that are deleted, and restored.

use std::time::Duration;

use carillon::{
    access::{GroupGrantLimits, Viewer, token_hash, token_holder},
    store::{deleted_namespaces, namespaces, secrets},
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    desk::{CREATE, Desk},
    maintenance::{hold, plan},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_namespace_is_deleted_only_by_those_who_know_its_schedules,
    what_is_in_a_deleted_namespace_is_hidden_from_everyone,
    a_namespace_comes_back_with_everything_and_its_schedules_are_paused,
    what_a_window_held_comes_back_without_the_window,
    the_last_namespace_and_the_usual_one_stay,
);

const DELETE: &str = "mutation($name: String!, $count: Int, $key: String) {
    deleteNamespace(name: $name, reason: \"moved\", expectedScheduleCount: $count,
        idempotencyKey: $key) { id } }";
const UNDELETE: &str = "mutation($name: String!, $new: String) {
    undeleteNamespace(name: $name, newName: $new) { namespace { id name } } }";

/// A namespace with a schedule, a run, a secret and a member; returns the schedule, the run and the
/// key of an administrator of the instance.
async fn billing(desk: &Desk) -> (String, String, Uuid) {
    let (_, root) = desk.account("root", Some("ADMIN")).await;
    desk.account("bot", None).await;
    let make = "mutation { createNamespace(name: \"billing\") { namespace { id } }
        setSecret(input: { namespace: \"billing\", name: \"KEY\", value: \"12345678\" }) {
            secret { name } }
        setMembership(input: { user: \"bot\", namespace: \"billing\", role: EDITOR }) {
            membership { role } } }";
    desk.ask(make, json!({})).await;
    let input = json!({
        "namespace": "billing", "name": "invoices",
        "timing": { "expressions": ["@hourly"] }, "task": { "target": { "noop": {} } },
    });
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let schedule = made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned();
    let run = desk.trigger(&schedule).await;
    (schedule, run, root)
}

/// The answer to a person, which must not be an error.
async fn ask_as(desk: &Desk, who: &Viewer, query: &str) -> Value {
    let response = desk.send_as(who, query, json!({})).await;
    assert!(response.errors.is_empty(), "{query}: {:?}", response.errors);
    response.data.into_json().unwrap()
}

async fn a_namespace_is_deleted_only_by_those_who_know_its_schedules(database: TestDatabase) {
    let desk = Desk::open(database).await;
    billing(&desk).await;
    let impact = "{ namespaceImpact(namespace: \"billing\") {
        schedules workflows secrets members tokens liveRuns } }";
    let impact = desk.ask(impact, json!({})).await;
    let expected = json!({
        "schedules": 1, "workflows": 1, "secrets": 1, "members": 1, "tokens": 0, "liveRuns": 1
    });
    assert_eq!(impact["namespaceImpact"], expected);
    for count in [Value::Null, json!(0), json!(2)] {
        let error = desk.refused(DELETE, json!({ "name": "billing", "count": count })).await;
        assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
        assert!(error["message"].as_str().unwrap().contains("(1)"), "{error}");
    }
    let order = json!({ "name": "billing", "count": 1, "key": "once" });
    let done = desk.ask(DELETE, order.clone()).await;
    assert_eq!(desk.ask(DELETE, order).await, done, "a repeated call changes nothing");
    assert_eq!(desk.audited("namespace.delete").await, 1);
    let error = desk.refused(DELETE, json!({ "name": "billing", "count": 1 })).await;
    assert_eq!(error["extensions"]["code"], "NOT_FOUND", "{error}");
    // The name is free at once.
    let again = "mutation { createNamespace(name: \"billing\") { namespace { id } } }";
    let again = desk.ask(again, json!({})).await;
    assert_ne!(again["createNamespace"]["namespace"]["id"], done["deleteNamespace"]["id"]);
    desk.ask(DELETE, json!({ "name": "billing" })).await;
    let deleted = desk.ask("{ deletedNamespaces { nodes { name deletedBy } } }", json!({})).await;
    let one = json!({ "name": "billing", "deletedBy": "ada" });
    assert_eq!(deleted["deletedNamespaces"]["nodes"], json!([one, one]));
}

async fn what_is_in_a_deleted_namespace_is_hidden_from_everyone(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let (schedule, run, root) = billing(&desk).await;
    let token = "mutation { createApiToken(input: {
        name: \"ci\", role: EDITOR, namespace: \"billing\", serviceAccount: \"bot\" }) { secret } }";
    let token = desk.ask(token, json!({})).await;
    let hash = token_hash(token["createApiToken"]["secret"].as_str().unwrap()).unwrap();
    let store = &desk.database.store;
    let (read, clock) = (store.read(), desk.clock.clock());
    let id = namespaces::by_name(read, "billing").await.unwrap().unwrap().id;
    let rights = async || {
        let holder = token_holder(store, &clock, GroupGrantLimits::default(), &hash).await.unwrap();
        holder.and_then(|holder| holder.viewer("test".to_owned()).grants.within(id))
    };
    let named = ["KEY".to_owned()];
    assert!(rights().await.is_some());
    assert_eq!(secrets::of_names(read, id, &named).await.unwrap().len(), 1);
    let seen = "{ schedules(namespace: null) { totalCount } runs(namespace: null) { totalCount }
        namespaces { nodes { name } } }";
    let before = ask_as(&desk, &desk.person(root).await, seen).await;
    assert_eq!(before["runs"]["totalCount"], 1);

    desk.clock.advance(Duration::from_secs(1));
    desk.ask(DELETE, json!({ "name": "billing", "count": 1 })).await;
    assert_eq!(rights().await, None, "its token has no rights");
    assert!(secrets::of_names(read, id, &named).await.unwrap().is_empty());
    let key: Uuid = run.parse().unwrap();
    assert!(secrets::of_run(read, key, &named).await.unwrap().is_empty());
    let root = desk.person(root).await;
    let after = ask_as(&desk, &root, seen).await;
    assert_eq!(after["schedules"]["totalCount"], 0);
    assert_eq!(after["runs"]["totalCount"], 0);
    let of_run =
        desk.send_as(&root, &format!("{{ run(id: \"{run}\") {{ id }} }}"), json!({})).await;
    let of_run = of_run.data.into_json().unwrap();
    assert!(of_run.is_null() || of_run["run"].is_null(), "{of_run}");
    assert_eq!(after["namespaces"]["nodes"], json!([{ "name": "default" }]));
    for query in [
        format!("mutation {{ cancelRun(id: \"{run}\") {{ run {{ id }} }} }}"),
        format!("mutation {{ undeleteSchedule(id: \"{schedule}\") {{ schedule {{ id }} }} }}"),
        "{ secrets(namespace: \"billing\") { nodes { name } } }".to_owned(),
        format!("{{ schedules(namespace: \"billing~{id}\") {{ totalCount }} }}"),
    ] {
        assert_eq!(desk.code_for(&root, &query, json!({})).await, "NOT_FOUND", "{query}");
    }
    // The audit log still names it.
    let log = "{ auditEvents(first: 1) { nodes { action namespace } } }";
    let log = ask_as(&desk, &root, log).await;
    let entry = json!({ "action": "namespace.delete", "namespace": "billing" });
    assert_eq!(log["auditEvents"]["nodes"][0], entry);
}

async fn a_namespace_comes_back_with_everything_and_its_schedules_are_paused(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let (schedule, ..) = billing(&desk).await;
    let id = desk.ask(DELETE, json!({ "name": "billing", "count": 1 })).await;
    let id = &id["deleteNamespace"]["id"];
    let taken = "mutation { createNamespace(name: \"billing\") { namespace { id } } }";
    desk.ask(taken, json!({})).await;
    let error = desk.refused(UNDELETE, json!({ "name": "billing" })).await;
    assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
    let back = desk.ask(UNDELETE, json!({ "name": "billing", "new": "invoicing" })).await;
    let namespace = json!({ "id": id, "name": "invoicing" });
    assert_eq!(back["undeleteNamespace"]["namespace"], namespace);
    let found = "query($id: UUID!) { schedule(id: $id) { namespace state pause { by reason } }
        secrets(namespace: \"invoicing\") { nodes { name } }
        memberships(namespace: \"invoicing\") { nodes { user } } }";
    let found = desk.ask(found, json!({ "id": schedule })).await;
    let paused = json!({ "by": "ada", "reason": "its namespace was deleted and restored" });
    let expected = json!({ "namespace": "invoicing", "state": "PAUSED", "pause": paused });
    assert_eq!(found["schedule"], expected);
    assert_eq!(found["secrets"]["nodes"], json!([{ "name": "KEY" }]));
    assert_eq!(found["memberships"]["nodes"], json!([{ "user": "bot" }]));
    let resume = "mutation($id: UUID!) { resumeSchedule(id: $id) { schedule { state } } }";
    let resumed = desk.ask(resume, json!({ "id": schedule })).await;
    assert_eq!(resumed["resumeSchedule"]["schedule"]["state"], "ACTIVE");

    // After a week it is too late.
    desk.ask(DELETE, json!({ "name": "invoicing", "count": 1 })).await;
    desk.clock.advance(Duration::from_secs(8 * 86_400));
    let error = desk.refused(UNDELETE, json!({ "name": "invoicing" })).await;
    assert_eq!(error["extensions"]["code"], "NOT_FOUND", "{error}");
    let hidden = deleted_namespaces::hidden(desk.database.store.read()).await.unwrap();
    assert_eq!(hidden.len(), 1, "it is hidden until it is purged");
}

/// The engine ends the pauses of a cancelled window; none of these may be among them.
async fn what_a_window_held_comes_back_without_the_window(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let (schedule, ..) = billing(&desk).await;
    let times = json!({
        "namespace": "billing", "title": "Upgrade",
        "startsAt": "2026-03-01T12:00:00Z", "endsAt": "2026-03-01T15:00:00Z",
    });
    let window = plan(&desk, &times).await;
    hold(&desk, &schedule, &window).await;
    desk.ask(DELETE, json!({ "name": "billing", "count": 1 })).await;
    desk.ask(UNDELETE, json!({ "name": "billing" })).await;
    let cancel = "mutation($id: UUID!) { cancelMaintenance(id: $id, reason: \"moved\") {
        window { state } } }";
    let cancelled = desk.ask(cancel, json!({ "id": window["id"] })).await;
    assert_eq!(cancelled["cancelMaintenance"]["window"]["state"], "CANCELLED");
    let found = "query($id: UUID!) { schedule(id: $id) {
        state pause { by reason until window { id } } } }";
    let found = desk.ask(found, json!({ "id": schedule })).await;
    let paused = json!({
        "by": "ada", "reason": "its namespace was deleted and restored",
        "until": null, "window": null,
    });
    assert_eq!(found["schedule"], json!({ "state": "PAUSED", "pause": paused }));
}

async fn the_last_namespace_and_the_usual_one_stay(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let refused = async |name: &str| {
        let error = desk.refused(DELETE, json!({ "name": name })).await;
        assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
    };
    refused("default").await;
    let rename =
        "mutation { renameNamespace(name: \"default\", newName: \"home\") { namespace { id } } }";
    desk.ask(rename, json!({})).await;
    refused("home").await;
}

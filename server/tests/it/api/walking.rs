//! Every field of the schema, queried by callers without permission.
//!
//! The arguments are generated from the schema's types, with the keys of existing objects. So new
//! fields are queried as well; the test fails if a caller without permission gets an answer.

use carillon::access::{Grant, Grants, Viewer, ViewerKind};
use entity::user::Role;
use futures::StreamExt;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    desk::Desk,
    planted::PAYLOAD,
    walk::{Asked, Walk},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    nothing_is_answered_to_nobody,
    what_is_in_a_namespace_is_not_there_for_members_of_another,
    who_looks_changes_nothing_and_reads_no_payload,
    a_payload_is_nowhere_for_those_who_may_not_see_it,
);

/// Fields that belong to no namespace, only to the caller, or to the namespaces that the caller sees.
const ANYBODYS: [&str; 5] = ["me", "timezones", "namespaces", "namespaceStats", "apiTokens"];
/// Fields that all viewers of any namespace may see: they reveal nothing about schedules and runs.
const SHARED: [&str; 3] = ["serverNodes", "shards", "clusterEvents"];

pub(super) fn member_of(namespace: Uuid, role: Role) -> Viewer {
    let grant = Grant { role, sees_payloads: false };
    let grants = Grants::new(None, [(namespace, grant)]);
    Viewer::new(Uuid::from_u128(8), "eve", ViewerKind::User, grants, "192.0.2.8")
}

pub(super) async fn namespace(desk: &Desk, name: &str) -> Uuid {
    let found = carillon::store::namespaces::by_name(desk.database.store.read(), name).await;
    found.unwrap().unwrap().id
}

/// The first answer to a subscription.
pub(super) async fn first_event(desk: &Desk, who: Option<&Viewer>, text: &str) -> Value {
    let mut request = async_graphql::Request::new(format!("subscription {{ {text} }}"));
    if let Some(who) = who {
        request = request.data(who.clone());
    }
    let answer = desk.schema.execute_stream(request).next().await.unwrap();
    serde_json::to_value(&answer.errors).unwrap()
}

async fn nothing_is_answered_to_nobody(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let walk = Walk::begin(&desk).await;
    for (operation, root) in [("query", "Query"), ("mutation", "Mutation")] {
        for Asked { name, text } in walk.fields(root).iter().filter(|asked| asked.name != "me") {
            let query = format!("{operation} {{ {text} }}");
            let error = desk.refused_as(None, &query, json!({})).await;
            assert_eq!(error["extensions"]["code"], "UNAUTHENTICATED", "{name}: {error}");
        }
    }
    for Asked { name, text } in walk.fields("Subscription") {
        let errors = first_event(&desk, None, &text).await;
        assert_eq!(errors[0]["extensions"]["code"], "UNAUTHENTICATED", "{name}: {errors}");
    }
}

async fn what_is_in_a_namespace_is_not_there_for_members_of_another(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let walk = Walk::begin(&desk).await;
    let eve = member_of(namespace(&desk, "other").await, Role::Admin);
    for (operation, root) in [("query", "Query"), ("mutation", "Mutation")] {
        for Asked { name, text } in walk.fields(root) {
            if ANYBODYS.contains(&&*name) || SHARED.contains(&&*name) {
                continue;
            }
            let query = format!("{operation} {{ {text} }}");
            let response = desk.send_as(&eve, &query, json!({})).await;
            if response.errors.is_empty() {
                let data = response.data.into_json().unwrap();
                // A query with a list of keys answers with a null for each of them.
                let answer = match data[&*name].as_array().map(Vec::as_slice) {
                    Some([only]) => only,
                    _ => &data[&*name],
                };
                assert_eq!(answer, &Value::Null, "{query} was answered: {data}");
                continue;
            }
            let error = serde_json::to_value(&response.errors[0]).unwrap();
            let code = error["extensions"]["code"].as_str().unwrap();
            // If there are several inputs, the error names the one whose namespace does not exist.
            let refused = ["NOT_FOUND", "FORBIDDEN"].contains(&code)
                || error["extensions"]["problem"] == "does not exist";
            assert!(refused, "{query}: {error}");
        }
    }
    let followed = walk.fields("Subscription");
    for Asked { name, text } in followed.iter().filter(|asked| !SHARED.contains(&&*asked.name)) {
        let errors = first_event(&desk, Some(&eve), text).await;
        assert_eq!(errors[0]["extensions"]["code"], "NOT_FOUND", "{name}: {errors}");
    }
    // Nothing has changed.
    let count = "{ schedules { totalCount } namespaces { nodes { name } } }";
    let answer = desk.ask(count, json!({})).await;
    assert_eq!(answer["schedules"]["totalCount"], 1);
    assert_eq!(answer["namespaces"]["nodes"], json!([{ "name": "default" }, { "name": "other" }]));
}

async fn who_looks_changes_nothing_and_reads_no_payload(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let walk = Walk::begin(&desk).await;
    let viewer = member_of(namespace(&desk, "default").await, Role::Viewer);
    // Mutations of the caller's own objects: eve is not in the database, so she has none.
    let own = [
        "changePassword",
        "revokeSession",
        "createApiToken",
        "revokeApiToken",
        "createCalendarFeed",
        "revokeCalendarFeed",
        "updateMySettings",
        "saveView",
        "deleteView",
        "setFavourite",
    ];
    for Asked { name, text } in walk.fields("Mutation") {
        let code = desk.code_for(&viewer, &format!("mutation {{ {text} }}"), json!({})).await;
        let expected = if own.contains(&&*name) { "NOT_FOUND" } else { "FORBIDDEN" };
        assert_eq!(code, expected, "{text}");
    }
    let kept = [
        "users",
        "memberships",
        "auditEvents",
        "retentionPreview",
        "taskLog",
        "secrets",
        "exportModules",
        "calendarFeeds",
        "readWorkflow",
        "deletedNamespaces",
        "namespaceImpact",
        "brokers",
    ];
    for Asked { name, text } in walk.fields("Query") {
        let code = desk.code_for(&viewer, &format!("{{ {text} }}"), json!({})).await;
        let expected = if kept.contains(&&*name) { "FORBIDDEN" } else { "" };
        if name != "sessions" {
            assert_eq!(code, expected, "{text}");
        }
    }
    let run = walk.keys.iter().find(|(of, _)| *of == "run").unwrap();
    let text = format!("taskLog(runId: \"{}\") {{ cursor }}", run.1);
    let errors = first_event(&desk, Some(&viewer), &text).await;
    assert_eq!(errors[0]["extensions"]["code"], "FORBIDDEN");
}

async fn a_payload_is_nowhere_for_those_who_may_not_see_it(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let walk = Walk::begin(&desk).await;
    let home = namespace(&desk, "default").await;
    let viewer = member_of(home, Role::Viewer);
    let operator = member_of(home, Role::Operator);
    let stranger = member_of(namespace(&desk, "other").await, Role::Admin);
    let mut seen = Vec::new();
    for Asked { name, text } in walk.deep_fields() {
        let query = format!("{{ {text} }}");
        let whole = desk.send(Some(Role::Admin), &query, json!({})).await;
        assert!(whole.errors.is_empty(), "{query}: {:?}", whole.errors);
        if whole.data.to_string().contains(PAYLOAD) {
            seen.push(name);
        }
        for who in [&viewer, &operator, &stranger] {
            let answer = desk.send_as(who, &query, json!({})).await;
            let answer = serde_json::to_string(&answer).unwrap();
            assert!(!answer.contains(PAYLOAD), "{query}: {answer}");
        }
    }
    // The viewer must have seen these objects, otherwise this test proves nothing.
    for name in ["schedule", "run", "runs", "backfill", "taskLog", "overview", "exportModules"] {
        assert!(seen.iter().any(|seen| seen == name), "{name} of {seen:?}");
    }
    let run = |search: &str| format!("{{ runs(search: \"{search}\") {{ nodes {{ error }} }} }}");
    let found = desk.ask(&run("error:4111"), json!({})).await;
    assert_eq!(found["runs"]["nodes"].as_array().unwrap().len(), 1);
    // A search does not reveal the payload either.
    assert_eq!(desk.code_for(&viewer, &run("error:4111"), json!({})).await, "FORBIDDEN");
    let blind = desk.send_as(&viewer, &run("passes-through"), json!({})).await;
    assert_eq!(blind.data.into_json().unwrap()["runs"]["nodes"], json!([]));
    let cancel =
        "mutation { cancelRuns(which: { search: \"error:4111\", dryRun: true }) { matched } }";
    assert_eq!(desk.code_for(&operator, cancel, json!({})).await, "FORBIDDEN");
}

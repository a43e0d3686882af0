//! Relay's object identification, and the length of its lists.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    desk::{Desk, viewer},
    planted,
};
use crate::support::{TestDatabase, on_both};

on_both!(
    an_object_is_found_by_its_id_alone,
    an_object_that_is_foreign_is_not_there,
    a_list_says_how_long_it_is
);

const NODES: &str = "query ($ids: [ID!]!) { nodes(ids: $ids) {
    __typename id ... on Schedule { name } ... on Calendar { name } } }";

async fn an_object_is_found_by_its_id_alone(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let keys = planted::one_of_each(&desk, "default").await;
    let key = |word: &str| {
        let found = keys.iter().find(|(name, _)| *name == word);
        found.unwrap_or_else(|| panic!("no {word} in {keys:?}")).1.clone()
    };
    let types = [
        ("schedule", "Schedule"),
        ("workflow", "Workflow"),
        ("run", "Run"),
        ("fire", "Fire"),
        ("backfill", "Backfill"),
        ("calendar", "Calendar"),
        ("concurrencygroup", "ConcurrencyGroup"),
        ("maintenance", "MaintenanceWindow"),
    ];
    let ids: Vec<String> = types.iter().map(|(word, _)| key(word)).collect();
    let answer = desk.ask(NODES, json!({ "ids": ids })).await;
    for (found, ((_, kind), id)) in
        answer["nodes"].as_array().unwrap().iter().zip(types.iter().zip(&ids))
    {
        assert_eq!(found["__typename"], *kind, "{answer}");
        assert_eq!(found["id"], **id, "{answer}");
    }
    let one = "query ($id: ID!) { node(id: $id) { __typename id } }";
    let found = desk.ask(one, json!({ "id": ids[0] })).await;
    assert_eq!(found["node"]["__typename"], "Schedule");
    // An invalid id yields null in its place.
    let mixed = json!({ "ids": [Uuid::now_v7(), ids[2], "x", ids[2]] });
    let answer = desk.ask(NODES, mixed).await;
    let kinds: Vec<&Value> =
        answer["nodes"].as_array().unwrap().iter().map(|node| &node["__typename"]).collect();
    assert_eq!(kinds, [&Value::Null, &json!("Run"), &Value::Null, &json!("Run")]);
    let many: Vec<Uuid> = (0..101).map(|_| Uuid::now_v7()).collect();
    let error = desk.refused(NODES, json!({ "ids": many })).await;
    assert_eq!(error["extensions"]["field"], "ids", "{error}");
}

async fn an_object_that_is_foreign_is_not_there(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let keys = planted::one_of_each(&desk, "default").await;
    let ids: Vec<&String> = keys.iter().map(|(_, key)| key).collect();
    let mut foreign = viewer(entity::user::Role::Viewer);
    foreign.grants = carillon::access::Grants::default();
    for ids in ids.chunks(50) {
        let answer = desk.send_as(&foreign, NODES, json!({ "ids": ids })).await;
        if answer.errors.is_empty() {
            let answer = answer.data.into_json().unwrap();
            assert!(answer["nodes"].as_array().unwrap().iter().all(Value::is_null), "{answer}");
        }
    }
    let error = desk.refused_as(None, NODES, json!({ "ids": ids })).await;
    assert_eq!(error["extensions"]["code"], "UNAUTHENTICATED", "{error}");
}

async fn a_list_says_how_long_it_is(database: TestDatabase) {
    let desk = Desk::open(database).await;
    planted::one_of_each(&desk, "default").await;
    for number in 0..5 {
        let query = "mutation ($name: String!) { createSchedule(input: { name: $name,
            timing: { expressions: [\"@daily\"] }, task: { target: { noop: {} } } }) {
            schedule { id } } }";
        desk.ask(query, json!({ "name": format!("more-{number}") })).await;
        let secret = "mutation ($name: String!) { setSecret(input: { name: $name, value: \"12345678\" }) { secret { name } } }";
        desk.ask(secret, json!({ "name": format!("SECRET_{number}") })).await;
    }
    for list in [
        "schedules",
        "workflows",
        "calendars",
        "runs",
        "backfills",
        "modules",
        "namespaces",
        "users",
        "memberships",
        "apiTokens",
        "auditEvents",
        "secrets",
        "alerts",
        "notifications",
    ] {
        let all = desk
            .ask(
                &format!("{{ {list}(first: 200) {{ totalCount edges {{ cursor }} }} }}"),
                json!({}),
            )
            .await;
        let there = all[list]["edges"].as_array().unwrap().len();
        assert_eq!(all[list]["totalCount"], there, "{list}: {all}");
        // If the list has more rows than the page, the total is counted.
        let one = desk
            .ask(&format!("{{ {list}(first: 1) {{ totalCount edges {{ cursor }} }} }}"), json!({}))
            .await;
        assert_eq!(one[list]["totalCount"], there, "{list}: {one}");
        let Some(first) = one[list]["edges"][0]["cursor"].as_str() else { continue };
        let query = format!(
            "query ($after: String) {{ {list}(first: 1, after: $after) {{ totalCount }} }}"
        );
        let next = desk.ask(&query, json!({ "after": first })).await;
        assert_eq!(next[list]["totalCount"], there, "{list}: {next}");
    }
}

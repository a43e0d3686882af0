use carillon::store::nodes::Joining;
use serde_json::json;
use uuid::Uuid;

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(the_nodes_say_what_they_do_and_what_is_theirs, a_workflow_asks_for_tags);

async fn the_nodes_say_what_they_do_and_what_is_theirs(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let store = &desk.database.store;
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut ids = Vec::new();
    for (name, roles) in [("a", &["scheduler", "worker"][..]), ("b", &["scheduler"]), ("c", &[])] {
        let id = Uuid::now_v7();
        ids.push(id);
        let (roles, tags) = (words(roles), words(&["gpu"]));
        let (name, zone_data) = (name.to_owned(), "2026b".to_owned());
        let joining = Joining { id, name, roles, tags, zone_data, ..Joining::default() };
        store.join(&joining).await.unwrap();
    }
    store.hold_lease_if_free("recovery", ids[0], std::time::Duration::from_secs(60)).await.unwrap();
    store.drain(ids[1]).await.unwrap();
    let query = "{ nodes {
        name incarnation state roles tags runs zoneData silentMs clockOffsetMs firstShards
        secondShards leases { name epoch }
    } }";
    let answer = desk.ask(query, json!({})).await;
    let nodes = answer["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 3, "{answer}");
    assert_eq!(nodes[0]["roles"], json!(["scheduler", "worker"]));
    assert_eq!((&nodes[0]["state"], &nodes[1]["state"]), (&json!("ALIVE"), &json!("DRAINING")));
    assert_eq!((&nodes[0]["firstShards"], &nodes[1]["firstShards"]), (&json!(256), &json!(0)));
    assert_eq!(nodes[0]["leases"], json!([{ "name": "recovery", "epoch": 1 }]));
    assert_eq!(nodes[2]["tags"], json!(["gpu"]));
    assert!(nodes[0]["silentMs"].is_i64(), "{answer}");
}

async fn a_workflow_asks_for_tags(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let create = "mutation ($on: [String!]!) { createWorkflow(input: {
        name: \"train\", runsOn: $on, tasks: [{ name: \"main\", target: { noop: {} } }]
    }) { workflow { id version runsOn } } }";
    let error = desk.refused(create, json!({ "on": ["a b"] })).await;
    assert_eq!(error["extensions"]["field"], "runsOn", "{error}");
    let made = desk.ask(create, json!({ "on": ["gpu"] })).await["createWorkflow"].take();
    assert_eq!(made["workflow"]["runsOn"], json!(["gpu"]));
    let update = "mutation ($id: UUID!) { updateWorkflow(input: {
        id: $id, expectedVersion: 1, runsOn: []
    }) { workflow { version runsOn } } }";
    let id = &made["workflow"]["id"];
    let updated = desk.ask(update, json!({ "id": id })).await["updateWorkflow"].take();
    assert_eq!(updated["workflow"], json!({ "version": 2, "runsOn": [] }));
}

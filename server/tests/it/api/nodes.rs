use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use carillon::{
    store::{Cursor, nodes::JoiningNode},
    target::Policy,
};
use futures::{StreamExt, future};
use serde_json::json;
use uuid::Uuid;

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(
    the_nodes_show_their_roles_and_their_shards,
    the_runs_of_all_nodes_are_counted_once_for_all_followers,
    a_workflow_asks_for_tags,
    a_node_is_drained_and_taken_into_service_again,
);

async fn the_nodes_show_their_roles_and_their_shards(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let store = &desk.database.store;
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut ids = Vec::new();
    for (name, roles) in [("a", &["scheduler", "worker"][..]), ("b", &["scheduler"]), ("c", &[])] {
        let id = Uuid::now_v7();
        ids.push(id);
        let (roles, tags) = (words(roles), words(&["gpu"]));
        let (name, zone_data) = (name.to_owned(), "2026b".to_owned());
        let joining = JoiningNode { id, name, roles, tags, zone_data, ..JoiningNode::default() };
        store.join(&joining).await.unwrap();
    }
    store.hold_lease_if_free("recovery", ids[0], std::time::Duration::from_secs(60)).await.unwrap();
    store.drain(ids[1]).await.unwrap();
    let query = "{ nodes: serverNodes {
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

async fn the_runs_of_all_nodes_are_counted_once_for_all_followers(database: TestDatabase) {
    let counted = Arc::new(AtomicUsize::new(0));
    let count = counted.clone();
    let desk = Desk::with(database, Policy::default(), |store| {
        store.with_observer(move |sql| {
            count.fetch_add(usize::from(sql.contains("GROUP BY node_id")), Ordering::Relaxed);
        })
    })
    .await;
    let since = json!({ "since": Cursor::START.to_string() });
    let query = "subscription($since: String) { clusterEvents(since: $since) {
        node { name runs leases { name } } } }";
    let followers = (0..8).map(|_| desk.subscribe(query, since.clone()));
    let mut followers: Vec<_> = followers.collect();
    for name in ["a", "b", "c"] {
        let told = future::join_all(followers.iter_mut().map(StreamExt::next));
        let join = async {
            let (id, name) = (Uuid::now_v7(), name.to_owned());
            desk.database
                .store
                .join(&JoiningNode { id, name, ..JoiningNode::default() })
                .await
                .unwrap();
        };
        for event in tokio::join!(told, join).0 {
            let event = event.unwrap();
            assert!(event.errors.is_empty(), "{:?}", event.errors);
            let node = event.data.into_json().unwrap()["clusterEvents"]["node"].take();
            assert_eq!(node, json!({ "name": name, "runs": 0, "leases": [] }));
        }
    }
    let counted = counted.load(Ordering::Relaxed);
    assert!((3..12).contains(&counted), "{counted} times for 3 events and 8 followers");
}

async fn a_node_is_drained_and_taken_into_service_again(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let store = &desk.database.store;
    let mut ids = Vec::new();
    for name in ["a", "b"] {
        let (id, name) = (Uuid::now_v7(), name.to_owned());
        let roles = vec!["scheduler".to_owned(), "worker".to_owned()];
        let process = format!("process {name}");
        let joining = JoiningNode { id, name, roles, process, ..JoiningNode::default() };
        store.join(&joining).await.unwrap();
        ids.push((id, joining));
    }
    let [(first, joining), (second, _)] = ids.try_into().unwrap_or_else(|_| panic!("two nodes"));
    store.hold_lease_if_free("recovery", first, std::time::Duration::from_secs(60)).await.unwrap();
    let owners = "{ shards { number first second } }";
    let shards = desk.ask(owners, json!({})).await["shards"].take();
    assert_eq!(shards.as_array().unwrap().len(), 256);
    for name in ["a", "b"] {
        assert!(shards.as_array().unwrap().iter().any(|shard| shard["first"] == name), "{shards}");
    }

    let drain = "mutation($id: UUID!) { drainNode(id: $id, reason: \"a new disk\") {
        node { name state firstShards leases { name } drain { by reason } } } }";
    let node = desk.ask(drain, json!({ "id": first })).await["drainNode"]["node"].take();
    assert_eq!(
        node,
        json!({ "name": "a", "state": "DRAINED", "firstShards": 0, "leases": [],
            "drain": { "by": "ada", "reason": "a new disk" } })
    );
    let shards = desk.ask(owners, json!({})).await["shards"].take();
    let all_of_b = json!({ "first": "b", "second": null });
    for shard in shards.as_array().unwrap() {
        assert_eq!((&shard["first"], &shard["second"]), (&all_of_b["first"], &all_of_b["second"]));
    }
    let health = desk.ask("{ health { findings { code severity nodes } } }", json!({})).await;
    let findings = health["health"]["findings"].as_array().unwrap();
    let expected = json!({ "code": "drained", "severity": "WARNING", "nodes": ["a"] });
    assert!(findings.contains(&expected), "{findings:?}");

    // A process that was declared dead by mistake returns, and its node is still drained.
    let again = Uuid::now_v7();
    store.join(&JoiningNode { id: again, ..joining }).await.unwrap();
    let undrain = "mutation($id: UUID!) { undrainNode(id: $id) { node { state drain { by } } } }";
    let states = "{ serverNodes { name state } }";
    let nodes = desk.ask(states, json!({})).await["serverNodes"].take();
    assert_eq!(nodes[0], json!({ "name": "a", "state": "DRAINED" }));
    desk.clock.pass(std::time::Duration::from_millis(10));
    let node = desk.ask(undrain, json!({ "id": again })).await["undrainNode"]["node"].take();
    assert_eq!(node, json!({ "state": "ALIVE", "drain": null }));
    let log = "{ auditEvents { nodes { action subject reason } } }";
    let log = desk.ask(log, json!({})).await["auditEvents"]["nodes"].take();
    assert_eq!(log[1], json!({ "action": "node.drain", "subject": "a", "reason": "a new disk" }));
    // An earlier life of a node cannot be drained.
    let error = desk.refused(drain, json!({ "id": first })).await;
    assert_eq!(error["extensions"]["code"], "NOT_FOUND");
    let owner = super::desk::viewer(entity::user::Role::Editor);
    assert_eq!(desk.code_for(&owner, drain, json!({ "id": second })).await, "FORBIDDEN");
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

//! Subscriptions to all namespaces, while namespaces are created, deleted and restored.

use std::time::Duration;

use async_graphql::{Request, Response};
use carillon::{
    access::Viewer,
    store::{Cursor, reads::fire_feed::FirePosition},
};
use futures::{StreamExt, stream::BoxStream};
use serde_json::{Value, json};

use super::{
    desk::{CREATE, Desk},
    planted,
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_follower_of_all_namespaces_sees_one_that_is_created_later,
    a_follower_of_all_namespaces_sees_none_while_it_is_deleted,
);

const DELETE: &str = "mutation($name: String!, $count: Int) {
    deleteNamespace(name: $name, reason: \"moved\", expectedScheduleCount: $count) { id } }";

type Events = BoxStream<'static, Response>;

fn follow(desk: &Desk, who: &Viewer, query: &str) -> Events {
    desk.schema.execute_stream(Request::new(query).data(who.clone()))
}

/// The next event of a subscription with this field.
async fn next(events: &mut Events, field: &str) -> Value {
    let event = tokio::time::timeout(Duration::from_secs(60), events.next()).await;
    let response = event.unwrap_or_else(|_| panic!("no event of {field}")).unwrap();
    assert!(response.errors.is_empty(), "{field}: {:?}", response.errors);
    response.data.into_json().unwrap()[field].take()
}

async fn create(desk: &Desk, namespace: &str) {
    let query = "mutation($name: String!) { createNamespace(name: $name) { namespace { id } } }";
    desk.ask(query, json!({ "name": namespace })).await;
}

async fn a_follower_of_all_namespaces_sees_one_that_is_created_later(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let (_, root) = desk.account("root", Some("ADMIN")).await;
    create(&desk, "gone").await;
    desk.ask(DELETE, json!({ "name": "gone" })).await;
    planted::one_of_each(&desk, "default").await;
    let root = desk.person(root).await;
    assert!(root.grants.hides_any());
    let (row, fire) = (Cursor::START.to_string(), FirePosition::START.to_string());
    let mut followers = Vec::new();
    for (field, node, start) in [
        ("runEvents", "run", &row),
        ("scheduleEvents", "schedule", &row),
        ("fireEvents", "fire", &fire),
        ("alertEvents", "alert", &row),
        ("backfillEvents", "backfill", &row),
    ] {
        let query = format!(
            "subscription {{ {field}(namespace: null, since: \"{start}\") {{ \
               {node} {{ namespace }} }} }}"
        );
        let mut events = follow(&desk, &root, &query);
        let first = next(&mut events, field).await;
        assert_eq!(first[node]["namespace"], "default", "{field}");
        followers.push((field, node, events));
    }
    create(&desk, "later").await;
    planted::one_of_each(&desk, "later").await;
    for (field, node, mut events) in followers {
        while next(&mut events, field).await[node]["namespace"] != "later" {}
    }
}

async fn a_follower_of_all_namespaces_sees_none_while_it_is_deleted(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let (_, root) = desk.account("root", Some("ADMIN")).await;
    create(&desk, "billing").await;
    let home = desk.schedule("tick", "@daily").await;
    let input = json!({
        "namespace": "billing", "name": "invoices",
        "timing": { "expressions": ["@hourly"] }, "task": { "target": { "noop": {} } },
    });
    let away = desk.ask(CREATE, json!({ "input": input })).await;
    let away = away["createSchedule"]["schedule"]["id"].as_str().unwrap();
    let run = desk.trigger(away).await;
    let start = Cursor::START;
    let query = format!(
        "subscription {{ runEvents(namespace: null, since: \"{start}\") {{ run {{ id }} }} }}"
    );
    let mut events = follow(&desk, &desk.person(root).await, &query);
    assert_eq!(next(&mut events, "runEvents").await["run"]["id"], json!(run));

    // Its run changes before the deletion, and is not read until after it.
    let cancel = "mutation($id: UUID!) { cancelRun(id: $id) { run { id } } }";
    desk.ask(cancel, json!({ "id": run })).await;
    desk.ask(DELETE, json!({ "name": "billing", "count": 1 })).await;
    let run = desk.trigger(&home).await;
    assert_eq!(next(&mut events, "runEvents").await["run"]["id"], json!(run));

    // A follower of schedules learns that those of the namespace are gone.
    let query = format!(
        "subscription {{ scheduleEvents(namespace: null, since: \"{start}\") {{ \
           scheduleId schedule {{ name }} }} }}"
    );
    let mut schedules = follow(&desk, &desk.person(root).await, &query);
    let gone = loop {
        let event = next(&mut schedules, "scheduleEvents").await;
        if event["scheduleId"] == json!(away) {
            break event;
        }
    };
    assert_eq!(gone["schedule"], Value::Null);

    let restore = "mutation { undeleteNamespace(name: \"billing\") { namespace { id } } }";
    desk.ask(restore, json!({})).await;
    let run = desk.trigger(away).await;
    assert_eq!(next(&mut events, "runEvents").await["run"]["id"], json!(run));
}

//! A caller has a few places for queries and for large answers. A mutation is never carried out and
//! then refused for want of one.

use std::{pin::pin, time::Duration};

use carillon::{
    api::{self, AnswerPlace},
    store::schedules,
};
use entity::{schedule, user::Role};
use serde_json::json;

use super::{
    desk::{Desk, request},
    walking::namespace,
};
use crate::support::TestDatabase;

/// A query whose answer counts as large.
const LARGE: &str = "{ schedules(first: 200) { nodes { recentFires(first: 60) { id } } } }";

/// Longer than a request waits for a place.
const TOO_LONG: Duration = Duration::from_secs(60);

/// Two large answers that are not written: the caller has no place left for a third.
async fn two_unwritten(desk: &Desk) -> Vec<AnswerPlace> {
    let mut unwritten = Vec::new();
    for _ in 0..2 {
        let place = AnswerPlace::default();
        let request = request(Some(Role::Admin), LARGE, json!({})).data(place.clone());
        let response = api::execute(&desk.schema, request).await;
        assert!(response.errors.is_empty() && place.is_taken(), "{:?}", response.errors);
        unwritten.push(place);
    }
    unwritten
}

/// The schedule of that name, if there is one.
async fn stored(desk: &Desk, name: &str) -> Option<schedule::Model> {
    let home = namespace(desk, "default").await;
    schedules::by_name(desk.database.store.read(), home, name).await.unwrap()
}

#[tokio::test]
async fn a_large_answer_to_a_mutation_waits_as_long_as_it_takes() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let make = "mutation ($context: JSON!) { createSchedule(input: {
        name: \"nightly\", context: $context, timing: { expressions: [\"@daily\"] },
        task: { target: { noop: {} } } }) { schedule { id } } }";
    let made = desk.ask(make, json!({ "context": { "text": "x".repeat(60_000) } })).await;
    let unwritten = two_unwritten(&desk).await;
    let contexts: String = (0..20).map(|number| format!("c{number}: context ")).collect();
    let pause = format!(
        "mutation ($id: UUID!) {{ pauseSchedule(id: $id, reason: \"x\") {{
            schedule {{ {contexts} }} }} }}"
    );
    let id = json!({ "id": made["createSchedule"]["schedule"]["id"] });
    let mut paused = pin!(desk.send(Some(Role::Admin), &pause, id));
    loop {
        let is_paused = async { stored(&desk, "nightly").await.is_some_and(|row| !row.enabled) };
        tokio::select! {
            biased;
            _ = &mut paused => panic!("it did not wait"),
            is_paused = is_paused => if is_paused { break },
        }
    }
    // It was carried out; its answer goes on until it is large, and waits.
    for _ in 0..2 {
        for _ in 0..20 {
            tokio::select! {
                biased;
                response = &mut paused => panic!("it did not wait: {:?}", response.errors),
                _ = desk.ask("{ me { name } }", json!({})) => {}
            }
        }
        desk.clock.pass(TOO_LONG);
    }
    drop(unwritten);
    let response = paused.await;
    assert!(response.errors.is_empty(), "{:?}", response.errors);
}

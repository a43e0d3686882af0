//! A caller has a few places for queries and for large answers. No mutation is carried out and then
//! refused because no place is free.

use std::{pin::pin, thread::available_parallelism, time::Duration};

use async_graphql::Request;
use carillon::{
    access::{Grant, Grants, Viewer, ViewerKind},
    api::{self, AnswerPlace},
    store::schedules,
};
use entity::{schedule, user::Role};
use futures::future::{join, join_all};
use serde_json::json;
use uuid::Uuid;

use super::{
    desk::{Desk, request},
    walking::namespace,
};
use crate::support::TestDatabase;

/// A query whose answer counts as large.
const LARGE: &str = "{ schedules(first: 200) { nodes { recentFires(first: 60) { id } } } }";

/// Longer than a request may wait for a place.
const TOO_LONG: Duration = Duration::from_secs(60);

/// Two large answers that are not sent yet: no place is left for the caller's third.
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

/// A mutation that creates a schedule and reads the fields `read` of it.
fn make(name: &str, read: &str) -> String {
    format!(
        "mutation {{ createSchedule(input: {{
            name: \"{name}\", timing: {{ expressions: [\"@daily\"] }},
            task: {{ target: {{ noop: {{}} }} }} }}) {{ schedule {{ {read} }} }} }}"
    )
}

/// Fields of a schedule that are lists of rows.
const LISTS: [&str; 3] = [
    "versions(first: 5) { nodes { by } }",
    "...on Schedule { recentFires { id } }",
    "calendars { id }",
];

#[tokio::test]
async fn a_mutation_whose_answer_reads_lists_waits_before_it_starts() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let unwritten = two_unwritten(&desk).await;
    // These queries hold the places for queries, and wait for the places of large answers.
    let queries = join_all((0..6).map(|_| desk.ask(LARGE, json!({}))));
    let mut queries = pin!(queries);
    let named = make("named", "...rows") + " fragment rows on Schedule { buffer { id } }";
    let listed = LISTS.iter().enumerate();
    let listed = listed.map(|(number, read)| make(&format!("listed{number}"), read));
    let makes: Vec<String> = listed.chain([named]).collect();
    let mut reading = pin!(join_all(makes.iter().map(|query| desk.ask(query, json!({})))));
    for number in 0..20 {
        let plain = make(&format!("plain{number}"), "id tags timing { warnings { code } }");
        tokio::select! {
            biased;
            _ = &mut queries => panic!("they did not wait"),
            _ = &mut reading => panic!("they did not wait"),
            _ = desk.ask(&plain, json!({})) => {}
        }
    }
    for name in ["listed0", "listed1", "listed2", "named"] {
        assert!(stored(&desk, name).await.is_none(), "{name} was carried out without a place");
    }
    drop(unwritten);
    join(queries, reading).await;
    for name in ["plain19", "listed0", "listed1", "listed2", "named"] {
        assert!(stored(&desk, name).await.is_some(), "{name}");
    }
}

#[tokio::test]
async fn a_mutation_that_waits_in_vain_for_a_place_is_not_carried_out() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let _unwritten = two_unwritten(&desk).await;
    let mut queries = pin!(join_all((0..6).map(|_| desk.ask(LARGE, json!({})))));
    let listed = make("listed", LISTS[0]);
    let mut reading = pin!(desk.send(Some(Role::Admin), &listed, json!({})));
    for _ in 0..20 {
        tokio::select! {
            biased;
            _ = &mut queries => panic!("they did not wait"),
            _ = &mut reading => panic!("it did not wait"),
            _ = stored(&desk, "listed") => {}
        }
    }
    desk.clock.pass(TOO_LONG);
    let refused = reading.await;
    let error = serde_json::to_value(&refused.errors[0]).unwrap();
    assert_eq!(error["extensions"]["code"], "RATE_LIMITED", "{error}");
    assert!(api::is_refused(&refused), "{refused:?}");
    assert!(stored(&desk, "listed").await.is_none(), "it was carried out");
}

#[tokio::test]
async fn a_request_that_computes_waits_only_briefly_for_the_place_of_its_large_answer() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let _unwritten = two_unwritten(&desk).await;
    let computing = format!("{{ timezones {}", &LARGE[1..]);
    let (schema, asked) = (desk.schema.clone(), request(Some(Role::Admin), &computing, json!({})));
    let waits = tokio::spawn(async move { api::execute(&schema, asked).await });
    let until = loop {
        if let Some(until) = desk.clock.next_wake() {
            break until;
        }
        assert!(!waits.is_finished(), "it did not wait");
        tokio::task::yield_now().await;
    };
    let brief = Duration::from_secs(1);
    assert!(until <= desk.clock.now() + brief, "it holds a place for computing until {until}");
    desk.clock.pass(brief);
    let refused = waits.await.unwrap();
    let error = serde_json::to_value(&refused.errors[0]).unwrap();
    assert_eq!(error["extensions"]["code"], "RATE_LIMITED", "{error}");
}

/// A request of a member of these namespaces.
fn request_of(member: u128, namespaces: [Uuid; 2], query: &str) -> Request {
    let grant = Grant { role: Role::Viewer, sees_payloads: false };
    let grants = Grants::new(None, namespaces.map(|namespace| (namespace, grant)));
    let id = Uuid::from_u128(1_000 + member);
    Request::new(query).data(Viewer::new(id, "ada", ViewerKind::User, grants, "test"))
}

/// Members of two namespaces share the places for computing of the one that they ask about.
#[tokio::test]
async fn a_request_that_computes_counts_for_the_namespace_that_it_names() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    desk.ask("mutation { createNamespace(name: \"other\") { __typename } }", json!({})).await;
    let both = [namespace(&desk, "default").await, namespace(&desk, "other").await];
    let ask = |member: u128, query: &str| {
        let (schema, asked) = (desk.schema.clone(), request_of(member, both, query));
        tokio::spawn(async move { api::execute(&schema, asked).await })
    };
    let preview = |namespace: &str| {
        let timing = "{ expressions: [\"@daily\"] }";
        format!("schedulePreview(namespace: {namespace:?}, timing: {timing}) {{ firesPerYear }}")
    };
    let all = available_parallelism().map_or(1, usize::from).max(4);
    let most = u128::try_from(all - all / 4).unwrap();
    let (mut unwritten, mut holders) = (Vec::new(), Vec::new());
    for member in 0..most {
        for _ in 0..2 {
            let place = AnswerPlace::default();
            let asked = request_of(member, both, LARGE).data(place.clone());
            let response = api::execute(&desk.schema, asked).await;
            assert!(response.errors.is_empty() && place.is_taken(), "{:?}", response.errors);
            unwritten.push(place);
        }
        // It holds a place for computing while it waits for the place of its large answer.
        holders.push(ask(member, &format!("{{ {} {}", preview("default"), &LARGE[1..])));
    }
    let about = |name: &str| format!("{{ {} }}", preview(name));
    let mut member = most;
    let waits = loop {
        // Until all of these hold their places, it is answered.
        let waits = ask(member, &about("default"));
        for _ in 0..20 {
            member += 1;
            let answered = ask(member, &about("other")).await.unwrap();
            assert!(answered.errors.is_empty(), "{:?}", answered.errors);
        }
        if !waits.is_finished() {
            break waits;
        }
        assert!(member < 2_000, "nothing waits for the places of its namespace");
    };
    desk.clock.pass(Duration::from_secs(1));
    for holder in holders {
        let refused = holder.await.unwrap();
        let error = serde_json::to_value(&refused.errors[0]).unwrap();
        assert_eq!(error["extensions"]["code"], "RATE_LIMITED", "{error}");
    }
    let response = waits.await.unwrap();
    assert!(response.errors.is_empty(), "{:?}", response.errors);
}

#[tokio::test]
async fn a_large_answer_to_a_mutation_waits_but_is_not_refused() {
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
    let resting = desk.clock.sleepers().len();
    let mut paused = pin!(desk.send(Some(Role::Admin), &pause, id));
    loop {
        let is_paused = async { stored(&desk, "nightly").await.is_some_and(|row| !row.enabled) };
        tokio::select! {
            biased;
            _ = &mut paused => panic!("it did not wait"),
            is_paused = is_paused => if is_paused { break },
        }
    }
    // The mutation was carried out. Its answer is built up until it counts as large; then it waits.
    while desk.clock.sleepers().len() <= resting {
        tokio::select! {
            biased;
            response = &mut paused => panic!("it did not wait: {:?}", response.errors),
            _ = desk.ask("{ me { name } }", json!({})) => {}
        }
    }
    desk.clock.pass(TOO_LONG);
    let response = paused.await;
    assert!(response.errors.is_empty(), "{:?}", response.errors);
    drop(unwritten);
}

use std::sync::{Arc, Mutex};

use carillon::target::Policy;
use serde_json::json;

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(a_page_costs_the_same_number_of_statements_however_long_it_is);

const PAGE: &str = "query($first: Int!) { schedules(first: $first) { totalCount nodes {
    id name namespace liveRuns
    timing { description warnings { code } } nextFires { at local }
    workflow { name namespace tasks { name target { ... on NoopTarget { note } } } }
    lastRun { id state node taskRuns { id } workflow { name } schedule { name } }
    tally { succeeded failed } } } }";

async fn a_page_costs_the_same_number_of_statements_however_long_it_is(database: TestDatabase) {
    let statements = Arc::new(Mutex::new(Vec::new()));
    let seen = statements.clone();
    let desk = Desk::with(database, Policy::default(), |store| {
        store.with_observer(move |sql| seen.lock().unwrap().push(kind_of(sql)))
    })
    .await;
    for number in 0..50 {
        let id = desk.schedule(&format!("s-{number:02}"), "@hourly").await;
        desk.trigger(&id).await;
    }
    let cost = async |first: i32| {
        statements.lock().unwrap().clear();
        let answer = desk.ask(PAGE, json!({ "first": first })).await;
        let nodes = answer["schedules"]["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), usize::try_from(first).unwrap());
        assert!(nodes.iter().all(|node| node["lastRun"]["state"] == "QUEUED"));
        let mut seen = statements.lock().unwrap().clone();
        seen.sort();
        seen
    };
    let (few, many) = (cost(5).await, cost(50).await);
    assert_eq!(few, many, "a hop costs a statement a row");
    assert!((1..=16).contains(&many.len()), "{many:#?}");
}

/// What a statement is about, without its values.
fn kind_of(sql: &str) -> String {
    let from = sql.split_once(" FROM ").map_or(sql, |(_, from)| from);
    let end = from.find(['(', ',', '$', '?']).unwrap_or(from.len());
    from[..end].to_owned()
}

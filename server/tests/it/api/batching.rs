use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

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
    let statements = Arc::new(AtomicUsize::new(0));
    let counter = statements.clone();
    let desk = Desk::with(database, Policy::default(), |store| {
        store.with_observer(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        })
    })
    .await;
    for number in 0..50 {
        let id = desk.schedule(&format!("s-{number:02}"), "@hourly").await;
        desk.trigger(&id).await;
    }
    let cost = async |first: i32| {
        statements.store(0, Ordering::Relaxed);
        let answer = desk.ask(PAGE, json!({ "first": first })).await;
        let nodes = answer["schedules"]["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), usize::try_from(first).unwrap());
        assert!(nodes.iter().all(|node| node["lastRun"]["state"] == "QUEUED"));
        statements.load(Ordering::Relaxed)
    };
    let (few, many) = (cost(5).await, cost(50).await);
    assert_eq!(few, many, "a hop costs a statement a row");
    assert!((1..=16).contains(&many), "{many} statements");
}

use std::sync::{Arc, Mutex};

use carillon::target::Policy;
use serde_json::json;

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(
    a_page_costs_the_same_number_of_statements_however_long_it_is,
    a_page_of_runs_costs_the_same_number_of_statements_however_long_it_is,
    a_page_of_lanes_costs_the_same_number_of_statements_however_long_it_is,
    objects_cost_the_same_number_of_statements_however_many_they_are,
    namespaces_are_compared_by_the_same_number_of_statements_however_many_they_are,
    a_page_that_holds_all_of_a_list_is_not_counted,
    a_list_of_which_only_the_length_is_requested_is_not_read,
);

/// A page of schedules with the last run, the next fires, the workflow and the tally of each.
const PAGE: &str = "query($first: Int!) { schedules(first: $first) { totalCount nodes {
    id name namespace liveRuns
    timing { description warnings { code } } nextFires { at local }
    workflow { name namespace tasks { name target { ... on NoopTarget { note } } } }
    lastRun { id state node taskRuns { id } workflow { name } schedule { name } }
    tally { succeeded failed } } } }";

/// A page of runs with the workflow, the fire and the tasks of each.
const RUNS: &str = "query($first: Int!) { runs(first: $first) { nodes {
    id state node namespace context output group
    schedule { id name timing { description } nextFires { at } } fire { verdict }
    workflow { name tasks { name } } tasks { name state } taskRuns { id } taskRunCount ending { exitCode } backfill { id } } } }";

/// The fields that the console queries for each schedule once the list is drawn.
const OBJECTS: &str = "query($ids: [ID!]!) { nodes(ids: $ids) { __typename ... on Schedule {
    id tally { succeeded } lastRun { state }
    recentFires(first: 40) { verdict run { state durationMs } } } } }";

type Statements = Arc<Mutex<Vec<String>>>;

/// A desk whose statements are recorded.
async fn observed(database: TestDatabase) -> (Desk, Statements) {
    let statements = Statements::default();
    let seen = statements.clone();
    let desk = Desk::with(database, Policy::default(), |store| {
        store.with_observer(move |sql| seen.lock().unwrap().push(kind_of(sql)))
    });
    (desk.await, statements)
}

async fn a_page_of_runs_costs_the_same_number_of_statements_however_long_it_is(
    database: TestDatabase,
) {
    let (desk, statements) = observed(database).await;
    for number in 0..20 {
        let id = desk.schedule(&format!("s-{number:03}"), "@hourly").await;
        for _ in 0..5 {
            desk.trigger(&id).await;
        }
    }
    let cost = async |first: i32| {
        statements.lock().unwrap().clear();
        let answer = desk.ask_in_place(RUNS, json!({ "first": first })).await;
        let nodes = answer["runs"]["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), usize::try_from(first).unwrap());
        let mut seen = statements.lock().unwrap().clone();
        seen.sort();
        seen
    };
    let (few, many) = (cost(10).await, cost(100).await);
    assert_eq!(few, many, "a hop costs a statement a row");
    assert!((1..=16).contains(&many.len()), "{many:#?}");
}

async fn a_page_costs_the_same_number_of_statements_however_long_it_is(database: TestDatabase) {
    let (desk, statements) = observed(database).await;
    // One more row than the longest page holds, so that not all of them are counted.
    for number in 0..=100 {
        let id = desk.schedule(&format!("s-{number:03}"), "@hourly").await;
        desk.trigger(&id).await;
    }
    let cost = async |first: i32| {
        statements.lock().unwrap().clear();
        let answer = desk.ask_in_place(PAGE, json!({ "first": first })).await;
        let nodes = answer["schedules"]["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), usize::try_from(first).unwrap());
        assert!(nodes.iter().all(|node| node["lastRun"]["state"] == "QUEUED"));
        let mut seen = statements.lock().unwrap().clone();
        seen.sort();
        seen
    };
    let (few, many) = (cost(10).await, cost(100).await);
    assert_eq!(few, many, "a hop costs a statement a row");
    assert!((1..=16).contains(&many.len()), "{many:#?}");
}

async fn a_page_of_lanes_costs_the_same_number_of_statements_however_long_it_is(
    database: TestDatabase,
) {
    let (desk, statements) = observed(database).await;
    for number in 0..41 {
        let id = desk.schedule(&format!("s-{number:03}"), "@hourly").await;
        desk.trigger(&id).await;
    }
    let cost = async |sort: &str, first: usize| {
        let query = "query($sort: TimelineSort!, $first: Int!) {
            timeline(from: \"2026-03-01T11:00:00Z\", to: \"2026-03-01T14:00:00Z\", sort: $sort,
                first: $first) { nodes {
                schedule { id name namespace timing { zone } } usualMs overlaps isComplete
                runs { id state } folds { runs } marks { verdict } planned { at to } } } }";
        statements.lock().unwrap().clear();
        let answer = desk.ask_in_place(query, json!({ "sort": sort, "first": first })).await;
        let nodes = answer["timeline"]["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), first);
        let has_both = |node: &serde_json::Value| {
            node["runs"][0]["state"] == "QUEUED" && node["planned"][0]["at"].is_string()
        };
        assert!(nodes.iter().all(has_both), "{answer}");
        let mut seen = statements.lock().unwrap().clone();
        seen.sort();
        seen
    };
    for sort in ["NAME", "BUSIEST"] {
        let (few, many) = (cost(sort, 4).await, cost(sort, 40).await);
        assert_eq!(few, many, "a lane costs a statement");
        assert!((1..=40).contains(&many.len()), "{many:#?}");
    }
}

async fn objects_cost_the_same_number_of_statements_however_many_they_are(database: TestDatabase) {
    let (desk, statements) = observed(database).await;
    let mut ids = Vec::new();
    for number in 0..100 {
        let id = desk.schedule(&format!("s-{number:03}"), "@hourly").await;
        desk.trigger(&id).await;
        ids.push(id);
    }
    let cost = async |count: usize| {
        statements.lock().unwrap().clear();
        let answer = desk.ask_in_place(OBJECTS, json!({ "ids": ids[..count] })).await;
        let nodes = answer["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), count);
        assert!(nodes.iter().all(|node| node["lastRun"]["state"] == "QUEUED"));
        let mut seen = statements.lock().unwrap().clone();
        seen.sort();
        seen
    };
    let (few, many) = (cost(10).await, cost(100).await);
    assert_eq!(few, many, "a hop costs a statement an object");
}

async fn namespaces_are_compared_by_the_same_number_of_statements_however_many_they_are(
    database: TestDatabase,
) {
    let (desk, statements) = observed(database).await;
    for number in 0..20 {
        let make = "mutation($name: String!) { createNamespace(name: $name) { __typename } }";
        desk.ask(make, json!({ "name": format!("n-{number}") })).await;
    }
    let cost = async |first: usize| {
        statements.lock().unwrap().clear();
        let query = "query($first: Int!) { namespaceStats(first: $first) { namespaces {
            namespace total { ended } points { ended durations { p95 } } } } }";
        let answer = desk.ask_in_place(query, json!({ "first": first })).await;
        assert_eq!(answer["namespaceStats"]["namespaces"].as_array().unwrap().len(), first);
        statements.lock().unwrap().clone()
    };
    let (few, many) = (cost(2).await, cost(20).await);
    assert_eq!(few, many, "each namespace costs a statement");
    assert_eq!(many.len(), 2, "{many:#?}");
}

async fn a_page_that_holds_all_of_a_list_is_not_counted(database: TestDatabase) {
    let (desk, statements) = observed(database).await;
    for name in ["first", "other", "third"] {
        desk.schedule(name, "@hourly").await;
    }
    let query = "query($page: Int!, $filter: ScheduleFilter) {
        schedules(first: $page, filter: $filter) { totalCount nodes { name } } }";
    let counted = async |page: i32, text: &str| {
        statements.lock().unwrap().clear();
        let answer = desk.ask(query, json!({ "page": page, "filter": { "text": text } })).await;
        let schedules = &answer["schedules"];
        let shown = schedules["nodes"].as_array().unwrap().len();
        (schedules["totalCount"].as_u64().unwrap(), shown, statements.lock().unwrap().len())
    };
    let (total, shown, more_than_a_page) = counted(2, "T").await;
    assert_eq!((total, shown), (3, 2));
    let (total, shown, whole) = counted(3, "T").await;
    assert_eq!((total, shown), (3, 3));
    assert_eq!(whole + 1, more_than_a_page);
    let (total, shown, _) = counted(3, "none of them").await;
    assert_eq!((total, shown), (0, 0));
}

async fn a_list_of_which_only_the_length_is_requested_is_not_read(database: TestDatabase) {
    let (desk, statements) = observed(database).await;
    for name in ["first", "other", "third"] {
        desk.schedule(name, "@hourly").await;
    }
    let cost = async |fields: &str| {
        statements.lock().unwrap().clear();
        let query = format!("{{ schedules(first: 1) {{ totalCount {fields} }} }}");
        let answer = desk.ask(&query, json!({})).await;
        assert_eq!(answer["schedules"]["totalCount"], 3, "{fields}");
        statements.lock().unwrap().len()
    };
    let with_rows = cost("nodes { name }").await;
    let inline = "... on ScheduleConnection { nodes { name } }";
    for fields in ["edges { cursor }", "pageInfo { hasNextPage }", inline] {
        assert_eq!(cost(fields).await, with_rows, "{fields}");
    }
    for fields in ["", "__typename"] {
        assert_eq!(cost(fields).await + 1, with_rows, "{fields}");
    }
}

/// The text of a statement, without its values.
fn kind_of(sql: &str) -> String {
    let from = sql.split_once(" FROM ").map_or(sql, |(_, from)| from);
    let end = from.find(['(', ',', '$', '?']).unwrap_or(from.len());
    from[..end].to_owned()
}

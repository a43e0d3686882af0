//! Dry runs of bulk operations: what they say of refusals is what the operation then meets.

use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_dry_run_of_a_change_names_the_schedules_that_would_refuse_it,
    a_dry_run_names_the_schedules_that_have_no_fire_to_skip,
    a_dry_run_names_what_a_call_gives_wrongly_for_each_schedule,
    a_dry_run_names_the_runs_that_would_be_refused,
    a_dry_run_names_the_first_refusals_and_counts_all,
);

const UPDATE: &str = "mutation($dry: Boolean!, $change: ChangeSchedulesInput!) {
    updateSchedules(which: { search: \"tag:x\", dryRun: $dry }, change: $change) {
        matched done refused refusals { id code message } } }";

const SKIP: &str = "mutation($dry: Boolean!) {
    skipNextOfSchedules(which: { search: \"tag:x\", dryRun: $dry }, reason: \"move\") {
        matched done refused refusals { id code message } } }";

async fn tagged(desk: &Desk, name: &str, more: Value) {
    let mut input = json!({
        "name": name, "tags": ["x"], "timing": { "expressions": ["@daily"] },
        "task": { "target": { "noop": {} } },
    });
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    desk.ask(CREATE, json!({ "input": input })).await;
}

/// Sends a mutation as a dry run, and then carries it out. The refusals must be the same. Returns
/// the number of matches, and the codes and texts of the refusals.
async fn foretold(desk: &Desk, mutation: &str, mut more: Value) -> (u64, Vec<(String, String)>) {
    more["dry"] = json!(true);
    let counted = desk.ask(mutation, more.clone()).await;
    let counted = counted.as_object().unwrap().values().next().unwrap();
    more["dry"] = json!(false);
    let done = desk.ask(mutation, more).await;
    let done = done.as_object().unwrap().values().next().unwrap();
    assert_eq!(counted["done"], 0, "{counted}");
    for field in ["matched", "refused", "refusals"] {
        assert_eq!(counted[field], done[field], "{field}: {counted} {done}");
    }
    let refusals = counted["refusals"].as_array().unwrap();
    assert_eq!(counted["refused"], refusals.len(), "{counted}");
    let text = |refusal: &Value, field: &str| refusal[field].as_str().unwrap().to_owned();
    let refusals = refusals.iter().map(|one| (text(one, "code"), text(one, "message")));
    (counted["matched"].as_u64().unwrap(), refusals.collect())
}

async fn a_dry_run_of_a_change_names_the_schedules_that_would_refuse_it(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let source = "module: billing\nschedules:\n  declared:\n    when: \"@daily\"\n    \
                  tags: [x]\n    task: { target: { noop: {} } }\n";
    let deploy = "mutation($source: String!) { deployModule(source: $source) { module } }";
    desk.ask(deploy, json!({ "source": source })).await;
    tagged(&desk, "buffers", json!({ "overlap": "BUFFER_ALL" })).await;
    tagged(&desk, "skips", json!({})).await;

    let change = json!({ "change": { "bufferLimit": 5 } });
    let (matched, refusals) = foretold(&desk, UPDATE, change).await;
    assert_eq!((matched, refusals.len()), (3, 2), "{refusals:?}");
    assert_eq!(refusals[0].0, "CONFLICT");
    assert!(refusals[0].1.contains("declared by the module"), "{refusals:?}");
    assert_eq!(refusals[1].0, "BAD_USER_INPUT");
    assert!(refusals[1].1.contains("bufferLimit"), "{refusals:?}");

    for change in [
        json!({ "workflow": "missing" }),
        json!({ "group": "missing" }),
        json!({ "calendars": ["missing"] }),
    ] {
        let (_, refusals) = foretold(&desk, UPDATE, json!({ "change": change })).await;
        assert_eq!(refusals.len(), 3, "{refusals:?}");
        let unknown = refusals.iter().filter(|(_, text)| text.contains("does not exist"));
        assert_eq!(unknown.count(), 2, "{refusals:?}");
    }
    let (_, refusals) = foretold(&desk, UPDATE, json!({ "change": { "priority": 3 } })).await;
    assert_eq!(refusals.len(), 1, "{refusals:?}");
}

async fn a_dry_run_names_the_schedules_that_have_no_fire_to_skip(database: TestDatabase) {
    let desk = Desk::open(database).await;
    tagged(&desk, "a", json!({})).await;
    tagged(&desk, "b", json!({ "paused": true })).await;
    tagged(&desk, "c", json!({ "timing": { "expressions": ["@manually"] } })).await;
    let (matched, refusals) = foretold(&desk, SKIP, json!({})).await;
    assert_eq!((matched, refusals.len()), (3, 2), "{refusals:?}");
    assert!(refusals[0].1.contains("is paused"), "{refusals:?}");
    assert!(refusals[1].1.contains("has no fire left"), "{refusals:?}");
    assert!(refusals.iter().all(|(code, _)| code == "CONFLICT"), "{refusals:?}");
}

async fn a_dry_run_names_what_a_call_gives_wrongly_for_each_schedule(database: TestDatabase) {
    let desk = Desk::open(database).await;
    tagged(&desk, "a", json!({})).await;
    tagged(&desk, "b", json!({ "context": { "old": "x".repeat(200_000) } })).await;
    let trigger = "mutation($dry: Boolean!, $context: JSON) {
        triggerSchedules(which: { search: \"tag:x\", dryRun: $dry }, context: $context) {
            matched done refused refusals { id code message } } }";
    let context = json!({ "context": { "new": "y".repeat(100_000) } });
    let (_, refusals) = foretold(&desk, trigger, context).await;
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert!(refusals[0].1.contains("256 KiB"), "{refusals:?}");
    let (_, refusals) = foretold(&desk, trigger, json!({})).await;
    assert!(refusals.is_empty(), "{refusals:?}");

    let pause = "mutation($dry: Boolean!, $until: DateTime) {
        pauseSchedules(which: { search: \"tag:x\", dryRun: $dry }, reason: \"x\", until: $until) {
            matched done refused refusals { id code message } } }";
    let past = json!({ "until": "2026-03-01T11:00:00Z" });
    let (_, refusals) = foretold(&desk, pause, past).await;
    assert_eq!(refusals.len(), 2, "{refusals:?}");
    assert!(refusals.iter().all(|(_, text)| text.contains("is past")), "{refusals:?}");
    // To pause a paused schedule is no mistake.
    for _ in 0..2 {
        let (_, refusals) = foretold(&desk, pause, json!({})).await;
        assert!(refusals.is_empty(), "{refusals:?}");
    }
}

async fn a_dry_run_names_the_runs_that_would_be_refused(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "@daily").await;
    let first = desk.trigger(&id).await;
    for _ in 0..2 {
        desk.trigger(&id).await;
    }
    let cancel = "mutation($search: String!, $dry: Boolean!) {
        cancelRuns(which: { search: $search, dryRun: $dry }) {
            matched done refused refusals { id code message } } }";
    let retry = "mutation($search: String!, $dry: Boolean!) {
        retryRuns(which: { search: $search, dryRun: $dry }) {
            matched done refused refusals { id code message } } }";
    let one = json!({ "search": format!("id:{first}") });
    let (matched, refusals) = foretold(&desk, cancel, one).await;
    assert_eq!((matched, refusals.len()), (1, 0), "{refusals:?}");

    // One has been cancelled, and two are waiting.
    let all = json!({ "search": "workflow:tick" });
    let (matched, refusals) = foretold(&desk, retry, all.clone()).await;
    assert_eq!((matched, refusals.len()), (3, 2), "{refusals:?}");
    assert!(refusals.iter().all(|(_, text)| text.contains("is still queued")), "{refusals:?}");
    // The retry waits as well.
    let (matched, refusals) = foretold(&desk, cancel, all).await;
    assert_eq!((matched, refusals.len()), (4, 1), "{refusals:?}");
    assert!(refusals[0].1.contains("has cancelled already"), "{refusals:?}");

    let delete = "mutation { deleteSchedules(which: { search: \"name:tick\" }) { done } }";
    assert_eq!(desk.ask(delete, json!({})).await["deleteSchedules"]["done"], 1);
    let cancelled = json!({ "search": "state:cancelled" });
    let (matched, refusals) = foretold(&desk, retry, cancelled).await;
    assert_eq!((matched, refusals.len()), (4, 4), "{refusals:?}");
    assert!(refusals.iter().all(|(code, _)| code == "NOT_FOUND"), "{refusals:?}");
}

async fn a_dry_run_names_the_first_refusals_and_counts_all(database: TestDatabase) {
    let desk = Desk::open(database).await;
    // More than are read at once, and more than are listed.
    let input = |number: usize| {
        json!({
            "name": format!("s-{number:03}"), "tags": ["x"], "paused": true,
            "timing": { "expressions": ["@daily"] }, "task": { "target": { "noop": {} } },
        })
    };
    let inputs: Vec<Value> = (0..120).map(input).collect();
    let many =
        "mutation($inputs: [CreateScheduleInput!]!) { createSchedules(inputs: $inputs) { id } }";
    desk.ask(many, json!({ "inputs": inputs })).await;
    let counted = desk.ask(SKIP, json!({ "dry": true })).await;
    let counted = &counted["skipNextOfSchedules"];
    assert_eq!((&counted["matched"], &counted["refused"]), (&json!(120), &json!(120)));
    let refusals = counted["refusals"].as_array().unwrap();
    assert_eq!(refusals.len(), 100);
    assert!(refusals[99]["message"].as_str().unwrap().contains("s-099"), "{}", refusals[99]);
}

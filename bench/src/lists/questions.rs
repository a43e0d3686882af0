use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::graphql::Caller;

/// A document of the console with its variables.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) name: &'static str,
    pub(super) body: String,
}

const SCHEDULES: &str = include_str!("../../../frontend/graphql/schedules.graphql");
const HISTORIES: &str = include_str!("../../../frontend/graphql/schedule_histories.graphql");
const SCHEDULE_COUNT: &str = include_str!("../../../frontend/graphql/schedule_count.graphql");
const RUNS: &str = include_str!("../../../frontend/graphql/runs.graphql");
const FIRES: &str = include_str!("../../../frontend/graphql/fires.graphql");
const OVERVIEW: &str = include_str!("../../../frontend/graphql/overview.graphql");

/// The page size that the console requests.
const PAGE: i32 = 50;

/// The id of a schedule that has runs.
pub(super) async fn some_schedule(caller: &mut Caller) -> Result<Value> {
    let found = caller.ask("{ runs(first: 1) { nodes { schedule { id } } } }", &json!({})).await?;
    let id = &found["runs"]["nodes"][0]["schedule"]["id"];
    id.as_str().context("there is no run of a schedule")?;
    Ok(id.clone())
}

/// The ids of the schedules on the console's first page.
pub(super) async fn first_page(caller: &mut Caller) -> Result<Vec<Value>> {
    let query = "query ($first: Int) { schedules(first: $first) { nodes { id } } }";
    let found = caller.ask(query, &json!({ "first": PAGE })).await?;
    let nodes = found["schedules"]["nodes"].as_array().context("there are no schedules")?;
    Ok(nodes.iter().map(|node| node["id"].clone()).collect())
}

/// All queries.
pub(super) fn all(schedule: &Value, first_page: &[Value]) -> Vec<Question> {
    let question = |name, document: &str, variables: Value| {
        let body = json!({ "query": document, "variables": variables }).to_string();
        Question { name, body }
    };
    let schedules =
        |name, filter: Value| question(name, SCHEDULES, json!({ "filter": filter, "first": PAGE }));
    let runs =
        |name, filter: Value| question(name, RUNS, json!({ "filter": filter, "first": PAGE }));
    vec![
        schedules("schedules, first page", json!({})),
        schedules("schedules whose name or note contains a text", json!({ "text": "99" })),
        schedules("schedules by part of a name that few have", json!({ "text": "bench-9999" })),
        schedules("schedules with a tag", json!({ "tag": "team-7" })),
        schedules("schedules that are paused", json!({ "state": "PAUSED" })),
        schedules("schedules of a workflow", json!({ "workflow": "noop" })),
        question("schedules, last page", SCHEDULES, json!({ "filter": {}, "last": PAGE })),
        question("the last fires of a page of schedules", HISTORIES, json!({ "ids": first_page })),
        question(
            "the number of schedules that contain a text",
            SCHEDULE_COUNT,
            json!({ "filter": { "text": "99" } }),
        ),
        runs("runs, newest", json!({})),
        runs("runs that failed", json!({ "states": ["FAILED"] })),
        runs("runs in a state that none has", json!({ "states": ["TIMED_OUT"] })),
        runs("runs that are alive", json!({ "live": true })),
        runs("runs of a schedule", json!({ "scheduleId": schedule })),
        question(
            "the ledger of a schedule",
            FIRES,
            json!({ "scheduleId": schedule, "first": PAGE }),
        ),
        question("the overview", OVERVIEW, json!({ "upcoming": 10, "failures": 5 })),
    ]
}

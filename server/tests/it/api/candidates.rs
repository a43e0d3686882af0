//! The worker time that an unsaved timing would take.

use entity::run::State;
use serde_json::{Value, json};

use super::{
    desk::{CREATE, Desk},
    sorting::settle,
};
use crate::support::{TestDatabase, on_both};

on_both!(the_work_of_a_candidate_is_counted_by_how_long_its_runs_take);

async fn the_work_of_a_candidate_is_counted_by_how_long_its_runs_take(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let workflow = "mutation { createWorkflow(input: { name: \"report\",
        tasks: [{ name: \"main\", target: { noop: {} } }] }) { workflow { id } } }";
    desk.ask(workflow, json!({})).await;
    let input = json!({
        "name": "nightly", "timing": { "expressions": ["0 14 * * *"] }, "workflow": "report",
    });
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let nightly = made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned();
    let other = desk.schedule("other", "0 14 * * *").await;
    for (schedule, took) in [(&nightly, 90_000), (&other, 30_000)] {
        let run = desk.trigger(schedule).await;
        settle(&desk, &run, State::Succeeded, took).await;
    }
    let query = "query($candidate: TimingInput!, $id: UUID, $workflow: String) {
        upcomingByMinute(minutes: 180, candidate: $candidate, scheduleId: $id, workflow: $workflow)
        { candidate { usualMs workMs busiest { before after workMs } } } }";
    let ask = async |more: Value| {
        let mut variables = json!({ "candidate": { "expressions": ["0,30 14 * * *"] } });
        variables.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        desk.ask(query, variables).await["upcomingByMinute"]["candidate"].clone()
    };
    // The window ends at 15:00. A new schedule of the workflow takes as long as the other one.
    let new = ask(json!({ "workflow": "report" })).await;
    let busiest = json!({ "before": 2, "after": 3, "workMs": 90_000 + 30_000 + 90_000 });
    assert_eq!(new, json!({ "usualMs": 90_000, "workMs": 180_000, "busiest": busiest }));
    // An edited schedule is known by its own runs, and its saved fires are left out.
    let edited = ask(json!({ "id": other })).await;
    let busiest = json!({ "before": 1, "after": 2, "workMs": 90_000 + 30_000 });
    assert_eq!(edited, json!({ "usualMs": 30_000, "workMs": 60_000, "busiest": busiest }));
    let unknown = ask(json!({})).await;
    let busiest = json!({ "before": 2, "after": 3, "workMs": 90_000 + 30_000 });
    assert_eq!(unknown, json!({ "usualMs": null, "workMs": null, "busiest": busiest }));
    let missing = json!({ "candidate": { "expressions": ["@daily"] }, "workflow": "none" });
    assert_eq!(desk.refused(query, missing).await["extensions"]["code"], "NOT_FOUND");
}

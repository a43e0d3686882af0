use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    schedules_are_paged_both_ways_by_name,
    schedules_are_found_by_text_tag_state_and_workflow,
    runs_are_paged_both_ways_newest_first,
);

const LIST: &str =
    "query($filter: ScheduleFilter, $first: Int, $after: String, $last: Int, $before: String) {
    schedules(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
        nodes { name } totalCount
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";

fn names(answer: &Value) -> Vec<&str> {
    let nodes = answer["schedules"]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["name"].as_str().unwrap()).collect()
}

async fn schedules_are_paged_both_ways_by_name(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for name in ["delta", "Bravo", "alpha", "Echo", "charlie"] {
        desk.schedule(name, "@daily").await;
    }
    let first = desk.ask(LIST, json!({ "first": 2 })).await;
    assert_eq!(names(&first), ["alpha", "Bravo"]);
    let info = &first["schedules"]["pageInfo"];
    assert_eq!((&info["hasNextPage"], &info["hasPreviousPage"]), (&json!(true), &json!(false)));
    assert_eq!(first["schedules"]["totalCount"], 5);

    let second = desk.ask(LIST, json!({ "first": 2, "after": info["endCursor"] })).await;
    assert_eq!(names(&second), ["charlie", "delta"]);
    // A row inserted before the page does not shift the page.
    desk.schedule("aardvark", "@daily").await;
    let info = &second["schedules"]["pageInfo"];
    let third = desk.ask(LIST, json!({ "first": 2, "after": info["endCursor"] })).await;
    assert_eq!(names(&third), ["Echo"]);
    assert_eq!(third["schedules"]["pageInfo"]["hasNextPage"], false);

    let back = desk.ask(LIST, json!({ "last": 2, "before": info["startCursor"] })).await;
    assert_eq!(names(&back), ["alpha", "Bravo"]);
    assert_eq!(back["schedules"]["pageInfo"]["hasPreviousPage"], true);
    let end = desk.ask(LIST, json!({ "last": 2 })).await;
    assert_eq!(names(&end), ["delta", "Echo"]);
}

async fn schedules_are_found_by_text_tag_state_and_workflow(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let make = async |name: &str, expression: &str, tags: Value| {
        let input = json!({
            "name": name, "note": format!("about 50% of {name}"), "tags": tags,
            "timing": { "expressions": [expression] }, "task": { "target": { "noop": {} } },
        });
        desk.ask(CREATE, json!({ "input": input })).await
    };
    make("backup", "@daily", json!(["ops", "db"])).await;
    make("Report", "@at 0", json!(["ops"])).await;
    let paused = make("cleanup", "@daily", json!([])).await;
    let pause =
        "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": paused["createSchedule"]["schedule"]["id"] })).await;
    for (filter, expected) in [
        (json!({ "text": "REPO" }), vec!["Report"]),
        // The text would match only if the end of a name were joined with the beginning of its
        // note.
        (json!({ "text": "backupabout" }), vec![]),
        (json!({ "text": "50% of b" }), vec!["backup"]),
        (json!({ "text": "%" }), vec!["backup", "cleanup", "Report"]),
        (json!({ "text": "_" }), vec![]),
        (json!({ "tag": "ops" }), vec!["backup", "Report"]),
        (json!({ "tag": "op" }), vec![]),
        (json!({ "state": "ACTIVE" }), vec!["backup"]),
        (json!({ "state": "PAUSED" }), vec!["cleanup"]),
        (json!({ "state": "FINISHED" }), vec!["Report"]),
        (json!({ "workflow": "cleanup" }), vec!["cleanup"]),
        (json!({ "tag": "ops", "state": "ACTIVE" }), vec!["backup"]),
    ] {
        let answer = desk.ask(LIST, json!({ "filter": filter })).await;
        assert_eq!(names(&answer), expected, "{filter}");
        assert_eq!(answer["schedules"]["totalCount"], expected.len(), "{filter}");
    }
}

async fn runs_are_paged_both_ways_newest_first(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("tick", "@daily").await;
    let mut made = Vec::new();
    for minute in 1..=5 {
        desk.clock.advance(std::time::Duration::from_secs(60 * minute));
        made.push(desk.trigger(&schedule).await);
    }
    made.reverse();
    let query =
        "query($filter: RunFilter, $first: Int, $after: String, $last: Int, $before: String) {
        runs(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
            edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage } } }";
    let ids = |answer: &Value| -> Vec<String> {
        let edges = answer["runs"]["edges"].as_array().unwrap();
        edges.iter().map(|edge| edge["node"]["id"].as_str().unwrap().to_owned()).collect()
    };
    let first = desk.ask(query, json!({ "first": 2 })).await;
    assert_eq!(ids(&first), made[..2]);
    let cursor = &first["runs"]["edges"][1]["cursor"];
    let second = desk.ask(query, json!({ "first": 2, "after": cursor })).await;
    assert_eq!(ids(&second), made[2..4]);
    let cursor = &second["runs"]["edges"][1]["cursor"];
    let back = desk.ask(query, json!({ "last": 2, "before": cursor })).await;
    assert_eq!(ids(&back), made[1..3]);

    let cancel = "mutation($id: UUID!) { cancelRun(id: $id) { run { state } } }";
    desk.ask(cancel, json!({ "id": made[0] })).await;
    for (filter, expected) in [
        (json!({ "live": true }), &made[1..]),
        (json!({ "live": false }), &made[..1]),
        (json!({ "states": ["CANCELLED"] }), &made[..1]),
        (json!({ "scheduleId": schedule }), &made[..]),
        (json!({ "before": "2026-03-01T12:05:00Z" }), &made[3..]),
        (json!({ "after": "2026-03-01T12:05:00Z" }), &made[..3]),
    ] {
        let answer = desk.ask(query, json!({ "filter": filter })).await;
        assert_eq!(ids(&answer), expected, "{filter}");
    }
}

#[tokio::test]
async fn a_list_has_a_limit_and_takes_only_its_own_cursors() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    for (field, variables) in [
        ("first", json!({ "first": 201 })),
        ("first", json!({ "first": 0 })),
        ("last", json!({ "last": -1 })),
        ("last", json!({ "first": 1, "last": 1 })),
        ("after", json!({ "after": "nonsense" })),
        ("before", json!({ "before": "é" })),
    ] {
        let error = desk.refused(LIST, variables).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
        assert_eq!(error["extensions"]["field"], field, "{error}");
    }
}

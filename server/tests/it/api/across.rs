//! Lists, charts and feeds of all namespaces that somebody may see.

use entity::user::Role;
use futures::StreamExt;
use serde_json::{Value, json};

use super::{
    desk::{CREATE, Desk},
    walking::{member_of, namespace},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    lists_and_figures_of_all_namespaces_hold_what_one_may_see,
    a_page_of_all_namespaces_goes_on_where_it_ended,
    runs_of_all_namespaces_are_followed,
);

/// Three namespaces with a schedule each, of which each has run once.
async fn fleet(database: TestDatabase) -> Desk {
    let desk = Desk::open(database).await;
    let id = desk.schedule("mid", "@hourly").await;
    desk.trigger(&id).await;
    for (place, name) in [("east", "zed"), ("west", "Abe")] {
        let make = "mutation($name: String!) { createNamespace(name: $name) { __typename } }";
        desk.ask(make, json!({ "name": place })).await;
        let input = json!({
            "namespace": place, "name": name,
            "timing": { "expressions": ["@hourly"] }, "task": { "target": { "noop": {} } },
        });
        let made = desk.ask(CREATE, json!({ "input": input })).await;
        desk.trigger(made["createSchedule"]["schedule"]["id"].as_str().unwrap()).await;
    }
    desk
}

const SEEN: &str = "query($in: String) {
    schedules(namespace: $in) { totalCount nodes { name namespace } }
    runs(namespace: $in) { totalCount nodes { schedule { name } } }
    overview(namespace: $in) { schedules activeSchedules liveRuns upcoming { schedule { name } } }
    upcoming(namespace: $in) { hours { starts: fires } }
    upcomingByMinute(namespace: $in, minutes: 120) { starts schedules }
    runStats(namespace: $in) { isComplete } }";

fn names(answer: &Value) -> Vec<&str> {
    let nodes = answer["schedules"]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["name"].as_str().unwrap()).collect()
}

async fn lists_and_figures_of_all_namespaces_hold_what_one_may_see(database: TestDatabase) {
    let desk = fleet(database).await;
    // Null means all; to leave it out means the first.
    let all = desk.ask(SEEN, json!({ "in": null })).await;
    assert_eq!(names(&all), ["Abe", "mid", "zed"]);
    assert_eq!(
        (&all["schedules"]["totalCount"], &all["runs"]["totalCount"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(all["overview"]["schedules"], 3);
    assert_eq!(all["overview"]["liveRuns"], 3);
    assert_eq!(all["overview"]["upcoming"].as_array().unwrap().len(), 10);
    assert_eq!(all["upcomingByMinute"]["schedules"], 3);
    // From noon on, once each within two hours: the second fire comes when they are over.
    let starts = all["upcomingByMinute"]["starts"].as_array().unwrap();
    assert_eq!(starts.iter().map(|starts| starts.as_i64().unwrap()).sum::<i64>(), 3);
    assert_eq!(all["runStats"]["isComplete"], true);
    let usual = desk.ask("{ schedules { nodes { name } } }", json!({})).await;
    assert_eq!(names(&usual), ["mid"]);
    let query = "query($search: String) {
        schedules(namespace: null, search: $search) { nodes { name } }
        runs(namespace: null, search: $search) { totalCount } }";
    let sought = desk.ask(query, json!({ "search": "workflow:zed" })).await;
    assert_eq!((names(&sought), &sought["runs"]["totalCount"]), (vec!["zed"], &json!(1)));

    // Somebody of one namespace sees all of that one.
    let west = namespace(&desk, "west").await;
    let eve = member_of(west, Role::Viewer);
    let answer = desk.send_as(&eve, SEEN, json!({ "in": null })).await.data.into_json().unwrap();
    assert_eq!(names(&answer), ["Abe"]);
    assert_eq!(
        (&answer["runs"]["totalCount"], &answer["overview"]["liveRuns"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(answer["upcomingByMinute"]["schedules"], 1);
    assert_eq!(desk.code_for(&eve, SEEN, json!({ "in": "east" })).await, "NOT_FOUND");
}

async fn a_page_of_all_namespaces_goes_on_where_it_ended(database: TestDatabase) {
    let desk = fleet(database).await;
    let query = "query($after: String, $sort: ScheduleSort) {
        schedules(namespace: null, first: 1, after: $after, sort: $sort) {
            nodes { name } pageInfo { endCursor hasNextPage } } }";
    for (sort, expected) in [
        (Value::Null, ["Abe", "mid", "zed"]),
        (json!({ "by": "NAME", "descending": true }), ["zed", "mid", "Abe"]),
    ] {
        let (mut found, mut after) = (Vec::new(), Value::Null);
        loop {
            let page = desk.ask(query, json!({ "after": after, "sort": sort })).await;
            found.push(names(&page)[0].to_owned());
            if page["schedules"]["pageInfo"]["hasNextPage"] == false {
                break;
            }
            after = page["schedules"]["pageInfo"]["endCursor"].clone();
        }
        assert_eq!(found, expected);
    }
}

async fn runs_of_all_namespaces_are_followed(database: TestDatabase) {
    let desk = fleet(database).await;
    let start = carillon::store::Cursor::START.to_string();
    let query = "subscription($since: String) {
        runEvents(namespace: null, since: $since) { run { namespace } } }";
    let events = desk.subscribe(query, json!({ "since": start }));
    let mut seen: Vec<String> = events
        .take(3)
        .map(|event| {
            assert!(event.errors.is_empty(), "{:?}", event.errors);
            let event = event.data.into_json().unwrap();
            event["runEvents"]["run"]["namespace"].as_str().unwrap().to_owned()
        })
        .collect()
        .await;
    seen.sort();
    assert_eq!(seen, ["default", "east", "west"]);
}

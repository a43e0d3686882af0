use std::time::Duration;

use serde_json::json;

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    health_says_what_is_wrong,
    an_overview_shows_upcoming_fires_and_live_runs,
    the_next_fires_are_those_that_will_happen,
);

async fn health_says_what_is_wrong(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("tick", "* * * * *").await;
    let query = "{ health { healthy issues database version zoneData { version source }
        checks { name healthy value limit } } }";
    desk.clock.advance(Duration::from_secs(600));
    let answer = desk.ask(query, json!({})).await;
    let health = &answer["health"];
    assert_eq!(health["healthy"], false);
    let issues = health["issues"].as_array().unwrap();
    assert!(
        issues.iter().any(|issue| issue.as_str().unwrap().contains("due for 540 s")),
        "{health}"
    );
    assert!(health["zoneData"]["version"].as_str().unwrap().starts_with("20"), "{health}");
    // The console and the advice go by the names in the documents.
    let document = include_str!("../../../../docs/metrics.md");
    for check in health["checks"].as_array().unwrap() {
        let name = check["name"].as_str().unwrap();
        assert!(document.contains(&format!("`{name}`")), "docs/metrics.md lacks the check {name}");
    }
    let error = desk.refused("{ health(namespace: \"none\") { healthy } }", json!({})).await;
    assert_eq!(error["extensions"]["code"], "NOT_FOUND");
}

async fn an_overview_shows_upcoming_fires_and_live_runs(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let often = desk.schedule("often", "*/20 * * * *").await;
    desk.schedule("hourly", "@hourly").await;
    desk.schedule("over", "@at 0").await;
    desk.schedule("by-hand", "@manually").await;
    desk.trigger(&often).await;
    let query = "{ active: schedules(filter: { state: ACTIVE }) { totalCount }
        overview { schedules activeSchedules pausedSchedules liveRuns nodes { id }
        executions { total } failures { id } upcoming(first: 4) { at schedule { name } } } }";
    let answer = desk.ask(query, json!({})).await;
    let at = |at: &str, name: &str| json!({ "at": at, "schedule": { "name": name } });
    let mut overview = answer["overview"].clone();
    let upcoming = overview["upcoming"].take();
    assert_eq!(
        overview,
        json!({
            "schedules": 4, "activeSchedules": 3, "pausedSchedules": 0, "liveRuns": 1, "nodes": [],
            "executions": { "total": 0 }, "failures": [], "upcoming": null,
        })
    );
    assert_eq!(answer["active"]["totalCount"], overview["activeSchedules"]);
    assert_eq!(upcoming[0], at("2026-03-01T12:20:00Z", "often"));
    assert_eq!(upcoming[1], at("2026-03-01T12:40:00Z", "often"));
    let both = [&upcoming[2], &upcoming[3]].map(|fire| fire["at"].clone());
    assert_eq!(both, [json!("2026-03-01T13:00:00Z"), json!("2026-03-01T13:00:00Z")]);
}

async fn the_next_fires_are_those_that_will_happen(database: TestDatabase) {
    let desk = Desk::open(database).await;
    // It is noon on a Sunday.
    let calendar = "mutation { createCalendar(input: {
        name: \"sundays\", mode: EXCLUDE, weekdays: [SUN] }) { calendar { id } } }";
    desk.ask(calendar, json!({})).await;
    for input in [
        json!({ "name": "workdays", "timing": { "expressions": ["* * * * *"] },
            "calendars": ["sundays"], "task": { "target": { "noop": {} } } }),
        json!({ "name": "once", "timing": { "expressions": ["*/30 * * * *"] },
            "maxFires": 1, "task": { "target": { "noop": {} } } }),
    ] {
        desk.ask(CREATE, json!({ "input": input })).await;
    }
    desk.schedule("hourly", "@hourly").await;
    let query = "query($first: Int!) { overview { upcoming(first: $first) {
        at schedule { name } } } }";
    let at = |at: &str, name: &str| json!({ "at": at, "schedule": { "name": name } });
    // The schedule that is due first does not fire before Monday.
    let next = desk.ask(query, json!({ "first": 1 })).await["overview"]["upcoming"].clone();
    assert_eq!(next, json!([at("2026-03-01T12:30:00Z", "once")]));
    let next = desk.ask(query, json!({ "first": 3 })).await["overview"]["upcoming"].clone();
    let hourly = ["2026-03-01T13:00:00Z", "2026-03-01T14:00:00Z"].map(|of| at(of, "hourly"));
    assert_eq!(next, json!([at("2026-03-01T12:30:00Z", "once"), hourly[0], hourly[1]]));
}

//! Lists, charts and feeds across all namespaces that a caller may see.

use std::collections::BTreeSet;

use carillon::access::{Grant, Grants, Viewer, ViewerKind};
use entity::{
    fire::{self, Reason, Verdict},
    user::Role,
};
use futures::StreamExt;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    desk::{CREATE, Desk},
    ledger::{plant, planted_fire},
    planted::one_of_each,
    walking::{member_of, namespace},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    lists_and_figures_of_all_namespaces_contain_what_the_caller_may_see,
    the_health_of_all_namespaces_is_that_of_those_one_may_see,
    a_list_of_all_namespaces_continues_after_its_page,
    runs_of_all_namespaces_are_followed,
    objects_of_all_namespaces_are_listed_for_callers_who_may_see_them,
    modules_of_one_name_in_two_namespaces_are_two,
);

/// Three namespaces with one schedule each, each of which has run once.
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
    metrics(namespace: $in) { totalSchedules liveRuns }
    runStats(namespace: $in) { isComplete } }";

fn names(answer: &Value) -> Vec<&str> {
    let nodes = answer["schedules"]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["name"].as_str().unwrap()).collect()
}

async fn lists_and_figures_of_all_namespaces_contain_what_the_caller_may_see(
    database: TestDatabase,
) {
    let desk = fleet(database).await;
    // Null means all namespaces; omitting the argument means the default one.
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
    // From noon on, each schedule fires once within two hours; its second fire comes later.
    let starts = all["upcomingByMinute"]["starts"].as_array().unwrap();
    assert_eq!(starts.iter().map(|starts| starts.as_i64().unwrap()).sum::<i64>(), 3);
    assert_eq!(all["metrics"], json!({ "totalSchedules": 3, "liveRuns": 3 }));
    assert_eq!(all["runStats"]["isComplete"], true);
    let usual = desk.ask("{ schedules { nodes { name } } }", json!({})).await;
    assert_eq!(names(&usual), ["mid"]);
    let query = "query($search: String) {
        schedules(namespace: null, search: $search) { nodes { name } }
        runs(namespace: null, search: $search) { totalCount } }";
    let sought = desk.ask(query, json!({ "search": "workflow:zed" })).await;
    assert_eq!((names(&sought), &sought["runs"]["totalCount"]), (vec!["zed"], &json!(1)));

    // A member of one namespace sees everything in it.
    let west = namespace(&desk, "west").await;
    let eve = member_of(west, Role::Viewer);
    let answer = desk.send_as(&eve, SEEN, json!({ "in": null })).await.data.into_json().unwrap();
    assert_eq!(names(&answer), ["Abe"]);
    assert_eq!(
        (&answer["runs"]["totalCount"], &answer["overview"]["liveRuns"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(answer["upcomingByMinute"]["schedules"], 1);
    assert_eq!(answer["metrics"], json!({ "totalSchedules": 1, "liveRuns": 1 }));
    assert_eq!(desk.code_for(&eve, SEEN, json!({ "in": "east" })).await, "NOT_FOUND");
}

async fn the_health_of_all_namespaces_is_that_of_those_one_may_see(database: TestDatabase) {
    let desk = fleet(database).await;
    let lost = async |place: &str, count: i64| {
        let list = "query($in: String) { schedules(namespace: $in) { nodes { id } } }";
        let id =
            desk.ask(list, json!({ "in": place })).await["schedules"]["nodes"][0]["id"].clone();
        let home = namespace(&desk, place).await;
        let missed = (Verdict::Missed, Reason::Outage);
        let fire = planted_fire(id.as_str().unwrap(), home, 10, missed);
        plant(&desk, [fire::Model { count, ..fire }]).await;
    };
    lost("west", 20).await;
    lost("east", 30).await;
    let query = "{ health { checks { name value } findings { code value schedules { name } } } }";
    let missed = |answer: Value| {
        let found = answer["health"]["findings"].as_array().unwrap().clone();
        found.into_iter().find(|one| one["code"] == "missed").unwrap()
    };
    let all = missed(desk.ask(query, json!({})).await);
    assert_eq!((&all["value"], &all["schedules"][0]["name"]), (&json!("50"), &json!("zed")));
    let eve = member_of(namespace(&desk, "west").await, Role::Viewer);
    let seen = desk.send_as(&eve, query, json!({})).await.data.into_json().unwrap();
    let checks = seen["health"]["checks"].as_array().unwrap();
    // Checks that concern the whole server are for callers who may see all namespaces.
    assert!(checks.iter().all(|check| check["name"] != "brokers"), "{checks:?}");
    let seen = missed(seen);
    assert_eq!((&seen["value"], &seen["schedules"]), (&json!("20"), &json!([{ "name": "Abe" }])));
    let nobody = Viewer::new(Uuid::from_u128(6), "x", ViewerKind::User, Grants::new(None, []), "x");
    assert_eq!(desk.code_for(&nobody, query, json!({})).await, "FORBIDDEN");
}

async fn a_list_of_all_namespaces_continues_after_its_page(database: TestDatabase) {
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

/// The lists of the objects that people and modules create, and of the results of those objects.
const MADE: &str = "query($in: String) {
    alertRules(namespace: $in) { namespace }
    alertChannels(namespace: $in) { namespace }
    alerts(namespace: $in) { nodes { namespace } }
    notifications(namespace: $in) { nodes { namespace } }
    backfills(namespace: $in) { nodes { namespace } }
    calendars(namespace: $in) { nodes { namespace } }
    concurrencyGroups(namespace: $in) { namespace }
    workflows(namespace: $in) { nodes { namespace } }
    modules(namespace: $in) { nodes { namespace } totalCount } }";
const LISTS: [&str; 9] = [
    "alertRules",
    "alertChannels",
    "alerts",
    "notifications",
    "backfills",
    "calendars",
    "concurrencyGroups",
    "workflows",
    "modules",
];

const DEPLOY: &str = "mutation($source: String!) { deployModule(source: $source) { module } }";

fn module(namespace: &str, name: &str) -> Value {
    let source = format!(
        "module: {name}\nnamespace: {namespace}\nschedules:\n  {name}-hourly:\n    \
         when: \"@hourly\"\n    task: {{ target: {{ noop: {{}} }} }}\n"
    );
    json!({ "source": source })
}

/// Three namespaces, each with one of everything, and a module.
async fn full_namespaces(database: TestDatabase) -> Desk {
    let desk = Desk::open(database).await;
    let make = "mutation($name: String!) { createNamespace(name: $name) { __typename } }";
    for name in ["east", "west"] {
        desk.ask(make, json!({ "name": name })).await;
    }
    for name in ["default", "east", "west"] {
        one_of_each(&desk, name).await;
        desk.ask(DEPLOY, module(name, "shared")).await;
    }
    desk
}

/// The namespaces that a list shows, and its number of rows.
fn places<'a>(answer: &'a Value, list: &str) -> (BTreeSet<&'a str>, usize) {
    let rows = answer[list]["nodes"].as_array().or_else(|| answer[list].as_array());
    let rows = rows.unwrap_or_else(|| panic!("{list}: {answer}"));
    let total = answer[list]["totalCount"].as_u64();
    assert!(total.is_none_or(|total| total == rows.len() as u64), "{list}: {answer}");
    (rows.iter().map(|row| row["namespace"].as_str().unwrap()).collect(), rows.len())
}

async fn objects_of_all_namespaces_are_listed_for_callers_who_may_see_them(database: TestDatabase) {
    let desk = full_namespaces(database).await;
    let all = desk.ask(MADE, json!({ "in": null })).await;
    // Omitting the argument means the default namespace.
    let unsaid = MADE.replace("(namespace: $in)", "").replace("($in: String)", "");
    let usual = desk.ask(&unsaid, json!({})).await;
    let west = namespace(&desk, "west").await;
    let eve = member_of(west, Role::Viewer);
    let hers = desk.send_as(&eve, MADE, json!({ "in": null })).await;
    assert!(hers.errors.is_empty(), "{:?}", hers.errors);
    let hers = hers.data.into_json().unwrap();
    let east = namespace(&desk, "east").await;
    let grant = Grant { role: Role::Viewer, sees_payloads: false };
    let grants = Grants::new(None, [(west, grant), (east, grant)]);
    let two = Viewer::new(Uuid::from_u128(9), "tom", ViewerKind::User, grants, "192.0.2.9");
    let theirs = desk.send_as(&two, MADE, json!({ "in": null })).await;
    let theirs = theirs.data.into_json().unwrap();
    for list in LISTS {
        let (seen, rows) = places(&all, list);
        assert_eq!(seen, BTreeSet::from(["default", "east", "west"]), "{list}");
        assert_eq!(places(&usual, list), (BTreeSet::from(["default"]), rows / 3), "{list}");
        let both = BTreeSet::from(["east", "west"]);
        assert_eq!(places(&theirs, list), (both, rows * 2 / 3), "{list}");
        assert_eq!(places(&hers, list), (BTreeSet::from(["west"]), rows / 3), "{list}");
        let query = format!("query($in: String) {{ {list}(namespace: $in) {{ __typename }} }}");
        assert_eq!(desk.code_for(&eve, &query, json!({ "in": "east" })).await, "NOT_FOUND");
    }
}

async fn modules_of_one_name_in_two_namespaces_are_two(database: TestDatabase) {
    let desk = full_namespaces(database).await;
    desk.ask(DEPLOY, module("east", "alone")).await;
    let query = "query($after: String) { modules(namespace: null, first: 1, after: $after) {
        nodes { name namespace schedules } pageInfo { endCursor hasNextPage } totalCount } }";
    let (mut found, mut after) = (Vec::new(), Value::Null);
    loop {
        let page = desk.ask(query, json!({ "after": after })).await;
        let page = &page["modules"];
        assert_eq!((&page["totalCount"], &page["nodes"][0]["schedules"]), (&json!(4), &json!(1)));
        let word = |field: &str| page["nodes"][0][field].as_str().unwrap().to_owned();
        found.push((word("name"), word("namespace")));
        if page["pageInfo"]["hasNextPage"] == false {
            break;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
    assert_eq!(found[0], ("alone".to_owned(), "east".to_owned()));
    // Rows with the same name are ordered by the keys of their namespaces.
    found.sort();
    let shared = |place: &str| ("shared".to_owned(), place.to_owned());
    assert_eq!(found[1..], [shared("default"), shared("east"), shared("west")]);
}

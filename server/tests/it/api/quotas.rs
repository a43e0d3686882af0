//! The quotas of a namespace: enforced, set and shown.

use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    schedules_over_the_quota_are_refused_with_the_limit,
    a_schedule_that_fires_too_often_is_refused_and_a_slower_one_is_not,
    orders_at_the_same_time_do_not_go_over_the_quota,
    quotas_are_set_shown_and_taken_away,
);

const SET: &str = "mutation ($quotas: NamespaceQuotasInput!) {
    setNamespaceQuotas(namespace: \"default\", quotas: $quotas) { namespace { name } } }";
const SHOW: &str = "{ namespaces { nodes { quotas {
    schedules { used limit own } firesAMinute { used limit own }
    liveRuns { used limit own } logBytesADay { used limit own }
    logBytesARun { used limit own } logBytes { used limit own } historyRows { used limit own }
    historySince } } } }";
const BULK: &str = "mutation ($inputs: [CreateScheduleInput!]!) {
    createSchedules(inputs: $inputs) { id } }";
const DEPLOY: &str =
    "mutation ($source: String!) { deployModule(source: $source) { changes { name } } }";
const UPDATE: &str = "mutation ($id: UUID!, $expressions: [String!]!) {
    updateSchedule(input: { id: $id, expectedVersion: 1,
        timing: { expressions: $expressions } }) { schedule { id } } }";

fn input(name: &str, expression: &str) -> Value {
    json!({
        "name": name,
        "timing": { "expressions": [expression] },
        "task": { "target": { "noop": {} } },
    })
}

async fn set(desk: &Desk, quotas: Value) {
    desk.ask(SET, json!({ "quotas": quotas })).await;
}

async fn used(desk: &Desk, quota: &str) -> Value {
    desk.ask(SHOW, json!({})).await["namespaces"]["nodes"][0]["quotas"][quota].take()
}

/// Checks that a refusal names the quota.
fn is_over(error: &Value, quota: &str, limit: i64, used: i64, asked: i64) {
    let told = &error["extensions"];
    assert_eq!(told["code"], "QUOTA_EXCEEDED", "{error}");
    assert_eq!(
        [&told["quota"], &told["limit"], &told["used"], &told["asked"]],
        [&json!(quota), &json!(limit), &json!(used), &json!(asked)],
        "{error}"
    );
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(&format!("{used} of {limit}")), "{message}");
}

async fn schedules_over_the_quota_are_refused_with_the_limit(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("before", "@daily").await;
    set(&desk, json!({ "schedules": 3 })).await;
    desk.schedule("a", "@daily").await;
    let four = |from: usize, count: usize| -> Vec<Value> {
        (from..from + count).map(|number| input(&format!("bulk-{number}"), "@daily")).collect()
    };
    let refused = desk.refused(BULK, json!({ "inputs": four(0, 2) })).await;
    is_over(&refused, "schedules", 3, 2, 2);
    let source = "namespace = \"default\"\nmodule = \"m\"\n\
        [[schedules]]\nname = \"x\"\ncron = \"@daily\"\ntask = { noop = {} }\n\
        [[schedules]]\nname = \"y\"\ncron = \"@daily\"\ntask = { noop = {} }\n";
    let refused = desk.refused(DEPLOY, json!({ "source": source })).await;
    assert!(
        ["QUOTA_EXCEEDED", "BAD_USER_INPUT"]
            .contains(&refused["extensions"]["code"].as_str().unwrap()),
        "{refused}"
    );
    let last = desk.schedule("b", "@daily").await;
    let refused = desk.refused(CREATE, json!({ "input": input("c", "@daily") })).await;
    is_over(&refused, "schedules", 3, 3, 1);
    let delete = "mutation ($id: UUID!) { deleteSchedule(id: $id) { id } }";
    desk.ask(delete, json!({ "id": last })).await;
    desk.schedule("c", "@daily").await;
    assert_eq!(used(&desk, "schedules").await, json!({ "used": 3, "limit": 3, "own": 3 }));
}

async fn a_schedule_that_fires_too_often_is_refused_and_a_slower_one_is_not(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    set(&desk, json!({ "firesAMinute": 90 })).await;
    let slow = desk.schedule("slow", "* * * * *").await;
    desk.schedule("each-second", "* * * * * *").await;
    let refused = desk.refused(CREATE, json!({ "input": input("too", "*/2 * * * * *") })).await;
    is_over(&refused, "firesAMinute", 90, 61, 30);
    let edit = json!({ "id": slow, "expressions": ["* * * * * *"] });
    is_over(&desk.refused(UPDATE, edit).await, "firesAMinute", 90, 61, 59);
    desk.ask(UPDATE, json!({ "id": slow, "expressions": ["*/3 * * * * *"] })).await;
    desk.schedule("nightly", "@daily").await;
    let expected = json!({ "used": 80, "limit": 90, "own": 90 });
    assert_eq!(used(&desk, "firesAMinute").await, expected);
}

async fn orders_at_the_same_time_do_not_go_over_the_quota(database: TestDatabase) {
    let desk = Desk::open(database).await;
    set(&desk, json!({ "schedules": 5 })).await;
    let names: Vec<String> = (0..20).map(|number| format!("at-once-{number}")).collect();
    let orders = names.iter().map(|name| async {
        let variables = json!({ "input": input(name, "@daily") });
        let role = Some(entity::user::Role::Admin);
        desk.send(role, CREATE, variables).await.errors.is_empty()
    });
    let made = futures::future::join_all(orders).await;
    assert_eq!(made.into_iter().filter(|is_made| *is_made).count(), 5);
    assert_eq!(used(&desk, "schedules").await["used"], 5);
}

async fn quotas_are_set_shown_and_taken_away(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let unlimited = json!({ "used": 0, "limit": null, "own": null });
    for quota in [
        "schedules",
        "firesAMinute",
        "liveRuns",
        "logBytesADay",
        "logBytesARun",
        "logBytes",
        "historyRows",
    ] {
        assert_eq!(used(&desk, quota).await, unlimited);
    }
    set(&desk, json!({ "liveRuns": 7, "logBytesADay": 0 })).await;
    assert_eq!(used(&desk, "liveRuns").await, json!({ "used": 0, "limit": 7, "own": 7 }));
    assert_eq!(used(&desk, "logBytesADay").await, json!({ "used": 0, "limit": null, "own": 0 }));
    set(&desk, json!({ "logBytesARun": 1, "logBytes": 2, "historyRows": 3 })).await;
    for (quota, limit) in [("logBytesARun", 1), ("logBytes", 2), ("historyRows", 3)] {
        let expected = json!({ "used": 0, "limit": limit, "own": limit });
        assert_eq!(used(&desk, quota).await, expected);
    }
    assert_eq!(used(&desk, "historySince").await, json!(null));
    set(&desk, json!({})).await;
    assert_eq!(used(&desk, "liveRuns").await, unlimited);
    let refused = desk.refused(SET, json!({ "quotas": { "schedules": -1 } })).await;
    let told = &refused["extensions"];
    assert_eq!([&told["code"], &told["field"]], ["BAD_USER_INPUT", "quotas.schedules"]);
    for role in [entity::user::Role::Editor, entity::user::Role::Viewer] {
        let refused = desk.refused_as(Some(role), SET, json!({ "quotas": {} })).await;
        assert_eq!(refused["extensions"]["code"], "FORBIDDEN", "{refused}");
    }
}

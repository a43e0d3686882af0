//! A target executed once, without a schedule.

use std::{pin::pin, time::Duration};

use carillon::clock::Clock;
use entity::user::Role;
use futures::future::join;
use serde_json::{Value, json};

use super::{
    desk::{CREATE, Desk, viewer},
    walking::{member_of, namespace},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_target_is_tried_without_a_schedule_and_a_run,
    the_output_of_a_test_call_is_masked,
    a_test_call_needs_the_right_to_edit_and_is_bounded,
    a_namespace_whose_test_calls_hang_leaves_places_for_another,
);

const TRY: &str = "mutation($input: TestCallInput!, $key: String) {
    testCall(input: $input, idempotencyKey: $key) {
        succeeded error exitCode durationMs output log } }";

/// How far the desk's clock moves at a time.
const TICK: Duration = Duration::from_millis(10);

fn script(script: &str) -> Value {
    json!({ "target": { "command": { "script": script } } })
}

async fn a_target_is_tried_without_a_schedule_and_a_run(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let good = desk.ask(TRY, json!({ "input": script("echo one; echo two") })).await;
    let good = &good["testCall"];
    assert_eq!((&good["succeeded"], &good["exitCode"]), (&json!(true), &json!(0)));
    assert_eq!(good["log"], json!(["one", "two"]));
    let bad = desk.ask(TRY, json!({ "input": script("exit 3") })).await;
    let bad = &bad["testCall"];
    assert_eq!((&bad["succeeded"], &bad["exitCode"]), (&json!(false), &json!(3)));
    assert!(bad["error"].as_str().unwrap().contains('3'), "{bad}");
    let mut slow = script("sleep 600");
    slow["timeoutSeconds"] = json!(0.2);
    let mut asked = pin!(desk.ask(TRY, json!({ "input": slow })));
    let real_time = Clock::system();
    let slow = loop {
        tokio::select! {
            slow = &mut asked => break slow,
            () = real_time.sleep(TICK) => desk.clock.pass(TICK),
        }
    };
    assert_eq!(slow["testCall"]["succeeded"], false);

    let facts = "{ schedules { totalCount } runs { totalCount }
        auditEvents(filter: { action: \"target.test\" }) { totalCount } }";
    let facts = desk.ask(facts, json!({})).await;
    let count = |list: &str| facts[list]["totalCount"].as_i64().unwrap();
    assert_eq!([count("schedules"), count("runs"), count("auditEvents")], [0, 0, 3]);

    // A repeated call does not execute the target again.
    let keyed = json!({ "input": script("echo again"), "key": "once" });
    desk.ask(TRY, keyed.clone()).await;
    assert_eq!(desk.refused(TRY, keyed).await["extensions"]["code"], "CONFLICT");
}

async fn the_output_of_a_test_call_is_masked(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let set = "mutation { setSecret(input: { name: \"door\", value: \"open-sesame\" }) {
        secret { name } } }";
    desk.ask(set, json!({})).await;
    let input = json!({
        "target": { "command": {
            "script": "echo \"$DOOR $OWN\"",
            "environment": [
                { "name": "DOOR", "value": "{{ secrets.door }}" },
                { "name": "OWN", "value": "{{ context.word }}" },
            ],
        } },
        "context": { "word": "swordfish" },
    });
    let called = desk.ask(TRY, json!({ "input": input })).await;
    assert_eq!(called["testCall"]["log"], json!(["*** swordfish"]), "{called}");
    assert!(!called.to_string().contains("open-sesame"), "{called}");
    let unset = json!({ "target": { "command": {
        "program": "/bin/true", "args": ["{{ secrets.nobody }}"]
    } } });
    let called = desk.ask(TRY, json!({ "input": unset })).await;
    assert!(called["testCall"]["error"].as_str().unwrap().contains("nobody"), "{called}");

    // A form that edits a schedule sends masks in place of the values that it was not shown.
    let variable = |value: &str| json!([{ "name": "ACCOUNT", "value": value }]);
    let target = |value: &str| {
        json!({ "command": { "script": "test ${#ACCOUNT} = 9",
            "environment": variable(value) } })
    };
    let made = json!({ "name": "nightly", "timing": { "expressions": ["@daily"] },
        "task": { "target": target("hush-hush") } });
    let made = desk.ask(CREATE, json!({ "input": made })).await;
    let id = &made["createSchedule"]["schedule"]["id"];
    let input = json!({ "target": target("***"), "scheduleId": id });
    let called = desk.ask(TRY, json!({ "input": input })).await;
    assert_eq!(called["testCall"]["succeeded"], true, "{called}");
    let log = desk.ask("{ auditEvents { nodes { before after } } }", json!({})).await.to_string();
    assert!(!log.contains("hush-hush") && !log.contains("open-sesame"), "{log}");
}

async fn a_test_call_needs_the_right_to_edit_and_is_bounded(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let operator = viewer(Role::Operator);
    let input = json!({ "input": script("true") });
    assert_eq!(desk.code_for(&operator, TRY, input.clone()).await, "FORBIDDEN");
    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    let stranger = member_of(namespace(&desk, "other").await, Role::Admin);
    assert_eq!(desk.code_for(&stranger, TRY, input).await, "NOT_FOUND");
    for seconds in [0.0, 21.0, 3_000_000.0] {
        let mut long = script("true");
        long["timeoutSeconds"] = json!(seconds);
        let error = desk.refused(TRY, json!({ "input": long })).await;
        assert_eq!(error["extensions"]["field"], "task.timeoutSeconds", "{error}");
    }
    let nothing = json!({ "input": { "target": { "command": {} } } });
    assert_eq!(desk.refused(TRY, nothing).await["extensions"]["code"], "BAD_USER_INPUT");
}

async fn a_namespace_whose_test_calls_hang_leaves_places_for_another(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    let mut hangs = script("exec tail -f /dev/null");
    hangs["timeoutSeconds"] = json!(0.2);
    let hangs = json!({ "input": hangs });
    let mut held = pin!(join(desk.ask(TRY, hangs.clone()), desk.ask(TRY, hangs.clone())));
    let real_time = Clock::system();
    let count = "{ auditEvents(filter: { action: \"target.test\" }) { totalCount } }";
    let begun = async {
        // The desk's clock stands still, so neither of them times out.
        while desk.ask(count, json!({})).await["auditEvents"]["totalCount"] != 2 {
            real_time.sleep(TICK).await;
        }
    };
    tokio::select! {
        ended = &mut held => panic!("they ended: {ended:?}"),
        () = begun => {}
    }
    let refused = desk.refused(TRY, hangs).await;
    assert_eq!(refused["extensions"]["code"], "RATE_LIMITED", "{refused}");
    let other = json!({ "input": { "namespace": "other", "target": { "noop": {} } } });
    assert_eq!(desk.ask(TRY, other).await["testCall"]["succeeded"], true);
    loop {
        tokio::select! {
            _ = &mut held => break,
            () = real_time.sleep(TICK) => desk.clock.pass(TICK),
        }
    }
}

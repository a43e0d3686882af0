//! Who may check the ledger, how much at once, and page by page.

use entity::user::Role;
use serde_json::{Value, json};

use super::{
    desk::{CREATE, Desk},
    walking::{member_of, namespace},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_ledger_is_checked_page_by_page,
    what_nobody_has_claimed_is_open,
    a_check_of_too_much_is_refused,
    history_that_may_have_been_removed_is_not_checked,
    the_ledger_of_another_namespace_is_not_checked,
    deleted_schedules_have_pages_of_their_own,
);

const CHECK: &str = "query($in: String, $search: String, $from: DateTime, $until: DateTime,
        $deleted: Boolean! = false, $first: Int! = 50, $after: String) {
    ledgerCheck(namespace: $in, search: $search, from: $from, until: $until, deleted: $deleted,
            first: $first, after: $after) {
        from until expected accounted unexplained unexpected waiting paused unjudged unchecked
        findings { schedule { name } at fault text fireId version }
        schedules { schedule { name } from expected waiting unjudged deletedAt problem }
        hasNextPage endCursor } }";

async fn check(desk: &Desk, variables: Value) -> Value {
    desk.ask(CHECK, variables).await["ledgerCheck"].take()
}

fn names(check: &Value) -> Vec<&str> {
    let schedules = check["schedules"].as_array().unwrap().iter();
    schedules.map(|one| one["schedule"]["name"].as_str().unwrap()).collect()
}

async fn a_ledger_is_checked_page_by_page(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for name in ["c", "a", "b"] {
        desk.schedule(name, "@hourly").await;
    }
    desk.clock.set("2026-03-01T14:30:00Z".parse().unwrap());
    let first = check(&desk, json!({ "first": 2 })).await;
    assert_eq!((names(&first), &first["hasNextPage"]), (vec!["a", "b"], &json!(true)));
    assert_eq!(first["waiting"], 4, "two hours of two schedules: {first}");
    let next = check(&desk, json!({ "first": 2, "after": first["endCursor"] })).await;
    assert_eq!((names(&next), &next["hasNextPage"]), (vec!["c"], &json!(false)));
    let found = check(&desk, json!({ "search": "name:b" })).await;
    assert_eq!((names(&found), &found["waiting"]), (vec!["b"], &json!(2)));
    assert_eq!(
        (&found["from"], &found["until"]),
        (&json!("2026-02-28T14:30:00Z"), &json!("2026-03-01T14:30:00Z"))
    );
    let none = check(&desk, json!({ "search": "name:absent" })).await;
    assert_eq!((names(&none), &none["endCursor"]), (vec![], &Value::Null));
}

async fn what_nobody_has_claimed_is_open(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("hourly", "@hourly").await;
    desk.clock.set("2026-03-01T14:30:00Z".parse().unwrap());
    let open = |check: &Value| (check["waiting"].clone(), check["paused"].clone());
    let found = check(&desk, json!({})).await;
    assert_eq!(open(&found), (json!(2), json!(0)));
    assert_eq!((&found["expected"], &found["findings"]), (&json!(0), &json!([])));
    let pause = "mutation($id: UUID!) {
        pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": id })).await;
    assert_eq!(open(&check(&desk, json!({})).await), (json!(0), json!(2)));
    let resume = "mutation($id: UUID!) {
        resumeSchedule(id: $id, missed: SKIP) { schedule { id } } }";
    desk.ask(resume, json!({ "id": id })).await;
    let found = check(&desk, json!({})).await;
    assert_eq!(open(&found), (json!(0), json!(0)));
    assert_eq!((&found["expected"], &found["accounted"]), (&json!(2), &json!(2)));
    // Deleted while two more instants were open, and restored an hour later.
    desk.clock.set("2026-03-01T16:30:00Z".parse().unwrap());
    let delete = "mutation($id: UUID!) { deleteSchedule(id: $id) { id } }";
    desk.ask(delete, json!({ "id": id })).await;
    desk.clock.set("2026-03-01T18:30:00Z".parse().unwrap());
    let restore = "mutation($id: UUID!) { undeleteSchedule(id: $id) { schedule { id } } }";
    desk.ask(restore, json!({ "id": id })).await;
    let found = check(&desk, json!({})).await;
    assert_eq!(
        (&found["expected"], &found["accounted"], &found["unexpected"]),
        (&json!(4), &json!(4), &json!(0)),
        "{found}"
    );
}

async fn a_check_of_too_much_is_refused(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("second", "* * * * * *").await;
    desk.clock.set("2026-03-04T12:00:00Z".parse().unwrap());
    let whole = check(&desk, json!({})).await;
    assert_eq!(whole["waiting"], 86_400);
    for (variables, field, limit) in [
        (json!({ "from": "2026-03-02T12:00:00Z" }), "from", "the limit is 150000"),
        (json!({ "from": "2026-01-31T10:00:00Z" }), "from", "more than 31 days"),
        (json!({ "from": "2026-03-04T12:00:00Z" }), "from", "not before the end"),
        (json!({ "first": 201 }), "first", "give 1 to 200"),
        (json!({ "first": 0 }), "first", "give 1 to 200"),
        (json!({ "after": "x" }), "after", "not a cursor"),
        (json!({ "search": "nonsense:1" }), "search", ""),
    ] {
        let error = desk.refused(CHECK, variables.clone()).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{variables}: {error}");
        assert_eq!(error["extensions"]["field"], field, "{variables}: {error}");
        assert!(error["message"].as_str().unwrap().contains(limit), "{variables}: {error}");
    }
    // Together they are too many, so each has a page of its own.
    desk.schedule("seconds", "* * * * * *").await;
    desk.clock.set("2026-03-05T12:00:00Z".parse().unwrap());
    let first = check(&desk, json!({})).await;
    assert_eq!((names(&first), &first["hasNextPage"]), (vec!["second"], &json!(true)));
    let next = check(&desk, json!({ "after": first["endCursor"] })).await;
    assert_eq!((names(&next), &next["hasNextPage"]), (vec!["seconds"], &json!(false)));
    assert_eq!(next["waiting"], 86_400 - 1, "it was created at the first of them");
}

async fn history_that_may_have_been_removed_is_not_checked(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let input = json!({
        "name": "hourly", "timing": { "expressions": ["@hourly"] }, "retentionDays": 1,
        "task": { "target": { "noop": {} } },
    });
    desk.ask(CREATE, json!({ "input": input })).await;
    desk.clock.set("2026-03-05T12:00:00Z".parse().unwrap());
    let found = check(&desk, json!({ "from": "2026-03-01T12:00:00Z" })).await;
    assert_eq!(found["from"], "2026-03-01T12:00:00Z");
    assert_eq!(found["schedules"][0]["from"], "2026-03-04T12:01:00Z");
    assert_eq!(found["waiting"], 23);
    let none =
        check(&desk, json!({ "from": "2026-03-01T12:00:00Z", "until": "2026-03-02T12:00:00Z" }));
    let none = none.await;
    assert_eq!((&none["waiting"], &none["expected"]), (&json!(0), &json!(0)));
    assert_eq!(none["schedules"][0]["from"], none["until"]);
}

async fn the_ledger_of_another_namespace_is_not_checked(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("mine", "@hourly").await;
    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    let eve = member_of(namespace(&desk, "other").await, Role::Viewer);
    assert_eq!(desk.code_for(&eve, CHECK, json!({ "in": "default" })).await, "NOT_FOUND");
    let all = desk.send_as(&eve, CHECK, json!({ "in": null })).await.data.into_json().unwrap();
    assert_eq!(names(&all["ledgerCheck"]), Vec::<&str>::new());
    let mine = check(&desk, json!({ "in": null })).await;
    assert_eq!(names(&mine), ["mine"]);
}

async fn deleted_schedules_have_pages_of_their_own(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let mut ids = Vec::new();
    for name in ["c", "a", "b"] {
        ids.push(desk.schedule(name, "@hourly").await);
    }
    desk.clock.set("2026-03-01T14:30:00Z".parse().unwrap());
    let delete = "mutation($id: UUID!) { deleteSchedule(id: $id) { id } }";
    for id in &ids[..2] {
        desk.ask(delete, json!({ "id": id })).await;
    }
    let others = check(&desk, json!({})).await;
    assert_eq!((names(&others), &others["schedules"][0]["deletedAt"]), (vec!["b"], &Value::Null));
    let first = check(&desk, json!({ "deleted": true, "first": 1 })).await;
    assert_eq!((names(&first), &first["hasNextPage"]), (vec!["a"], &json!(true)));
    assert_eq!(first["schedules"][0]["deletedAt"], "2026-03-01T14:30:00Z");
    assert_eq!((&first["expected"], &first["accounted"]), (&json!(2), &json!(2)), "{first}");
    let after = json!({ "deleted": true, "first": 1, "after": first["endCursor"] });
    let next = check(&desk, after).await;
    assert_eq!((names(&next), &next["hasNextPage"]), (vec!["c"], &json!(false)));
    let found = check(&desk, json!({ "deleted": true, "search": "name:c" })).await;
    assert_eq!(names(&found), ["c"]);

    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    let eve = member_of(namespace(&desk, "other").await, Role::Viewer);
    let all = desk.send_as(&eve, CHECK, json!({ "in": null, "deleted": true })).await;
    assert_eq!(names(&all.data.into_json().unwrap()["ledgerCheck"]), Vec::<&str>::new());
}

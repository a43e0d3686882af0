//! The settings that the console stores for a user.

use carillon::access::{Viewer, ViewerKind};
use serde_json::{Value, json};

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(
    settings_are_kept_for_each_person,
    views_are_replaced_deleted_and_limited,
    favourites_are_those_that_a_person_may_see,
);

const ME: &str = "{ me { settings { theme density seenUntil views { id page name query }
    favourites { name } } } }";

/// A user in the database who may view everything.
async fn somebody(desk: &Desk, name: &str) -> Viewer {
    let (_, id) = desk.account(name, Some("VIEWER")).await;
    desk.person(id).await
}

async fn ask(desk: &Desk, who: &Viewer, query: &str, variables: Value) -> Value {
    let answer = desk.send_as(who, query, variables).await;
    assert!(answer.errors.is_empty(), "{query}: {:?}", answer.errors);
    answer.data.into_json().unwrap()
}

async fn settings_are_kept_for_each_person(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let (bob, eve) = (somebody(&desk, "bob").await, somebody(&desk, "eve").await);
    let update = "mutation($input: UpdateMySettingsInput!) { updateMySettings(input: $input) {
        settings { theme density seenUntil } } }";
    let later = "2026-03-01T10:00:00Z";
    let input = json!({ "theme": "DARK", "seenUntil": later });
    let told = ask(&desk, &bob, update, json!({ "input": input })).await;
    assert_eq!(
        told["updateMySettings"]["settings"],
        json!({ "theme": "DARK", "density": null, "seenUntil": later })
    );
    // Absent fields keep their values, and `seenUntil` never moves back.
    let input = json!({ "density": "COMFORTABLE", "seenUntil": "2026-03-01T09:00:00Z" });
    ask(&desk, &bob, update, json!({ "input": input })).await;
    let mine = ask(&desk, &bob, ME, json!({})).await["me"]["settings"].clone();
    assert_eq!(
        [&mine["theme"], &mine["density"], &mine["seenUntil"]],
        [&json!("DARK"), &json!("COMFORTABLE"), &json!(later)]
    );
    // An instant in the future would hide the events until then for ever.
    let ahead = json!({ "input": { "seenUntil": "2026-03-02T12:00:00Z" } });
    let told = ask(&desk, &bob, update, ahead).await;
    let seen = &told["updateMySettings"]["settings"]["seenUntil"];
    assert_eq!(*seen, "2026-03-01T12:00:00Z");
    let theirs = ask(&desk, &eve, ME, json!({})).await["me"]["settings"].clone();
    assert_eq!((&theirs["theme"], &theirs["seenUntil"]), (&Value::Null, &Value::Null));

    // Setting `seenUntil` is not recorded in the audit log; a change of appearance is.
    ask(&desk, &eve, update, json!({ "input": { "seenUntil": later } })).await;
    let log = "{ auditEvents(filter: { action: \"user.settings\" }) { nodes { actor } } }";
    let entries = desk.ask(log, json!({})).await["auditEvents"]["nodes"].clone();
    assert_eq!(entries, json!([{ "actor": "bob" }, { "actor": "bob" }]));

    let token = Viewer { kind: ViewerKind::Token, ..bob };
    assert_eq!(ask(&desk, &token, ME, json!({})).await["me"]["settings"], Value::Null);
    let none = json!({ "input": {} });
    assert_eq!(desk.code_for(&token, update, none).await, "FORBIDDEN");
}

async fn views_are_replaced_deleted_and_limited(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let (bob, eve) = (somebody(&desk, "bob").await, somebody(&desk, "eve").await);
    let save = "mutation($input: SaveViewInput!) { saveView(input: $input) { view { id } } }";
    let kept = async |name: &str, query: &str| {
        let input = json!({ "page": "schedules", "name": name, "query": query });
        let saved = ask(&desk, &bob, save, json!({ "input": input })).await;
        saved["saveView"]["view"]["id"].as_str().unwrap().to_owned()
    };
    let failing = kept("failing", "search=state:failed").await;
    kept("a", "").await;
    assert_eq!(kept("failing", "search=state:timed_out").await, failing);
    let views = ask(&desk, &bob, ME, json!({})).await["me"]["settings"]["views"].clone();
    let told: Vec<_> =
        views.as_array().unwrap().iter().map(|one| (&one["name"], &one["query"])).collect();
    assert_eq!(
        told,
        [(&json!("a"), &json!("")), (&json!("failing"), &json!("search=state:timed_out"))]
    );

    let delete = "mutation($id: UUID!) { deleteView(id: $id) { id } }";
    assert_eq!(desk.code_for(&eve, delete, json!({ "id": failing })).await, "NOT_FOUND");
    ask(&desk, &bob, delete, json!({ "id": failing })).await;
    for number in 1..100 {
        kept(&format!("view {number}"), "x").await;
    }
    let input = json!({ "page": "runs", "name": "one too many", "query": "" });
    assert_eq!(desk.code_for(&bob, save, json!({ "input": input })).await, "CONFLICT");
    for bad in [
        json!({ "page": "", "name": "x", "query": "" }),
        json!({ "page": "x", "name": " ", "query": "" }),
        json!({ "page": "x", "name": "x", "query": "q".repeat(2_001) }),
    ] {
        assert_eq!(desk.code_for(&bob, save, json!({ "input": bad })).await, "BAD_USER_INPUT");
    }
}

async fn favourites_are_those_that_a_person_may_see(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let bob = somebody(&desk, "bob").await;
    let (one, two) = (desk.schedule("one", "@hourly").await, desk.schedule("two", "@hourly").await);
    let set = "mutation($id: UUID!, $is: Boolean!) {
        setFavourite(scheduleId: $id, isFavourite: $is) { schedule { name isFavourite } } }";
    for id in [&two, &one, &two] {
        let told = ask(&desk, &bob, set, json!({ "id": id, "is": true })).await;
        assert_eq!(told["setFavourite"]["schedule"]["isFavourite"], true);
    }
    let mine = ask(&desk, &bob, ME, json!({})).await["me"]["settings"]["favourites"].clone();
    assert_eq!(mine, json!([{ "name": "two" }, { "name": "one" }]));
    ask(&desk, &bob, set, json!({ "id": two, "is": false })).await;
    let list = "query($is: Boolean) { schedules(filter: { favourite: $is }) {
        nodes { name isFavourite } } }";
    for (is, found) in [(true, "one"), (false, "two")] {
        let nodes = ask(&desk, &bob, list, json!({ "is": is })).await["schedules"]["nodes"].clone();
        assert_eq!(nodes, json!([{ "name": found, "isFavourite": is }]));
    }
    // Other users have their own settings, and a deleted user has none.
    let all = desk.ask(list, json!({})).await["schedules"]["nodes"].clone();
    assert!(all.as_array().unwrap().iter().all(|one| one["isFavourite"] == false), "{all}");
    let delete = "mutation($id: UUID!) { deleteSchedule(id: $id) { id } }";
    desk.ask(delete, json!({ "id": one })).await;
    let mine = ask(&desk, &bob, ME, json!({})).await["me"]["settings"]["favourites"].clone();
    assert_eq!(mine, json!([]));
    assert_eq!(desk.code_for(&bob, set, json!({ "id": one, "is": true })).await, "NOT_FOUND");
}

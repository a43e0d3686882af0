use entity::{audit_event, schedule, user::Role};
use futures::{FutureExt, future::join_all};
use sea_orm::{ConnectionTrait, EntityTrait, PaginatorTrait};
use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    each_of_many_calls_at_once_gets_its_own_answer,
    a_name_wanted_by_two_at_once_goes_to_one_of_them,
    a_call_that_is_refused_takes_no_other_along,
    nothing_is_made_for_who_has_hung_up_before_their_turn,
);

fn input(name: &str, expression: &str) -> Value {
    json!({ "input": {
        "name": name,
        "timing": { "expressions": [expression] },
        "task": { "target": { "noop": {} } },
    } })
}

async fn each_of_many_calls_at_once_gets_its_own_answer(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let names: Vec<String> = (0..40).map(|number| format!("tick-{number}")).collect();
    let made = join_all(names.iter().map(|name| desk.ask(CREATE, input(name, "@daily")))).await;
    for (name, made) in names.iter().zip(&made) {
        assert_eq!(made["createSchedule"]["schedule"]["name"], json!(name));
    }
    let read = desk.database.store.read();
    assert_eq!(schedule::Entity::find().count(read).await.unwrap(), 40);
    assert_eq!(audit_event::Entity::find().count(read).await.unwrap(), 80);
}

async fn a_name_wanted_by_two_at_once_goes_to_one_of_them(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let names = (0..20).map(|number| format!("tick-{}", number / 2));
    let calls = names.map(|name| {
        let desk = &desk;
        async move { desk.send(Some(Role::Admin), CREATE, input(&name, "@daily")).await }
    });
    let answers = join_all(calls).await;
    let refused: Vec<_> = answers.iter().filter(|answer| answer.is_err()).collect();
    assert_eq!(refused.len(), 10);
    for answer in refused {
        let error = serde_json::to_value(&answer.errors[0]).unwrap();
        assert_eq!(error["extensions"]["field"], "name", "{error}");
    }
    let read = desk.database.store.read();
    assert_eq!(schedule::Entity::find().count(read).await.unwrap(), 10);
}

async fn a_call_that_is_refused_takes_no_other_along(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("taken", "@daily").await;
    let calls = [
        input("a", "@daily"),
        input("taken", "@daily"),
        input("b", "not a timing"),
        input("nul", "@daily"),
        input("c", "@daily"),
    ];
    let calls = calls.into_iter().map(|mut input| {
        if input["input"]["name"] == "nul" {
            input["input"]["note"] = json!("a \0 in it");
        }
        let desk = &desk;
        async move { desk.send(Some(Role::Admin), CREATE, input).await }
    });
    let answers = join_all(calls).await;
    let fields: Vec<Option<Value>> = answers
        .iter()
        .map(|answer| {
            let error = serde_json::to_value(answer.errors.first()?).unwrap();
            Some(error["extensions"]["field"].clone())
        })
        .collect();
    let expected = [
        None,
        Some(json!("name")),
        Some(json!("timing.expressions[0]")),
        Some(json!("note")),
        None,
    ];
    assert_eq!(fields, expected);
    let read = desk.database.store.read();
    assert_eq!(schedule::Entity::find().count(read).await.unwrap(), 3);
}

async fn nothing_is_made_for_who_has_hung_up_before_their_turn(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let store = &desk.database.store;
    // Nobody else writes schedules meanwhile: on SQLite nobody writes at all.
    let busy = store.begin().await.unwrap();
    if store.dialect().is_postgres() {
        busy.execute_unprepared("LOCK TABLE schedule IN SHARE ROW EXCLUSIVE MODE").await.unwrap();
    }
    let call = |name: &str| Box::pin(desk.ask(CREATE, input(name, "@daily")));
    let (mut first, mut second) = (call("first"), call("second"));
    for _ in 0..100 {
        assert!((&mut first).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    for _ in 0..100 {
        assert!((&mut second).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    drop(second);
    busy.rollback().await.unwrap();
    first.await;
    call("third").await;
    let rows = schedule::Entity::find().all(store.read()).await.unwrap();
    let mut names: Vec<_> = rows.into_iter().map(|row| row.name).collect();
    names.sort();
    assert_eq!(names, ["first", "third"]);
}

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use carillon::{
    commands::{BulkItems, Call, Commands},
    engine::Signals,
    store::{FaultPoint, Faults, StoreError},
    target::{Executor, Policy},
};
use entity::{audit_event, run, schedule, user::Role};
use futures::FutureExt;
use sea_orm::{ColumnTrait, DbErr, EntityTrait, QueryFilter, QueryOrder};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

use super::desk::{CREATE, Desk, viewer};
use crate::support::{TestDatabase, on_both};

on_both!(
    an_order_for_many_is_counted_first_and_then_done,
    refused_items_of_a_bulk_order_are_listed_and_the_others_are_done,
    an_order_for_many_that_is_repeated_is_done_once,
    runs_are_cancelled_and_retried_together,
    tags_are_given_and_taken_together,
    policies_are_changed_together,
    next_fires_are_left_out_together,
    an_order_that_changes_what_it_sought_goes_on_where_its_time_was_over,
    an_order_that_loses_the_database_says_how_many_remain,
    an_order_for_many_outlives_its_request,
);

const PAUSE: &str = "mutation($search: String!, $dry: Boolean!, $count: Int, $key: String) {
    pauseSchedules(which: { search: $search, dryRun: $dry, expectedCount: $count },
        reason: \"flood\", idempotencyKey: $key) {
        dryRun matched tooMany done refused refusals { id code message } sample { name state } } }";
const TRIGGER: &str = "mutation($search: String!, $key: String) {
    triggerSchedules(which: { search: $search }, reason: \"drill\", idempotencyKey: $key) { done matched } }";

async fn tagged(desk: &Desk, name: &str, tags: Value) -> String {
    let input = json!({
        "name": name, "tags": tags, "timing": { "expressions": ["@daily"] },
        "task": { "target": { "noop": {} } },
    });
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned()
}

async fn paused(desk: &Desk) -> Vec<String> {
    let query = schedule::Entity::find()
        .filter(schedule::Column::Enabled.eq(false))
        .filter(schedule::Column::DeletedAt.is_null())
        .order_by_asc(schedule::Column::Name);
    let rows = query.all(desk.database.store.read()).await.unwrap();
    rows.into_iter().map(|row| row.name).collect()
}

async fn actions(desk: &Desk) -> Vec<(String, String)> {
    let rows = audit_event::Entity::find().all(desk.database.store.read()).await.unwrap();
    rows.into_iter().map(|row| (row.action, row.subject)).collect()
}

async fn an_order_for_many_is_counted_first_and_then_done(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for number in 0..12 {
        tagged(&desk, &format!("b-{number:02}"), json!(["billing"])).await;
    }
    tagged(&desk, "other", json!([])).await;
    let before = actions(&desk).await.len();
    let counted = desk.ask(PAUSE, json!({ "search": "tag:billing", "dry": true })).await;
    let counted = &counted["pauseSchedules"];
    assert_eq!((&counted["matched"], &counted["done"]), (&json!(12), &json!(0)), "{counted}");
    assert_eq!((&counted["dryRun"], &counted["tooMany"]), (&json!(true), &json!(false)));
    let sample = counted["sample"].as_array().unwrap();
    assert_eq!(sample.len(), 10);
    assert_eq!(sample[0], json!({ "name": "b-00", "state": "ACTIVE" }));
    assert_eq!(paused(&desk).await, [""; 0]);
    assert_eq!(actions(&desk).await.len(), before, "a dry run is no change");

    let other = json!({ "search": "tag:billing", "dry": false, "count": 11 });
    let error = desk.refused(PAUSE, other).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT");
    assert!(error["message"].as_str().unwrap().contains("finds 12"), "{error}");
    assert_eq!(paused(&desk).await, [""; 0]);

    let order = json!({ "search": "tag:billing", "dry": false, "count": 12 });
    let done = desk.ask(PAUSE, order).await;
    let done = &done["pauseSchedules"];
    assert_eq!((&done["done"], &done["refused"]), (&json!(12), &json!(0)), "{done}");
    assert_eq!(done["sample"][0], json!({ "name": "b-00", "state": "PAUSED" }));
    assert_eq!(paused(&desk).await.len(), 12);
    let told = actions(&desk).await;
    assert_eq!(told.len(), before + 13);
    assert_eq!(told.iter().filter(|(action, _)| action == "schedule.pause").count(), 12);
    assert!(told.contains(&("schedule.pause_many".to_owned(), "tag:billing".to_owned())));

    let resume = "mutation { resumeSchedules(which: { search: \"state:paused\" }) { done } }";
    let resumed = desk.ask(resume, json!({})).await;
    assert_eq!(resumed["resumeSchedules"]["done"], 12);
    assert_eq!(paused(&desk).await, [""; 0]);

    let delete = "mutation { deleteSchedules(which: { search: \"name:b-0\" }, reason: \"old\") {
        done } }";
    let deleted = desk.ask(delete, json!({})).await;
    assert_eq!(deleted["deleteSchedules"]["done"], 10);
    let left = desk.ask("{ schedules { totalCount } }", json!({})).await;
    assert_eq!(left["schedules"]["totalCount"], 3);
}

async fn refused_items_of_a_bulk_order_are_listed_and_the_others_are_done(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let source = "module: billing\nschedules:\n  declared:\n    when: \"@daily\"\n    \
                  task: { target: { noop: {} } }\n";
    let deploy = "mutation($source: String!) { deployModule(source: $source) { module } }";
    desk.ask(deploy, json!({ "source": source })).await;
    tagged(&desk, "by-hand", json!([])).await;
    let delete = "mutation($dry: Boolean!) {
        deleteSchedules(which: { search: \"state:active\", dryRun: $dry }) {
        matched done refused refusals { id code message } } }";
    let counted = desk.ask(delete, json!({ "dry": true })).await;
    let counted = &counted["deleteSchedules"];
    assert_eq!((&counted["done"], &counted["refused"]), (&json!(0), &json!(1)), "{counted}");
    let done = desk.ask(delete, json!({ "dry": false })).await;
    let done = &done["deleteSchedules"];
    assert_eq!((&done["matched"], &done["done"]), (&json!(2), &json!(1)), "{done}");
    assert_eq!(counted["refusals"], done["refusals"], "the dry run says what happens");
    assert_eq!(done["refusals"][0]["code"], "CONFLICT");
    assert!(done["refusals"][0]["message"].as_str().unwrap().contains("module"), "{done}");
    let left = desk.ask("{ schedules { nodes { name } } }", json!({})).await;
    assert_eq!(left["schedules"]["nodes"], json!([{ "name": "declared" }]));
}

async fn an_order_for_many_that_is_repeated_is_done_once(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let first = tagged(&desk, "a", json!(["x"])).await;
    tagged(&desk, "b", json!(["x"])).await;
    let order = json!({ "search": "tag:x", "key": "drill-1" });
    let done = desk.ask(TRIGGER, order.clone()).await;
    assert_eq!(done["triggerSchedules"], json!({ "done": 2, "matched": 2 }));
    // One more schedule matches now, but a repeated call returns the first answer.
    tagged(&desk, "c", json!(["x"])).await;
    assert_eq!(desk.ask(TRIGGER, order).await, done);
    let runs = || async { run::Entity::find().all(desk.database.store.read()).await.unwrap() };
    assert_eq!(runs().await.len(), 2);
    // The idempotency key belongs to the arguments of the first call.
    let error = desk.refused(TRIGGER, json!({ "search": "tag:y", "key": "drill-1" })).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT");

    // The request is interrupted after its first item: the caller gets no answer, but the request
    // is stored.
    let store = &desk.database.store;
    let answers = entity::idempotency::Entity::find().all(store.read()).await.unwrap();
    let whole = answers.iter().find(|row| row.key == "drill-1").unwrap();
    let of_first = run::Entity::find().filter(run::Column::ScheduleId.eq(uuid(&first)));
    assert_eq!(of_first.all(store.read()).await.unwrap().len(), 1);
    let forget = entity::idempotency::Entity::delete_many()
        .filter(entity::idempotency::Column::Key.eq(&*whole.key));
    let tx = store.begin().await.unwrap();
    forget.exec(&tx).await.unwrap();
    store.commit(tx).await.unwrap();
    let again = desk.ask(TRIGGER, json!({ "search": "tag:x", "key": "drill-1" })).await;
    assert_eq!(again["triggerSchedules"], json!({ "done": 3, "matched": 3 }));
    assert_eq!(runs().await.len(), 3, "only the one that was not there runs");
}

/// The commands of a node whose bulk operations stop after one item each.
fn in_a_hurry(desk: &Desk) -> Commands {
    let executor = Executor::new(Policy::default(), desk.clock.clock()).unwrap();
    Commands::new(
        desk.database.store.clone().with_lease_clock(desk.clock.clock()),
        desk.clock.clock(),
        Arc::new(timetable::Cache::new(1_000)),
        Arc::new(executor),
        Signals::default(),
    )
    .with_patience(Duration::ZERO)
}

async fn an_order_that_changes_what_it_sought_goes_on_where_its_time_was_over(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    for name in ["a", "b", "c"] {
        tagged(&desk, name, json!([])).await;
    }
    let commands = in_a_hurry(&desk);
    let right = viewer(Role::Operator).operator().unwrap();
    let which = BulkItems {
        namespace: "default".to_owned(),
        search: "state:active".to_owned(),
        expected: Some(3),
        dry_run: false,
    };
    let call = Call::new("pauseSchedules", "flood", Some("flood-1".to_owned())).unwrap();
    for (done, remaining) in [(1, 2), (2, 1), (3, 0), (3, 0)] {
        let told = commands.pause_many(&right, &which, "flood", None, &call).await.unwrap();
        assert_eq!((told.matched, told.refused), (3, 0));
        assert_eq!((told.done, told.remaining), (done, remaining));
        assert_eq!(told.sample.len(), 3);
        assert_eq!(paused(&desk).await.len() as u64, done);
    }
    let told = actions(&desk).await;
    let count = |name: &str| told.iter().filter(|(action, _)| action == name).count();
    assert_eq!((count("schedule.pause"), count("schedule.pause_many")), (3, 3));
}

async fn an_order_that_loses_the_database_says_how_many_remain(database: TestDatabase) {
    // The operation does not begin before this counter is reset.
    let commits = Arc::new(AtomicUsize::new(1_000));
    let counted = commits.clone();
    // The first commit stores the request with its matches, the second one triggers the first
    // schedule, and the third one is lost.
    let edge = move |edge: FaultPoint| {
        let is_lost = edge == FaultPoint::Committed && counted.fetch_add(1, Ordering::SeqCst) == 2;
        let answer =
            if is_lost { Err(StoreError::Database(DbErr::Custom("lost".into()))) } else { Ok(()) };
        async move { answer }.boxed()
    };
    let faults = Faults::new(edge, || None);
    let policy = Policy::default();
    let desk = Desk::with(database, policy, |store| store.with_faults(faults)).await;
    for name in ["a", "b", "c", "d", "e"] {
        tagged(&desk, name, json!(["x"])).await;
    }
    commits.store(0, Ordering::SeqCst);
    let trigger =
        "mutation { triggerSchedules(which: { search: \"tag:x\" }, idempotencyKey: \"k\") {
        matched done refused remaining } }";
    let told = desk.ask(trigger, json!({})).await;
    let told = &told["triggerSchedules"];
    let (done, remaining) = (told["done"].as_u64().unwrap(), told["remaining"].as_u64().unwrap());
    assert_eq!((done + remaining, &told["matched"]), (5, &json!(5)), "{told}");
    assert!(done > 0 && remaining > 0, "{told}");
    assert!(actions(&desk).await.iter().any(|(action, _)| action == "schedule.trigger_many"));
    let told = desk.ask(trigger, json!({})).await;
    let whole = json!({ "matched": 5, "done": 5, "refused": 0, "remaining": 0 });
    assert_eq!(told["triggerSchedules"], whole);
    let runs = run::Entity::find().all(desk.database.store.read()).await.unwrap();
    assert_eq!(runs.len(), 5, "none runs twice");
}

async fn an_order_for_many_outlives_its_request(database: TestDatabase) {
    // The operation does not begin before this counter is reset.
    let commits = Arc::new(AtomicUsize::new(1_000));
    let (reached, gate) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(1_000)));
    let (counted, at_it, closed) = (commits.clone(), reached.clone(), gate.clone());
    // The second pause waits until the gate opens.
    let edge = move |edge: FaultPoint| {
        let waits = edge == FaultPoint::Commit && counted.fetch_add(1, Ordering::SeqCst) == 2;
        let (at_it, gate) = (at_it.clone(), closed.clone());
        async move {
            if waits {
                at_it.notify_one();
                let _open = gate.acquire().await;
            }
            Ok(())
        }
        .boxed()
    };
    let faults = Faults::new(edge, || None);
    let policy = Policy::default();
    let desk = Desk::with(database, policy, |store| store.with_faults(faults)).await;
    for name in ["a", "b", "c", "d"] {
        tagged(&desk, name, json!(["x"])).await;
    }
    commits.store(0, Ordering::SeqCst);
    let shut = gate.clone().acquire_many_owned(1_000).await.unwrap();
    let order = json!({ "search": "tag:x", "dry": false, "key": "k" });
    tokio::select! {
        _ = desk.ask(PAUSE, order.clone()) => panic!("it waits for the gate"),
        () = reached.notified() => {}
    }
    // The request is dropped.
    drop(shut);
    let whole = ("schedule.pause_many".to_owned(), "tag:x".to_owned());
    while !actions(&desk).await.contains(&whole) {
        tokio::task::yield_now().await;
    }
    assert_eq!(paused(&desk).await, ["a", "b", "c", "d"]);
    let told = desk.ask(PAUSE, order).await;
    assert_eq!(
        (&told["pauseSchedules"]["done"], &told["pauseSchedules"]["matched"]),
        (&json!(4), &json!(4))
    );
}

fn uuid(text: &str) -> uuid::Uuid {
    text.parse().unwrap()
}

async fn runs_are_cancelled_and_retried_together(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "@daily").await;
    for _ in 0..4 {
        desk.trigger(&id).await;
    }
    let cancel = "mutation($search: String!, $dry: Boolean!) {
        cancelRuns(which: { search: $search, dryRun: $dry }, reason: \"stuck\") {
            matched done refused refusals { code } sample { state } } }";
    let counted = desk.ask(cancel, json!({ "search": "workflow:tick", "dry": true })).await;
    assert_eq!(counted["cancelRuns"]["matched"], 4);
    assert_eq!(counted["cancelRuns"]["sample"][3]["state"], "QUEUED");
    let done = desk.ask(cancel, json!({ "search": "workflow:tick", "dry": false })).await;
    assert_eq!(done["cancelRuns"]["done"], 4);
    assert_eq!(done["cancelRuns"]["sample"][3]["state"], "CANCELLED");
    let again = desk.ask(cancel, json!({ "search": "workflow:tick", "dry": false })).await;
    assert_eq!(again["cancelRuns"]["refused"], 4);
    assert_eq!(again["cancelRuns"]["refusals"][0]["code"], "CONFLICT");
    let retry = "mutation { retryRuns(which: { search: \"state:cancelled\" }) { done } }";
    assert_eq!(desk.ask(retry, json!({})).await["retryRuns"]["done"], 4);
    let runs = desk.ask("{ runs(search: \"trigger:retry\") { nodes { state } } }", json!({})).await;
    assert_eq!(runs["runs"]["nodes"].as_array().unwrap().len(), 4);
}

async fn tags_are_given_and_taken_together(database: TestDatabase) {
    let desk = Desk::open(database).await;
    tagged(&desk, "a", json!(["old", "kept"])).await;
    tagged(&desk, "b", json!(["old"])).await;
    let tag = "mutation { updateSchedules(which: { search: \"tag:old\" },
        change: { addTags: [\"new\"], removeTags: [\"old\"] }) { done sample { tags version } } }";
    let done = desk.ask(tag, json!({})).await;
    assert_eq!(
        done["updateSchedules"],
        json!({ "done": 2, "sample": [
            { "tags": ["kept", "new"], "version": 2 }, { "tags": ["new"], "version": 2 },
        ] })
    );
}

const UPDATE: &str = "mutation($search: String!, $change: ChangeSchedulesInput!, $dry: Boolean!) {
    updateSchedules(which: { search: $search, dryRun: $dry }, change: $change, reason: \"move\") {
        matched done refusals { code message }
        sample { name group priority overlap bufferLimit timing { zone } version } } }";

async fn policies_are_changed_together(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let group = "mutation { createConcurrencyGroup(input: { name: \"reports\", maxRuns: 1 }) {
        group { id } } }";
    desk.ask(group, json!({})).await;
    tagged(&desk, "a", json!(["x"])).await;
    tagged(&desk, "b", json!(["x"])).await;
    let change = json!({
        "group": "reports", "priority": 7, "zone": "Europe/Berlin", "overlap": "BUFFER_ALL",
    });
    let order = |search: &str, change: &Value, dry: bool| json!({ "search": search, "change": change, "dry": dry });
    let counted = desk.ask(UPDATE, order("tag:x", &change, true)).await;
    let as_it_is = json!({ "name": "a", "group": null, "priority": 0, "overlap": "SKIP",
        "bufferLimit": null, "timing": { "zone": "UTC" }, "version": 1 });
    assert_eq!(counted["updateSchedules"]["sample"][0], as_it_is);
    let done = desk.ask(UPDATE, order("tag:x", &change, false)).await;
    let done = &done["updateSchedules"];
    assert_eq!((&done["matched"], &done["done"]), (&json!(2), &json!(2)), "{done}");
    let changed = json!({ "name": "b", "group": "reports", "priority": 7, "overlap": "BUFFER_ALL",
        "bufferLimit": 100, "timing": { "zone": "Europe/Berlin" }, "version": 2 });
    assert_eq!(done["sample"][1], changed);
    let taken = desk.ask(UPDATE, order("name:a", &json!({ "group": null }), false)).await;
    assert_eq!(taken["updateSchedules"]["sample"][0]["group"], Value::Null);
    assert_eq!(taken["updateSchedules"]["sample"][0]["priority"], 7);

    // If a change is invalid for all matches, the whole call is refused with a single error.
    for (change, field) in [
        (json!({}), "change"),
        (json!({ "priority": 101 }), "change.priority"),
        (json!({ "addTags": ["no spaces"] }), "change.addTags[0]"),
        (json!({ "removeTags": vec!["tag"; 33] }), "change.removeTags"),
        (json!({ "zone": "Europe/Berln" }), "change.zone"),
        (json!({ "overlap": "SKIP", "bufferLimit": 3 }), "change.bufferLimit"),
        (json!({ "retentionDays": 0 }), "change.retentionDays"),
    ] {
        let error = desk.refused(UPDATE, order("tag:x", &change, false)).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
        assert_eq!(error["extensions"]["field"], field, "{error}");
    }
    // If a change is valid for some matches only, the others are reported as refused.
    let order = order("tag:x", &json!({ "workflow": "missing" }), false);
    let refused = desk.ask(UPDATE, order).await;
    let refused = &refused["updateSchedules"];
    assert_eq!(
        (&refused["done"], &refused["refusals"][1]["code"]),
        (&json!(0), &json!("BAD_USER_INPUT"))
    );
}

async fn next_fires_are_left_out_together(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for name in ["a", "b", "c"] {
        tagged(&desk, name, json!(["x"])).await;
    }
    let pause =
        "mutation { pauseSchedules(which: { search: \"name:c\" }, reason: \"x\") { done } }";
    desk.ask(pause, json!({})).await;
    let skip = "mutation($count: Int!, $dry: Boolean!) {
        skipNextOfSchedules(which: { search: \"tag:x\", dryRun: $dry }, count: $count,
            reason: \"move\") { matched done refusals { code } sample { nextFires(count: 1) { at } } } }";
    let counted = desk.ask(skip, json!({ "count": 2, "dry": true })).await;
    let next = &counted["skipNextOfSchedules"]["sample"][0]["nextFires"][0]["at"];
    assert_eq!(next, "2026-03-02T00:00:00Z");
    let done = desk.ask(skip, json!({ "count": 2, "dry": false })).await;
    let done = &done["skipNextOfSchedules"];
    assert_eq!((&done["matched"], &done["done"]), (&json!(3), &json!(2)), "{done}");
    assert_eq!(done["refusals"], json!([{ "code": "CONFLICT" }]), "the one that is paused");
    assert_eq!(done["sample"][0]["nextFires"][0]["at"], "2026-03-04T00:00:00Z");
    let error = desk.refused(skip, json!({ "count": 0, "dry": false })).await;
    assert_eq!(error["extensions"]["field"], "count");
}

#[tokio::test]
async fn an_order_for_everything_by_mistake_is_refused() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    for search in ["", "  "] {
        let error = desk.refused(PAUSE, json!({ "search": search, "dry": false })).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT");
        assert_eq!(error["extensions"]["field"], "search");
    }
    let error = desk.refused(PAUSE, json!({ "search": "stat:x", "dry": true })).await;
    assert_eq!(
        (&error["extensions"]["start"], &error["extensions"]["end"]),
        (&json!(0), &json!(4))
    );
}

#[tokio::test]
async fn an_order_for_more_than_ten_thousand_is_counted_and_refused() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let many =
        "mutation($inputs: [CreateScheduleInput!]!) { createSchedules(inputs: $inputs) { id } }";
    for part in 0..11 {
        let input = |number: i32| {
            json!({
                "name": format!("s-{part}-{number}"), "timing": { "expressions": ["@daily"] },
                "workflow": "shared",
            })
        };
        if part == 0 {
            let make = "mutation { createWorkflow(input: { name: \"shared\", tasks: [
                { name: \"main\", target: { noop: {} } }] }) { workflow { id } } }";
            desk.ask(make, json!({})).await;
        }
        let inputs: Vec<_> = (0..if part == 10 { 1 } else { 1_000 }).map(input).collect();
        desk.ask(many, json!({ "inputs": inputs })).await;
    }
    let counted = desk.ask(PAUSE, json!({ "search": "name:s-", "dry": true })).await;
    let counted = &counted["pauseSchedules"];
    assert_eq!((&counted["matched"], &counted["tooMany"]), (&json!(10_001), &json!(true)));
    let error = desk.refused(PAUSE, json!({ "search": "name:s-", "dry": false })).await;
    assert!(error["message"].as_str().unwrap().contains("more than 10000"), "{error}");
    assert_eq!(paused(&desk).await, [""; 0]);
}

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use carillon::{store::Store, target::Policy};
use entity::{audit_event, schedule, schedule_version, user::Role};
use futures::{FutureExt, future::join_all};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter};
use serde_json::{Value, json};
use uuid::Uuid;

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    each_of_many_calls_at_once_gets_its_own_answer,
    the_answer_matches_the_written_row,
    a_name_wanted_by_two_at_once_goes_to_one_of_them,
    a_call_that_is_refused_takes_no_other_along,
    nothing_is_created_for_a_caller_who_hung_up_before_their_turn,
    a_schedule_is_written_in_few_statements,
    what_was_known_of_a_workflow_is_looked_at_again_where_a_schedule_is_written,
    a_workflow_is_not_taken_for_one_that_had_its_name,
    a_workflow_that_was_not_there_is_found_when_it_is,
    a_namespace_is_not_taken_for_one_that_had_its_name,
    other_rules_of_zones_refuse_what_was_composed_by_ours,
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
    make_workflow(&desk).await;
    let own = (0..40).map(|number| input(&format!("tick-{number}"), "@daily"));
    let shared = (0..40).map(|number| of_workflow(&format!("tock-{number}")));
    for inputs in [own.collect::<Vec<_>>(), shared.collect()] {
        let names: Vec<Value> = inputs.iter().map(|all| all["input"]["name"].clone()).collect();
        let made = join_all(inputs.into_iter().map(|input| desk.ask(CREATE, input))).await;
        for (name, made) in names.iter().zip(&made) {
            assert_eq!(made["createSchedule"]["schedule"]["name"], *name);
        }
    }
    let read = desk.database.store.read();
    assert_eq!(schedule::Entity::find().count(read).await.unwrap(), 80);
    assert_eq!(schedule_version::Entity::find().count(read).await.unwrap(), 80);
    // One row per schedule, one per own workflow, and one for the workflow that the others share.
    assert_eq!(audit_event::Entity::find().count(read).await.unwrap(), 80 + 40 + 1);
}

/// The call does not read the written row back: it answers with the columns that it has computed.
async fn the_answer_matches_the_written_row(database: TestDatabase) {
    let desk = Desk::open(database).await;
    make_workflow(&desk).await;
    let fields = "id name note tags version state pause { reason } timing { expressions zone startAt }
        misfire { catchUp graceSeconds } overlap bufferLimit priority startDeadlineSeconds context
        maxFires fireCount retentionDays ping { success } nextFireAt lastFireAt module createdAt updatedAt";
    let create = format!(
        "mutation ($input: CreateScheduleInput!) {{
            createSchedule(input: $input) {{ schedule {{ {fields} }} }}
        }}"
    );
    let find = format!("query ($id: UUID!) {{ schedule(id: $id) {{ {fields} }} }}");
    let mut full = of_workflow("full");
    full["input"]["note"] = json!("why \"and\" {how}");
    full["input"]["tags"] = json!(["a", "b"]);
    full["input"]["timing"]["startAt"] = json!("2026-04-01T00:00:00.123Z");
    full["input"]["context"] = json!({ "z": 1.50, "a": [null, 1e3], "b": { "y": "\u{e9}" } });
    full["input"]["ping"] = json!({ "success": "https://example.com/ping" });
    full["input"]["priority"] = json!(7);
    full["input"]["maxFires"] = json!(3);
    full["input"]["paused"] = json!(true);
    let inputs = [full, of_workflow("plain"), of_workflow("plain-too")];
    let read = desk.database.store.read();
    for made in join_all(inputs.map(|input| desk.ask(&create, input))).await {
        let made = &made["createSchedule"]["schedule"];
        let found = &desk.ask(&find, json!({ "id": made["id"] })).await["schedule"];
        assert_eq!(made, found);
        let id: Uuid = made["id"].as_str().unwrap().parse().unwrap();
        let history = schedule_version::Entity::find();
        let history = history.filter(schedule_version::Column::ScheduleId.eq(id)).one(read).await;
        let told = audit_event::Entity::find().filter(audit_event::Column::SubjectId.eq(id));
        let told = told.one(read).await.unwrap().unwrap();
        assert_eq!(told.after, Some(history.unwrap().unwrap().snapshot));
        assert_eq!(told.after.unwrap()["name"], made["name"]);
    }
}

async fn a_name_wanted_by_two_at_once_goes_to_one_of_them(database: TestDatabase) {
    let desk = Desk::open(database).await;
    make_workflow(&desk).await;
    let own = (0..20).map(|number| input(&format!("tick-{}", number / 2), "@daily"));
    let shared = (0..20).map(|number| of_workflow(&format!("tock-{}", number / 2)));
    for inputs in [own.collect::<Vec<_>>(), shared.collect()] {
        let calls = inputs.into_iter().map(|input| desk.send(Some(Role::Admin), CREATE, input));
        let answers = join_all(calls).await;
        let refused: Vec<_> = answers.iter().filter(|answer| answer.is_err()).collect();
        assert_eq!(refused.len(), 10);
        for answer in refused {
            let error = serde_json::to_value(&answer.errors[0]).unwrap();
            assert_eq!(error["extensions"]["field"], "name", "{error}");
        }
    }
    let read = desk.database.store.read();
    assert_eq!(schedule::Entity::find().count(read).await.unwrap(), 20);
    assert_eq!(schedule_version::Entity::find().count(read).await.unwrap(), 20);
}

async fn a_call_that_is_refused_takes_no_other_along(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("taken", "@daily").await;
    make_workflow(&desk).await;
    desk.ask(CREATE, of_workflow("taken-too")).await;
    let own = ["a", "taken", "b", "nul", "c"].map(|name| input(name, "@daily"));
    let shared = ["d", "taken-too", "e", "nul", "f"].map(of_workflow);
    for mut inputs in [own, shared] {
        inputs[2]["input"]["timing"]["expressions"] = json!(["not a timing"]);
        inputs[3]["input"]["note"] = json!("a \0 in it");
        let calls = inputs.into_iter().map(|input| desk.send(Some(Role::Admin), CREATE, input));
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
    }
    let read = desk.database.store.read();
    assert_eq!(schedule::Entity::find().count(read).await.unwrap(), 6);
}

/// Whether a transaction waits for a lock; on SQLite no such lock is visible.
async fn is_waited_for(store: &Store) -> bool {
    if !store.dialect().is_postgres() {
        return true;
    }
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity \
        WHERE datname = current_database() AND wait_event_type = 'Lock') AS waits";
    let row = store.read().query_one_raw(store.dialect().statement(sql, [])).await.unwrap();
    row.unwrap().try_get("", "waits").unwrap()
}

async fn nothing_is_created_for_a_caller_who_hung_up_before_their_turn(database: TestDatabase) {
    let (desk, texts) = observed(database).await;
    let store = &desk.database.store;
    make_workflow(&desk).await;
    // This call fills the caches with everything needed to compose a schedule. From then on, a call
    // sends no query before it writes.
    desk.ask(CREATE, of_workflow("known")).await;
    // While this transaction is open, no other call can write schedules; on SQLite no other call
    // can write at all.
    let busy = store.begin().await.unwrap();
    if store.dialect().is_postgres() {
        busy.execute_unprepared("LOCK TABLE schedule IN SHARE ROW EXCLUSIVE MODE").await.unwrap();
    }
    let call = |name: &str| Box::pin(desk.ask(CREATE, of_workflow(name)));
    let (mut first, mut second) = (call("first"), call("second"));
    let first_waits = async {
        // A batch is taken some turns of the runtime after its first request. On SQLite nothing
        // else shows that it was.
        for turn in 0_u64.. {
            assert!((&mut first).now_or_never().is_none());
            tokio::task::yield_now().await;
            if turn >= 100 && is_waited_for(store).await {
                break;
            }
        }
    };
    let first_waits = tokio::time::timeout(Duration::from_secs(60), first_waits);
    first_waits.await.expect("the first call waits for the lock");
    let asked = || texts.lock().unwrap().len();
    let before = asked();
    for _ in 0..100 {
        assert!((&mut second).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    assert_eq!(asked(), before, "the second call waits for its turn, not for an answer");
    drop(second);
    busy.rollback().await.unwrap();
    first.await;
    call("third").await;
    let rows = schedule::Entity::find().all(store.read()).await.unwrap();
    let mut names: Vec<_> = rows.into_iter().map(|row| row.name).collect();
    names.sort();
    assert_eq!(names, ["first", "known", "third"]);
}

/// A desk whose statements are recorded.
async fn observed(database: TestDatabase) -> (Desk, Arc<Mutex<Vec<String>>>) {
    let texts = Arc::new(Mutex::new(Vec::new()));
    let seen = texts.clone();
    let desk = Desk::with(database, Policy::default(), |store| {
        store.with_observer(move |sql| seen.lock().unwrap().push(sql.to_owned()))
    });
    (desk.await, texts)
}

/// The number of statements that create a schedule whose workflow is known. SQLite needs one per
/// table: the expectations, the row, its history, its audit log entry.
fn few(desk: &Desk) -> usize {
    if desk.database.store.dialect().is_postgres() { 1 } else { 4 }
}

async fn a_schedule_is_written_in_few_statements(database: TestDatabase) {
    let (desk, texts) = observed(database).await;
    make_workflow(&desk).await;
    desk.ask(CREATE, of_workflow("first")).await;
    texts.lock().unwrap().clear();
    desk.ask(CREATE, of_workflow("second")).await;
    let texts = texts.lock().unwrap().clone();
    assert_eq!(texts.len(), few(&desk), "{texts:#?}");
}

async fn what_was_known_of_a_workflow_is_looked_at_again_where_a_schedule_is_written(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let workflow = make_workflow(&desk).await;
    desk.ask(CREATE, of_workflow("first")).await;
    let update = "mutation($id: UUID!) { updateWorkflow(input: { id: $id, expectedVersion: 1,
        tasks: [{ name: \"main\", target: { noop: { note: \"other\" } } }] }) { workflow { version } } }";
    desk.ask(update, json!({ "id": workflow })).await;
    desk.ask(CREATE, of_workflow("second")).await;
    let versions = schedule_version::Entity::find().all(desk.database.store.read()).await.unwrap();
    let mut told: Vec<_> = versions
        .iter()
        .map(|row| (&row.snapshot["name"], &row.snapshot["workflow"]["version"]))
        .collect();
    told.sort_by_key(|(name, _)| name.to_string());
    assert_eq!(told, [(&json!("first"), &json!(1)), (&json!("second"), &json!(2))]);
}

async fn a_workflow_is_not_taken_for_one_that_had_its_name(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let former = make_workflow(&desk).await;
    let made = desk.ask(CREATE, of_workflow("first")).await;
    let delete = "mutation($schedule: UUID!, $workflow: UUID!) {
        deleteSchedule(id: $schedule) { id } deleteWorkflow(id: $workflow) { id } }";
    let schedule = &made["createSchedule"]["schedule"]["id"];
    desk.ask(delete, json!({ "schedule": schedule, "workflow": former })).await;
    let error = desk.refused(CREATE, of_workflow("second")).await;
    assert_eq!(error["extensions"]["field"], "workflow", "{error}");
    let other = make_workflow(&desk).await;
    desk.ask(CREATE, of_workflow("second")).await;
    let read = desk.database.store.read();
    let living = schedule::Entity::find().filter(schedule::Column::DeletedAt.is_null());
    let living = living.one(read).await.unwrap().unwrap();
    assert_eq!(json!(living.workflow_id), other);
}

async fn a_workflow_that_was_not_there_is_found_when_it_is(database: TestDatabase) {
    let (desk, texts) = observed(database).await;
    let error = desk.refused(CREATE, of_workflow("first")).await;
    assert_eq!(error["extensions"]["field"], "workflow", "{error}");
    make_workflow(&desk).await;
    desk.ask(CREATE, of_workflow("first")).await;
    texts.lock().unwrap().clear();
    desk.ask(CREATE, of_workflow("second")).await;
    assert_eq!(texts.lock().unwrap().len(), few(&desk));
}

async fn a_namespace_is_not_taken_for_one_that_had_its_name(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let create = "mutation { createNamespace(name: \"a\") { namespace { name } } }";
    desk.ask(create, json!({})).await;
    let mut input = input("first", "@daily");
    input["input"]["namespace"] = json!("a");
    desk.ask(CREATE, input.clone()).await;
    let rename = "mutation { renameNamespace(name: \"a\", newName: \"b\") { namespace { name } } }";
    desk.ask(rename, json!({})).await;
    input["input"]["name"] = json!("second");
    let error = desk.refused(CREATE, input.clone()).await;
    assert_eq!(error["extensions"]["code"], "NOT_FOUND", "{error}");
    desk.ask(create, json!({})).await;
    desk.ask(CREATE, input).await;
    let rows = schedule::Entity::find().all(desk.database.store.read()).await.unwrap();
    assert_eq!(rows.len(), 2);
    assert_ne!(rows[0].namespace_id, rows[1].namespace_id);
}

async fn other_rules_of_zones_refuse_what_was_composed_by_ours(database: TestDatabase) {
    let desk = Desk::open(database).await;
    make_workflow(&desk).await;
    desk.ask(CREATE, of_workflow("first")).await;
    desk.database.store.set_zone_rules("1999z").await.unwrap();
    for input in [of_workflow("second"), input("third", "@daily")] {
        let error = desk.refused(CREATE, input).await;
        assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
        assert!(error["message"].as_str().unwrap().contains("1999z"), "{error}");
    }
    assert_eq!(schedule::Entity::find().count(desk.database.store.read()).await.unwrap(), 1);
}

async fn make_workflow(desk: &Desk) -> Value {
    let make = "mutation { createWorkflow(input: { name: \"shared\",
        tasks: [{ name: \"main\", target: { noop: {} } }] }) { workflow { id } } }";
    desk.ask(make, json!({})).await["createWorkflow"]["workflow"]["id"].clone()
}

fn of_workflow(name: &str) -> Value {
    json!({ "input": {
        "name": name,
        "timing": { "expressions": ["@daily"] },
        "workflow": "shared",
    } })
}

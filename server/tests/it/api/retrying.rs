use entity::run;
use sea_orm::{ActiveEnum, ConnectionTrait, EntityTrait};
use serde_json::json;
use uuid::Uuid;

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(a_run_that_repeats_a_recovered_one_does_not_say_that_it_was_recovered);

async fn a_run_that_repeats_a_recovered_one_does_not_say_that_it_was_recovered(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("nightly", "0 2 * * *").await;
    let old: Uuid = desk.trigger(&schedule).await.parse().unwrap();
    let context = json!({
        "customer": 42,
        "is_recovery": true,
        "original_scheduled_time": "2026-03-01T02:00:00+00:00",
        "recovery_attempt_time": "2026-03-01T02:01:00+00:00",
        "execution_id": old,
    });
    let store = &desk.database.store;
    let tx = store.begin().await.unwrap();
    let sql = "UPDATE run SET state = $1, is_recovery = true, context = $2 WHERE id = $3";
    let values = [run::State::Failed.to_value().into(), context.into(), old.into()];
    tx.execute_raw(store.dialect().statement(sql, values)).await.unwrap();
    store.commit(tx).await.unwrap();

    let query = "mutation($id: UUID!) { retryRun(id: $id) { run { id } } }";
    let answer = desk.ask(query, json!({ "id": old })).await;
    let new: Uuid = answer["retryRun"]["run"]["id"].as_str().unwrap().parse().unwrap();
    let new = run::Entity::find_by_id(new).one(store.read()).await.unwrap().unwrap();
    assert_eq!((new.retry_of, new.is_recovery), (Some(old), false));
    assert_eq!(new.context, json!({ "customer": 42 }));
}

//! Jobs of workers, after the attempts that waited for them.

use std::time::Duration;

use carillon::store::{
    DatabaseTransaction, Store,
    workers::{awaited::NewJob, jobs::JobClaim, programs},
};
use entity::{Strings, Timestamp, job, worker};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, PaginatorTrait, QueryFilter, Set,
    sea_query::Expr,
};
use serde_json::json;
use uuid::Uuid;

use crate::support::{TestDatabase, on_both};

on_both!(jobs_that_have_printed_much_are_removed_a_few_at_a_time);

/// A job for which nobody waits any more.
fn old(number: u128) -> NewJob {
    NewJob {
        id: Uuid::from_u128(number),
        namespace_id: Uuid::nil(),
        run_id: Uuid::from_u128(number),
        run_task: "main".to_owned(),
        attempt: 1,
        queue: "emails".to_owned(),
        task: "send".to_owned(),
        tags: None,
        input: json!({}),
        about: json!({}),
        priority: 0,
        timeout_ms: 1_000,
        lease_ms: 1_000,
        created_at: Timestamp(0),
        awaited_until: Timestamp(0),
    }
}

async fn jobs_that_have_printed_much_are_removed_a_few_at_a_time(database: TestDatabase) {
    let store = &database.store;
    let jobs: Vec<NewJob> = (1..=6).map(old).collect();
    store.add_jobs(&jobs, Timestamp(0)).await.unwrap();
    // The first three have printed much, and the first of these more than one transaction removes.
    for (number, lines) in [(1, 1_000_000_i64), (2, 6_000), (3, 6_000)] {
        let tx = store.begin().await.unwrap();
        let update = job::Entity::update_many().col_expr(job::Column::Lines, Expr::value(lines));
        update.filter(job::Column::Id.eq(Uuid::from_u128(number))).exec(&tx).await.unwrap();
        store.commit(tx).await.unwrap();
    }
    let mut left = Vec::new();
    while store.forget_jobs(Timestamp(1), 1_000).await.unwrap() {
        left.push(job::Entity::find().count(store.read()).await.unwrap());
    }
    assert_eq!(left, [5, 4]);
    assert_eq!(job::Entity::find().count(store.read()).await.unwrap(), 0);
}

const WORKER: Uuid = Uuid::from_u128(7);
const JOB: Uuid = Uuid::from_u128(1);

/// Registers a worker in the tables, and creates a job for it.
async fn register(store: &Store) {
    let row = worker::Model {
        id: WORKER,
        namespace_id: Uuid::nil(),
        name: "mailer".to_owned(),
        queues: Strings(vec!["emails".to_owned()]),
        tags: Strings(vec![]),
        capacity: 1,
        version: String::new(),
        client: String::new(),
        token_id: Uuid::nil(),
        token: String::new(),
        draining: false,
        registered_at: Timestamp(0),
        heartbeat_at: Timestamp(0),
    };
    let tx = store.begin().await.unwrap();
    programs::insert(&tx, row.into_active_model()).await.unwrap();
    store.commit(tx).await.unwrap();
    store.add_jobs(&[old(1)], Timestamp(0)).await.unwrap();
}

fn claim() -> JobClaim {
    JobClaim { worker: WORKER, id: JOB, token: "carjob_1".to_owned() }
}

/// Lets the worker leave while another transaction is open, which then commits. Returns the job.
async fn leaves_during(store: &Store, other: DatabaseTransaction) -> job::Model {
    let own = store.clone();
    let leaving = tokio::spawn(async move {
        let tx = own.begin().await.unwrap();
        programs::remove(&own, &tx, WORKER, Some(&[]), Timestamp(2)).await.unwrap();
        own.commit(tx).await.unwrap();
    });
    let waits = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity \
        WHERE datname = current_database() AND wait_event_type = 'Lock') AS waits";
    let it_waits = async {
        loop {
            let asked = store.read().query_one_raw(store.dialect().statement(waits, [])).await;
            if asked.unwrap().unwrap().try_get("", "waits").unwrap() {
                return;
            }
        }
    };
    let it_waits = tokio::time::timeout(Duration::from_secs(60), it_waits).await;
    it_waits.expect("leaving waits for the other transaction");
    store.commit(other).await.unwrap();
    leaving.await.unwrap();
    job::Entity::find_by_id(JOB).one(store.read()).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_job_that_ends_while_its_worker_leaves_stays_ended() {
    let database = TestDatabase::postgres().await;
    let store = &database.store;
    register(store).await;
    let tx = store.begin().await.unwrap();
    store.take_locked_jobs(&tx, &[claim()], Timestamp(1)).await.unwrap();
    store.commit(tx).await.unwrap();

    let ending = store.begin().await.unwrap();
    let state = Set(job::State::Succeeded);
    let row = job::ActiveModel { state, ended_at: Set(Some(Timestamp(1))), ..Default::default() };
    job::Entity::update_many().set(row).exec(&ending).await.unwrap();
    let left = leaves_during(store, ending).await;
    assert_eq!((left.state, left.worker_id), (job::State::Succeeded, Some(WORKER)));
}

#[tokio::test]
async fn a_job_that_is_handed_over_while_its_worker_leaves_returns_to_its_queue() {
    let database = TestDatabase::postgres().await;
    let store = &database.store;
    register(store).await;
    let taking = store.begin().await.unwrap();
    programs::lock(&taking, WORKER).await.unwrap().unwrap();
    store.take_locked_jobs(&taking, &[claim()], Timestamp(1)).await.unwrap();
    let left = leaves_during(store, taking).await;
    assert_eq!((left.state, left.worker_id), (job::State::Waiting, None));
}

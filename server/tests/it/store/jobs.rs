//! Jobs of workers, after the attempts that waited for them.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use carillon::store::{
    Store,
    workers::{awaited::NewJob, held, jobs::JobClaim, programs},
};
use entity::{Strings, Timestamp, job, worker};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, PaginatorTrait, QueryFilter,
    QueryOrder, Statement, sea_query::Expr,
};
use uuid::Uuid;

use crate::support::{TestDatabase, job_row, on_both};

on_both!(
    jobs_that_have_printed_much_are_removed_a_few_at_a_time,
    a_job_that_is_there_is_not_created_again,
    a_late_job_of_an_earlier_attempt_cancels_none_of_a_later_one,
    a_job_that_ends_while_its_worker_leaves_stays_ended,
    a_job_that_is_handed_over_while_its_worker_leaves_returns_to_its_queue,
    jobs_are_handed_over_again_while_their_worker_keeps_them,
    the_jobs_of_a_worker_are_counted_by_the_index_of_held_jobs,
);

/// A job that no node waits for any more.
fn old(number: u128) -> NewJob {
    job_row(Uuid::nil(), Uuid::from_u128(number), Timestamp(0))
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

/// The answer to the first call was lost.
async fn a_job_that_is_there_is_not_created_again(database: TestDatabase) {
    let store = &database.store;
    let earlier = NewJob { id: Uuid::from_u128(8), ..old(7) };
    store.add_jobs(&[earlier], Timestamp(0)).await.unwrap();
    let second = NewJob { attempt: 2, ..old(7) };
    for _ in 0..2 {
        store.add_jobs(std::slice::from_ref(&second), Timestamp(0)).await.unwrap();
        let query = job::Entity::find().order_by_asc(job::Column::Attempt);
        let jobs = query.all(store.read()).await.unwrap();
        let told: Vec<_> = jobs.iter().map(|row| (row.attempt, row.state)).collect();
        assert_eq!(told, [(1, job::State::Cancelled), (2, job::State::Waiting)]);
    }
}

/// The first node had lost the run during an outage, and another one has begun the next attempt.
async fn a_late_job_of_an_earlier_attempt_cancels_none_of_a_later_one(database: TestDatabase) {
    let store = &database.store;
    let later = NewJob { id: Uuid::from_u128(8), attempt: 3, ..old(7) };
    store.add_jobs(&[later], Timestamp(0)).await.unwrap();
    store.add_jobs(&[NewJob { attempt: 2, ..old(7) }], Timestamp(0)).await.unwrap();
    let row = job::Entity::find_by_id(Uuid::from_u128(8)).one(store.read()).await.unwrap();
    assert_eq!(row.unwrap().state, job::State::Waiting);
}

/// The attempt gives the job up at the moment at which the leaving worker returns it.
async fn a_job_that_ends_while_its_worker_leaves_stays_ended(database: TestDatabase) {
    let store = &database.store;
    if !store.dialect().is_postgres() {
        println!("not tried: SQLite has one writer");
        return;
    }
    let (held, worker) = (old(1), Uuid::from_u128(9));
    let claim = JobClaim { worker, id: held.id, token: "secret".to_owned() };
    store.add_jobs(&[held], Timestamp(0)).await.unwrap();
    let tx = store.begin().await.unwrap();
    store.take_locked_jobs(&tx, std::slice::from_ref(&claim), Timestamp(5)).await.unwrap();
    store.commit(tx).await.unwrap();

    let ends = store.begin().await.unwrap();
    let cancelled = Expr::value(job::State::Cancelled);
    let update = job::Entity::update_many().col_expr(job::Column::State, cancelled);
    update.filter(job::Column::Id.eq(claim.id)).exec(&ends).await.unwrap();
    let leaves = async {
        let tx = store.begin().await.unwrap();
        programs::remove(store, &tx, worker, Some(&[]), Timestamp(6)).await.unwrap();
        store.commit(tx).await.unwrap();
    };
    let commits = async {
        one_waits_for_a_lock(store).await;
        store.commit(ends).await.unwrap();
    };
    let both = async { tokio::join!(leaves, commits) };
    tokio::time::timeout(Duration::from_secs(60), both).await.expect("the worker leaves");
    let row = job::Entity::find_by_id(claim.id).one(store.read()).await.unwrap().unwrap();
    assert_eq!((row.state, row.worker_id), (job::State::Cancelled, Some(worker)));
}

/// A job that a transaction hands over is not left with the worker that leaves meanwhile.
async fn a_job_that_is_handed_over_while_its_worker_leaves_returns_to_its_queue(
    database: TestDatabase,
) {
    let store = &database.store;
    if !store.dialect().is_postgres() {
        println!("not tried: SQLite has one writer");
        return;
    }
    let (waiting, leaving) = (old(1), registered(Uuid::from_u128(9)));
    let claim = JobClaim { worker: leaving.id, id: waiting.id, token: "secret".to_owned() };
    store.add_jobs(&[waiting], Timestamp(0)).await.unwrap();
    let tx = store.begin().await.unwrap();
    programs::insert(&tx, leaving.into_active_model()).await.unwrap();
    store.commit(tx).await.unwrap();

    let takes = store.begin().await.unwrap();
    programs::lock(&takes, claim.worker).await.unwrap().unwrap();
    store.take_locked_jobs(&takes, std::slice::from_ref(&claim), Timestamp(5)).await.unwrap();
    let leaves = async {
        let tx = store.begin().await.unwrap();
        programs::remove(store, &tx, claim.worker, Some(&[]), Timestamp(6)).await.unwrap();
        store.commit(tx).await.unwrap();
    };
    let commits = async {
        one_waits_for_a_lock(store).await;
        store.commit(takes).await.unwrap();
    };
    let both = async { tokio::join!(leaves, commits) };
    tokio::time::timeout(Duration::from_secs(60), both).await.expect("the worker leaves");
    let row = job::Entity::find_by_id(claim.id).one(store.read()).await.unwrap().unwrap();
    assert_eq!((row.state, row.worker_id), (job::State::Waiting, None));
}

/// The job with the greater key was taken first, but the one with the smaller key is locked first.
async fn jobs_are_handed_over_again_while_their_worker_keeps_them(database: TestDatabase) {
    let store = &database.store;
    if !store.dialect().is_postgres() {
        println!("not tried: SQLite has one writer");
        return;
    }
    let worker = Uuid::from_u128(9);
    let jobs = [old(1), old(2)];
    let [smaller, greater] = jobs.each_ref().map(|job| JobClaim {
        worker,
        id: job.id,
        token: format!("secret of {}", job.id),
    });
    store.add_jobs(&jobs, Timestamp(0)).await.unwrap();
    for (claim, at) in [(&greater, Timestamp(5)), (&smaller, Timestamp(6))] {
        let tx = store.begin().await.unwrap();
        store.take_locked_jobs(&tx, std::slice::from_ref(claim), at).await.unwrap();
        store.commit(tx).await.unwrap();
    }

    let keeps = store.begin().await.unwrap();
    let kept = store.keep_jobs_if_held(&keeps, std::slice::from_ref(&smaller), Timestamp(7)).await;
    assert_eq!(kept.unwrap().len(), 1);
    let hands_over = async {
        let tx = store.begin().await.unwrap();
        let rows = held::hand_over_again(&tx, worker, &[], Timestamp(8), 10).await.unwrap();
        store.commit(tx).await.unwrap();
        rows
    };
    let commits = async {
        one_waits_for_a_lock(store).await;
        let kept = store.keep_jobs_if_held(&keeps, std::slice::from_ref(&greater), Timestamp(7));
        assert_eq!(kept.await.unwrap().len(), 1);
        store.commit(keeps).await.unwrap();
    };
    let both = async { tokio::join!(hands_over, commits) };
    let (rows, ()) =
        tokio::time::timeout(Duration::from_secs(60), both).await.expect("no deadlock");
    // Both were heard of while they were being read.
    assert!(rows.is_empty(), "{rows:?}");
}

fn registered(id: Uuid) -> worker::Model {
    worker::Model {
        id,
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
    }
}

/// Waits until a transaction waits for a lock.
async fn one_waits_for_a_lock(store: &Store) {
    let waits = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity \
        WHERE datname = current_database() AND wait_event_type = 'Lock') AS waits";
    loop {
        let asked = store.dialect().statement(waits, []);
        let row = store.read().query_one_raw(asked).await.unwrap().unwrap();
        if row.try_get::<bool>("", "waits").unwrap() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// This count is part of each poll. On PostgreSQL its plan is made once, for any parameters.
async fn the_jobs_of_a_worker_are_counted_by_the_index_of_held_jobs(database: TestDatabase) {
    let texts = Arc::new(Mutex::new(Vec::new()));
    let seen = texts.clone();
    let store =
        database.store.clone().with_observer(move |sql| seen.lock().unwrap().push(sql.to_owned()));
    let tx = store.begin().await.unwrap();
    assert_eq!(held::held_by(&tx, Uuid::nil()).await.unwrap(), 0);
    let sql = texts.lock().unwrap().pop().unwrap();
    let (explain, column) = if store.dialect().is_postgres() {
        tx.execute_unprepared(&format!("PREPARE counted AS {sql}")).await.unwrap();
        (format!("EXPLAIN EXECUTE counted('{}')", Uuid::nil()), 0)
    } else {
        (format!("EXPLAIN QUERY PLAN {sql}"), 3)
    };
    let rows = tx.query_all_raw(Statement::from_string(store.dialect().backend(), explain));
    let plan: Vec<String> =
        rows.await.unwrap().iter().map(|row| row.try_get_by_index(column).unwrap()).collect();
    let uses = plan.iter().any(|line| line.split_whitespace().any(|word| word == "job_held"));
    assert!(uses, "{sql}\n{plan:#?}");
    tx.rollback().await.unwrap();
}

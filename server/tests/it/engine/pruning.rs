//! Statements that change rows by their keys read only the partition of one day, however large the
//! ledger is.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use carillon::{
    model::Definition,
    store::{
        DatabaseTransaction,
        live::RowsSince,
        queue::{FullHolders, RunTaker},
    },
};
use chrono::TimeDelta;
use entity::{run, schedule::Overlap};
use sea_orm::ConnectionTrait;
use timetable::retry::{Backoff, Policy};
use uuid::Uuid;

use super::{
    forge,
    gate::Gate,
    world::{World, noop},
};
use crate::support::TestDatabase;

type Texts = Arc<Mutex<BTreeSet<String>>>;

/// The number of statements that a connection keeps prepared.
const KEPT: usize = 100;

/// A world on the machine's clock with a partitioned ledger, and the statements that it sends.
async fn divided() -> (World, Texts) {
    let mut world = World::new(TestDatabase::postgres().await).await;
    let report = world.retain(45).await;
    assert_eq!(report.made, 16);
    let texts = Texts::default();
    let seen = texts.clone();
    world.database.store = world.database.store.clone().with_observer(move |sql| {
        seen.lock().unwrap().insert(sql.to_owned());
    });
    (world, texts)
}

/// PostgreSQL's generic plan for a statement: prepared once for all values.
async fn plan(tx: &DatabaseTransaction, sql: &str) -> String {
    let values = (1..).take_while(|number| sql.contains(&format!("${number}"))).count();
    let nothing = vec!["NULL"; values].join(", ");
    let arguments = if values == 0 { String::new() } else { format!("({nothing})") };
    for text in [
        "SET LOCAL plan_cache_mode = force_generic_plan".to_owned(),
        format!("PREPARE looked_at AS {sql}"),
    ] {
        tx.execute_unprepared(&text).await.unwrap_or_else(|error| panic!("{error}: {sql}"));
    }
    let explain = format!("EXPLAIN (COSTS off) EXECUTE looked_at{arguments}");
    let statement = sea_orm::Statement::from_string(sea_orm::DbBackend::Postgres, explain);
    let rows = tx.query_all_raw(statement).await.unwrap();
    let lines = rows.iter().map(|row| row.try_get_by_index::<String>(0).unwrap());
    let plan = lines.collect::<Vec<_>>().join("\n");
    tx.execute_unprepared("DEALLOCATE looked_at").await.unwrap();
    plan
}

/// The partitions of a table that a plan reads.
fn partitions<'a>(plan: &'a str, table: &str) -> BTreeSet<&'a str> {
    let is_one = |word: &&str| {
        let rest = word.strip_prefix(table).and_then(|rest| rest.strip_prefix('_'));
        rest.is_some_and(|rest| {
            let is_day = rest.len() == 8 && rest.bytes().all(|byte| byte.is_ascii_digit());
            rest == "past" || rest == "beyond" || is_day
        })
    };
    plan.split_whitespace().filter(is_one).collect()
}

#[tokio::test]
async fn rows_changed_by_key_are_searched_in_one_day() {
    let (world, texts) = divided().await;
    let mut gate = Gate::open().await;
    let orphan = forge::idle(&world, noop(), |_| {}).await;
    let orphan = forge::orphan(&world, &orphan, |_| {}).await;
    let lost = forge::idle(&world, noop(), |_| {}).await;
    forge::intent(&world, &lost, |fire| {
        let at = world.clock.now() - TimeDelta::minutes(10);
        (fire.scheduled_at, fire.due_at, fire.claimed_at) = (at.into(), at.into(), at.into());
    })
    .await;
    let mut fails = gate.step("fails", &[]);
    fails.retry =
        Policy { max_attempts: 2, backoff: Backoff::Fixed, initial_ms: 1, max_ms: 1, jitter: 0.0 };
    let flow = Definition::of(vec![fails, gate.step("then", &["fails"])]);
    let flow = world.due_now(flow, |_| {}).await;
    let buffers = world
        .schedule("* * * * * *", gate.task(), |row| {
            (row.overlap, row.buffer_limit) = (Overlap::BufferAll, Some(9));
        })
        .await;
    let brief = world
        .schedule("* * * * * *", gate.task(), |row| row.overlap = Overlap::TerminateOther)
        .await;
    let engine = world.engine().await;
    let serving = tokio::spawn(async move {
        loop {
            let arrival = gate.arrival().await;
            let fails = arrival.key.ends_with("fails") && arrival.attempt() == 1;
            arrival.answer(if fails { 503 } else { 200 });
        }
    });
    world.settled_run(flow.id).await;
    world.settled(buffers.id, 2).await;
    world.settled(brief.id, 2).await;
    world.run_is(orphan.id, run::State::Succeeded).await;
    world.settled(lost.id, 1).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    serving.abort();

    let texts = texts.lock().unwrap().clone();
    let tx = world.database.store.begin().await.unwrap();
    let mut found = 0;
    for (table, by_key) in [
        ("fire", "fire.id = v.id"),
        ("run", "run.id = v."),
        ("task_run", "task_run.run_id = v.run_id"),
    ] {
        let change = format!("UPDATE {table} SET");
        for sql in texts.iter().filter(|sql| sql.contains(&change) && sql.contains(by_key)) {
            let plan = plan(&tx, sql).await;
            assert_eq!(partitions(&plan, table).len(), 1, "{sql}\n{plan}");
            found += 1;
        }
    }
    assert!(found >= 8, "{found} of {texts:#?}");
    assert!(texts.len() < KEPT, "{} texts are prepared again and again", texts.len());
}

#[tokio::test]
async fn rows_read_by_key_are_searched_in_one_day() {
    let (world, texts) = divided().await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let run = world.past(&schedule, 0, 1, |_, _| {}).await;
    texts.lock().unwrap().clear();
    let store = &world.database.store;
    assert!(store.run(store.read(), run).await.unwrap().is_some());
    assert_eq!(store.attempts_of(run).await.unwrap().len(), 1);
    assert_eq!(store.lines_after(run, -1, 10).await.unwrap().len(), 1);
    let texts = texts.lock().unwrap().clone();
    let tx = store.begin().await.unwrap();
    assert_eq!(texts.len(), 3);
    for sql in &texts {
        // The key is unknown when the statement is prepared, so the partition is chosen at
        // execution. The plan is made for a null key here, for which no partition remains.
        let plan = plan(&tx, sql).await;
        assert!(plan.contains("Subplans Removed: 10"), "{sql}\n{plan}");
    }
}

#[tokio::test]
async fn live_rows_are_searched_from_their_oldest_day_to_the_next() {
    let (world, texts) = divided().await;
    let store = &world.database.store;
    let old = forge::idle(&world, noop(), |_| {}).await;
    let old = world
        .past(&old, 10, 0, |_, run| {
            (run.state, run.max_attempts, run.finished_at) = (run::State::Queued, 2, None);
        })
        .await;
    store.refresh_live_days(world.clock.now().into()).await.unwrap();
    let engine = world.engine().await;
    world.run_is(old, run::State::Succeeded).await;

    engine.shutdown(Duration::from_secs(5)).await.unwrap();

    // If a run of a group waits, the services send more queries.
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    world
        .past(&schedule, 0, 0, |_, run| {
            (run.state, run.group_id) = (run::State::Queued, Some(Uuid::now_v7()));
        })
        .await;
    let now = world.clock.now().into();
    store.refresh_live_days(now).await.unwrap();
    texts.lock().unwrap().clear();
    let tx = store.begin().await.unwrap();
    let taker = RunTaker { node: Uuid::nil(), tags: &[], without: &FullHolders::default() };
    store.lock_waiting_runs(&tx, taker, now, 1).await.unwrap();
    store.backlog(&[], now).await.unwrap();
    store.live_by_schedule(&tx, &[old], now, RowsSince::Margin).await.unwrap();
    store.buffers_of(&tx, &[old], now, RowsSince::Margin).await.unwrap();
    store.schedules_to_release(now, 1).await.unwrap();
    store.buffer_outlook(now).await.unwrap();
    store.next_due_at(now).await.unwrap();

    let texts = texts.lock().unwrap().clone();
    assert_eq!(texts.len(), 10, "{texts:#?}");
    for sql in &texts {
        let plan = plan(&tx, sql).await;
        for table in ["fire", "run"] {
            let read = partitions(&plan, table);
            assert!(read.len() <= 3, "{read:?}: {sql}\n{plan}");
        }
    }
}

//! A queue in front of a full group delays no other runs, however long it is.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use carillon::store::{
    DatabaseTransaction, Dialect,
    queue::{FullHolders, RunTaker, WaitingRun},
};
use entity::{Timestamp, run};
use sea_orm::{ConnectionTrait, EntityTrait, Statement};
use uuid::Uuid;

use super::{
    forge,
    groups::group,
    world::{World, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(ten_thousand_runs_in_a_full_group_are_not_looked_at);

async fn ten_thousand_runs_in_a_full_group_are_not_looked_at(database: TestDatabase) {
    let mut world = World::new(database).await;
    let (full, other) = (group(&world, 1).await, group(&world, 2).await);
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let at_work = forge::orphan(&world, &schedule, |run| run.group_id = Some(full)).await;
    let waits = |group_id: Option<Uuid>, priority: i16| run::Model {
        id: Uuid::now_v7(),
        fire_id: None,
        state: run::State::Queued,
        started_at: None,
        attempt: 0,
        node_id: None,
        epoch: 0,
        group_id,
        priority,
        ..at_work.clone()
    };
    let mut rows = vec![waits(None, -100), waits(Some(other), 0), waits(Some(other), 0)];
    rows.push(waits(Some(other), 0));
    let [free, first, second] = [0, 1, 2].map(|index: usize| rows[index].id);
    rows.extend((0..10_000).map(|_| waits(Some(full), 100)));
    let head = rows[4].id;
    let tx = world.database.store.begin().await.unwrap();
    for rows in rows.chunks(500) {
        let rows = rows.iter().cloned().map(run::ActiveModel::from);
        run::Entity::insert_many(rows).exec_without_returning(&tx).await.unwrap();
    }
    world.database.store.commit(tx).await.unwrap();

    let node = forge::node(&world).await;
    let texts = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = texts.clone();
    world.database.store = world.database.store.clone().with_observer(move |sql| {
        if sql.starts_with("SELECT") || sql.starts_with("WITH") {
            seen.lock().unwrap().insert(sql.to_owned());
        }
    });
    let store = &world.database.store;
    let (now, taker) = (
        Timestamp::from(world.clock.now()),
        RunTaker { node, tags: &[], without: &FullHolders::default() },
    );
    let tx = store.begin().await.unwrap();
    let ids = |next: Vec<WaitingRun>| next.into_iter().map(|run| run.id).collect::<Vec<_>>();
    let next = store.lock_waiting_runs(&tx, taker, now, 8).await.unwrap();
    assert_eq!(ids(next), [first, second, free], "two of the group that has two places");
    let backlog = store.backlog(&[], now).await.unwrap();
    assert!(backlog.grouped && backlog.next.is_some_and(|next| next <= now), "{backlog:?}");

    let texts = texts.lock().unwrap().clone();
    assert_eq!(texts.len(), 5, "{texts:#?}");
    for sql in &texts {
        let (looked_at, plan) = looked_at(store.dialect(), &tx, sql, now.0, node).await;
        assert!(looked_at < 100, "{looked_at} rows: {sql}\n{plan}");
    }
    tx.rollback().await.unwrap();

    // The group's limit is raised by one: the first run of its queue starts, and no other.
    let more = "UPDATE concurrency_group SET max_runs = 2 WHERE id = $1";
    let tx = store.begin().await.unwrap();
    tx.execute_raw(store.dialect().statement(more, [full.into()])).await.unwrap();
    let next = store.lock_waiting_runs(&tx, taker, now, 8).await.unwrap();
    assert_eq!(ids(next), [head, first, second, free]);
    tx.rollback().await.unwrap();
}

/// The largest number of rows that a step of a statement has read, and its plan. SQLite does not
/// count rows; there the plan must read the queue in the order of an index, so that reading stops
/// after the first rows.
async fn looked_at(
    dialect: &Dialect,
    tx: &DatabaseTransaction,
    sql: &str,
    now: i64,
    node: Uuid,
) -> (u64, String) {
    let lines = async |sql: String, column: usize| -> Vec<String> {
        let statement = Statement::from_string(dialect.backend(), sql);
        let rows = tx.query_all_raw(statement).await.unwrap();
        rows.iter().map(|row| row.try_get_by_index(column).unwrap()).collect()
    };
    let is_of_groups = sql.starts_with("WITH");
    if !dialect.is_postgres() {
        let plan = lines(format!("EXPLAIN QUERY PLAN {sql}"), 3).await;
        for line in plan.iter().filter(|line| line.contains(" run ")) {
            let by = ["run_queue", "run_available", "run_group_", "sqlite_autoindex_run_1"];
            let known = by.iter().any(|index| line.contains(&format!("INDEX {index}")));
            assert!(known, "{line}: {sql}\n{plan:#?}");
        }
        let plan = plan.join("\n");
        let seeks = "INDEX run_group_queue (group_id=?";
        let is_fine = plan.contains(seeks) && !plan.contains("TEMP B-TREE");
        assert!(is_fine || !is_of_groups, "{sql}\n{plan}");
        return (0, plan);
    }
    let values = if sql.contains("FROM node") {
        format!("({now}, 8, '{node}', '[]')")
    } else if is_of_groups {
        format!("({now}, '[]')")
    } else if sql.contains("$1") {
        "('[]')".to_owned()
    } else {
        String::new()
    };
    tx.execute_unprepared(&format!("PREPARE looked_at AS {sql}")).await.unwrap();
    let explain = "EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) EXECUTE looked_at";
    let plan = lines(format!("{explain}{values}"), 0).await;
    tx.execute_unprepared("DEALLOCATE looked_at").await.unwrap();
    let number = |text: &str, before: &str| {
        let (_, text) = text.split_once(before)?;
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse::<u64>().ok()
    };
    let rows = plan.iter().flat_map(|line| {
        ["actual rows=", "Rows Removed by Filter: "].map(|before| number(line, before))
    });
    (rows.flatten().max().unwrap(), plan.join("\n"))
}

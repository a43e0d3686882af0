//! Lists that read only the rows they show.

use std::sync::{Arc, Mutex};

use carillon::{
    search::{Search, SearchedList},
    store::{
        PageWindow,
        alerts::{past, skips},
        reads::{ledger, runs, search::TimedSearch, within::Within},
    },
};
use entity::{Timestamp, run::State};
use sea_orm::{ConnectionTrait, QueryResult};
use uuid::Uuid;

use crate::support::TestDatabase;

/// PostgreSQL chooses that index by its statistics; SQLite has none.
#[tokio::test]
async fn sqlite_reads_runs_that_are_few_from_an_index_over_such_runs() {
    let database = TestDatabase::sqlite().await;
    let texts = Arc::new(Mutex::new(Vec::new()));
    let seen = texts.clone();
    let store = database.store.clone();
    let store = store.with_observer(move |sql| seen.lock().unwrap().push(sql.to_owned()));
    let first = PageWindow::first(50);
    let second = PageWindow { after: Some(Uuid::max()), ..first.clone() };
    let alive = runs::Filter { live: Some(true), ..runs::Filter::default() };
    let queued = runs::Filter { states: Some(vec![State::Queued]), ..runs::Filter::default() };
    let search =
        Search::parse(SearchedList::Runs, "state:running,retrying trigger:schedule").unwrap();
    let sought = TimedSearch { search, at: Timestamp(0), in_errors: false };
    let sought = runs::Filter { search: Some(sought), ..runs::Filter::default() };
    let states = Some(vec![State::TimedOut]);
    let timed_out = runs::Filter { states, ..runs::Filter::default() };
    let of_one = runs::Filter { schedule_id: Some(Uuid::nil()), ..timed_out.clone() };
    let (live, badly) = ("INDEX run_live", "INDEX run_ended_badly_list");
    let asked_for = [
        (&alive, &first, live),
        (&alive, &second, live),
        (&queued, &first, live),
        (&sought, &first, live),
        (&timed_out, &first, badly),
        (&timed_out, &second, badly),
        (&of_one, &first, "INDEX run_schedule"),
    ];
    for (filter, window, index) in asked_for {
        runs::page(&store, &Within::One(Uuid::nil()), filter, window).await.unwrap();
        let asked = texts.lock().unwrap().pop().unwrap();
        let statement = store.dialect().statement(format!("EXPLAIN QUERY PLAN {asked}"), []);
        let rows = store.begin().await.unwrap().query_all_raw(statement).await.unwrap();
        let plan = rows.iter().map(|row| row.try_get::<String>("", "detail").unwrap());
        let plan = plan.collect::<Vec<_>>().join("\n");
        assert!(plan.contains(index), "{asked}\n{plan}");
    }
}

/// The preview of a rule about slow runs reads nothing but runs that took long.
#[tokio::test]
async fn sqlite_reads_long_runs_from_an_index_over_such_runs() {
    let database = TestDatabase::sqlite().await;
    let texts = Arc::new(Mutex::new(Vec::new()));
    let seen = texts.clone();
    let store = database.store.clone();
    let store = store.with_observer(move |sql| seen.lock().unwrap().push(sql.to_owned()));
    past::long(&store, Uuid::nil(), Timestamp(0), 10).await.unwrap();
    let asked = texts.lock().unwrap().pop().unwrap();
    let rows = explained(&database, &format!("EXPLAIN QUERY PLAN {asked}")).await;
    let plan = rows.iter().map(|row| row.try_get::<String>("", "detail").unwrap());
    let plan = plan.collect::<Vec<_>>().join("\n");
    assert!(plan.contains("INDEX run_long (namespace_id=? AND finished_at>"), "{plan}");
}

async fn explained(database: &TestDatabase, sql: &str) -> Vec<QueryResult> {
    let statement = database.store.dialect().statement(sql, []);
    database.store.begin().await.unwrap().query_all_raw(statement).await.unwrap()
}

#[tokio::test]
async fn sqlite_reads_the_ledger_of_a_namespace_and_of_all_in_the_order_of_an_index() {
    let database = TestDatabase::sqlite().await;
    let texts = Arc::new(Mutex::new(Vec::new()));
    let seen = texts.clone();
    let store = database.store.clone();
    let store = store.with_observer(move |sql| seen.lock().unwrap().push(sql.to_owned()));
    let first = PageWindow::first(50);
    let second = PageWindow { after: Some((Timestamp(1), Uuid::max())), ..first.clone() };
    let some = Within::Some(vec![Uuid::nil(), Uuid::max()]);
    for (within, window) in [
        (&Within::One(Uuid::nil()), &first),
        (&Within::One(Uuid::nil()), &second),
        (&Within::All, &first),
        (&Within::Live, &first),
        (&some, &second),
    ] {
        ledger::page(&store, within, &ledger::Filter::default(), window).await.unwrap();
        let asked = texts.lock().unwrap().pop().unwrap();
        let rows = explained(&database, &format!("EXPLAIN QUERY PLAN {asked}")).await;
        let plan = rows.iter().map(|row| row.try_get::<String>("", "detail").unwrap());
        let plan = plan.collect::<Vec<_>>().join("\n");
        assert!(plan.contains("INDEX fire_ledger"), "{asked}\n{plan}");
        // Only a list over several namespaces sorts its rows, one page at a time.
        let sorts = plan.matches("TEMP B-TREE FOR ORDER BY").count();
        assert_eq!(sorts, usize::from(within.one().is_none()), "{asked}\n{plan}");
    }
}

#[tokio::test]
async fn sqlite_reads_fires_that_were_skipped_for_load_from_their_index_alone() {
    let database = TestDatabase::sqlite().await;
    let texts = Arc::new(Mutex::new(Vec::new()));
    let seen = texts.clone();
    let store = database.store.clone();
    let store = store.with_observer(move |sql| seen.lock().unwrap().push(sql.to_owned()));
    skips::skipping(&store, &[Uuid::nil()], Timestamp(0), 10).await.unwrap();
    let asked = texts.lock().unwrap().pop().unwrap();
    let rows = explained(&database, &format!("EXPLAIN QUERY PLAN {asked}")).await;
    let plan = rows.iter().map(|row| row.try_get::<String>("", "detail").unwrap());
    let plan = plan.collect::<Vec<_>>().join("\n");
    assert!(plan.contains("COVERING INDEX fire_skipped_for_load"), "{asked}\n{plan}");
}

#[tokio::test]
async fn the_ledgers_list_costs_sqlite_one_write_a_fire() {
    let database = TestDatabase::sqlite().await;
    let root = "SELECT rootpage FROM sqlite_master WHERE name = 'fire_ledger'";
    let root: i32 = explained(&database, root).await[0].try_get("", "rootpage").unwrap();
    let writes = async |sql: &str| {
        let steps = explained(&database, &format!("EXPLAIN {sql}")).await;
        let opens = steps.iter().filter(|step| {
            let opcode: String = step.try_get("", "opcode").unwrap();
            opcode == "OpenWrite" && step.try_get::<i32>("", "p2").unwrap() == root
        });
        opens.count()
    };
    let insert = "INSERT INTO fire SELECT * FROM fire WHERE id = x'00'";
    assert_eq!(writes(insert).await, 1);
    let settle = "UPDATE fire SET verdict = 'started', reason = 'on_time', decided_at = 1, \
        run_id = x'00', count = 2 WHERE id = x'00'";
    assert_eq!(writes(settle).await, 0);
}

//! Lists that read what they show, and not all that there is.

use std::sync::{Arc, Mutex};

use carillon::{
    search::{List, Search},
    store::{
        Window,
        reads::{runs, search::Sought},
    },
};
use entity::{Timestamp, run::State};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::support::TestDatabase;

/// PostgreSQL finds that by its statistics; SQLite has none.
#[tokio::test]
async fn sqlite_reads_runs_that_are_few_from_an_index_over_such_runs() {
    let database = TestDatabase::sqlite().await;
    let texts = Arc::new(Mutex::new(Vec::new()));
    let seen = texts.clone();
    let store = database.store.clone();
    let store = store.with_observer(move |sql| seen.lock().unwrap().push(sql.to_owned()));
    let first = Window::first(50);
    let second = Window { after: Some(Uuid::max()), ..first.clone() };
    let alive = runs::Filter { live: Some(true), ..runs::Filter::default() };
    let queued = runs::Filter { states: Some(vec![State::Queued]), ..runs::Filter::default() };
    let search = Search::parse(List::Runs, "state:running,retrying trigger:schedule").unwrap();
    let sought = Sought { search, at: Timestamp(0), in_errors: false };
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
        runs::page(&store, Uuid::nil(), filter, window).await.unwrap();
        let asked = texts.lock().unwrap().pop().unwrap();
        let statement = store.dialect().statement(format!("EXPLAIN QUERY PLAN {asked}"), []);
        let rows = store.begin().await.unwrap().query_all_raw(statement).await.unwrap();
        let plan = rows.iter().map(|row| row.try_get::<String>("", "detail").unwrap());
        let plan = plan.collect::<Vec<_>>().join("\n");
        assert!(plan.contains(index), "{asked}\n{plan}");
    }
}

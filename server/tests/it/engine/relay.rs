//! Nodes on one PostgreSQL wake each other. Where nothing but a call can wake, all else is put off
//! for an hour.

use std::time::Duration;

use carillon::engine::{Engine, Settings};
use entity::run;
use sea_orm::{ActiveModelTrait, ConnectionTrait, DbBackend, IntoActiveModel, Statement};
use tokio::sync::watch;
use uuid::Uuid;

use super::{
    gate::Gate,
    world::{World, noop},
};
use crate::support::TestDatabase;

const HOUR: Duration = Duration::from_secs(3_600);

/// Two nodes, each with its own connections.
struct Two {
    here: World,
    there: World,
}

impl Two {
    async fn new() -> Self {
        let mut here = World::new(TestDatabase::postgres().await).await;
        let database = TestDatabase::at(here.database.url.clone()).await;
        let mut there = World::new_beside(database, &here);
        put_off(&mut here.settings, "here");
        put_off(&mut there.settings, "there");
        Self { here, there }
    }
}

fn put_off(settings: &mut Settings, name: &str) {
    settings.node_name = name.to_owned();
    settings.look_ahead = HOUR;
    settings.poll = HOUR;
    settings.heartbeat_interval = HOUR;
    settings.heartbeat_expiry = HOUR * 3;
    settings.recovery_interval = HOUR;
}

/// Until then it has been woken by its own connecting.
async fn listens(world: &World, nodes: i64) {
    let sql = "SELECT count(*) FROM pg_stat_activity \
               WHERE datname = current_database() AND application_name = 'carillon calls' AND query <> ''";
    world
        .until("the nodes listen", async || {
            // Whoever writes wakes whoever waits.
            world.database.store.changes().wake();
            tokio::task::yield_now().await;
            let ask = Statement::from_string(DbBackend::Postgres, sql);
            let row = world.database.store.read().query_one_raw(ask).await.unwrap().unwrap();
            (row.try_get_by_index::<i64>(0).unwrap() == nodes).then_some(())
        })
        .await;
}

async fn next<T: Clone>(reports: &mut watch::Receiver<(u64, T)>) {
    let round = tokio::time::timeout(Duration::from_secs(20), reports.changed());
    round.await.expect("a round").unwrap();
}

async fn end(engines: impl IntoIterator<Item = Engine>) {
    for engine in engines {
        engine.shutdown(Duration::from_secs(5)).await.unwrap();
    }
}

#[tokio::test]
async fn a_run_for_which_a_node_has_no_room_is_taken_by_another() {
    let mut two = Two::new().await;
    two.here.settings.capacity = 0;
    let there = two.there.engine().await;
    let here = two.here.engine().await;
    listens(&two.here, 2).await;
    let schedule = two.there.due_now(noop(), |_| {}).await;
    let done = two.there.settled_run(schedule.id).await;
    let again = run::Model {
        id: Uuid::now_v7(),
        state: run::State::Queued,
        started_at: None,
        finished_at: None,
        attempt: 0,
        node_id: None,
        ..done
    };
    let tx = two.here.database.store.begin().await.unwrap();
    let again = again.into_active_model().insert(&tx).await.unwrap();
    two.here.database.store.commit(tx).await.unwrap();
    two.here.signals.wake_dispatcher();
    two.there.run_is(again.id, run::State::Succeeded).await;
    end([here, there]).await;
}

#[tokio::test]
async fn a_schedule_that_is_made_on_one_node_wakes_the_planner_of_another() {
    let two = Two::new().await;
    let there = two.there.engine().await;
    let here = two.here.engine().await;
    listens(&two.here, 2).await;
    let mut rounds = there.planner_reports();
    rounds.wait_for(|(count, _)| *count > 1).await.unwrap();
    two.here.schedule("0 0 1 1 *", noop(), |_| {}).await;
    next(&mut rounds).await;
    end([here, there]).await;
}

#[tokio::test]
async fn a_cancellation_that_is_asked_on_one_node_stops_the_attempt_on_another() {
    let two = Two::new().await;
    let mut gate = Gate::open().await;
    let there = two.there.engine().await;
    let schedule = two.there.due_now(gate.task(), |_| {}).await;
    let _held_there = gate.arrival().await;
    let here = two.here.engine().await;
    listens(&two.here, 2).await;
    let run = two.here.runs(schedule.id).await.remove(0);

    let store = &two.here.database.store;
    let tx = store.begin().await.unwrap();
    let now = two.here.clock.now().into();
    assert!(store.cancel_if_live(&tx, run.id, "ada", Some("why"), now).await.unwrap());
    store.commit(tx).await.unwrap();
    two.here.signals.wake_canceller();
    two.there.run_is(run.id, run::State::Cancelled).await;
    end([here, there]).await;
}

#[tokio::test]
async fn who_follows_on_one_node_hears_what_another_writes() {
    let two = Two::new().await;
    let here = two.here.engine().await;
    let there = two.there.engine().await;
    listens(&two.here, 2).await;
    let schedule = two.there.due_now(noop(), |_| {}).await;
    // It looks when its own store is told of changes.
    two.here.settled(schedule.id, 1).await;
    end([here, there]).await;
}

#[tokio::test]
async fn a_node_that_connects_again_wakes_everything_once() {
    let two = Two::new().await;
    let there = two.there.engine().await;
    let mut rounds = there.planner_reports();
    listens(&two.there, 1).await;
    rounds.mark_unchanged();
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND application_name = 'carillon calls' AND query <> ''";
    two.here.database.store.read().execute_unprepared(sql).await.unwrap();
    next(&mut rounds).await;
    end([there]).await;
}

#[tokio::test]
async fn a_storm_is_told_in_a_few_calls() {
    let two = Two::new().await;
    let here = two.here.engine().await;
    let mut wire = two.there.database.store.wire().await.unwrap().expect("a wire");
    let start = two.here.clock.instant();
    let at = two.here.clock.now();
    let schedules = two.here.schedules(500, "@every 1d", noop()).await;
    let sql = "UPDATE schedule SET next_scheduled_at = $1, next_fire_at = $1";
    two.here.write(sql, [at.timestamp_millis().into()]).await;
    two.here.signals.wake_planner();
    two.here.settled(schedules[499], 1).await;
    end([here]).await;
    wire.call("end").await.unwrap();

    let mut calls = 0;
    while wire.heard().await.unwrap() != "end" {
        calls += 1;
    }
    // Five kinds, each told at once and then five times a second.
    let most = 5 * (2 + start.elapsed().as_millis() / 200);
    assert!(calls > 0 && calls <= most, "{calls} calls, at most {most}");
}

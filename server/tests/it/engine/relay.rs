//! Nodes on one PostgreSQL wake one another. In tests in which only a signal may wake a service,
//! all timers are set to an hour.

use std::time::Duration;

use carillon::engine::{Engine, EngineError, EngineSettings};
use entity::run;
use sea_orm::{ConnectionTrait, DbBackend, Statement};

use super::{
    gate::Gate,
    groups::group,
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
    /// Starts two nodes, each with these roles.
    async fn new(here_does: &str, there_does: &str) -> Self {
        let mut here = World::new(TestDatabase::postgres().await).await;
        let database = TestDatabase::at(here.database.url.clone()).await;
        let mut there = World::new_beside(database, &here);
        put_off(&mut here.settings, "here", here_does);
        put_off(&mut there.settings, "there", there_does);
        Self { here, there }
    }
}

fn put_off(settings: &mut EngineSettings, name: &str, roles: &str) {
    settings.node_name = name.to_owned();
    settings.roles = roles.parse().unwrap();
    settings.look_ahead = HOUR;
    settings.poll = HOUR;
    settings.heartbeat_interval = HOUR;
    settings.heartbeat_expiry = HOUR * 3;
    settings.recovery_interval = HOUR;
}

/// The connections on which nodes of this database receive signals.
const LISTENERS: &str = "FROM pg_stat_activity WHERE datname = current_database() \
                         AND application_name = 'carillon calls' AND query <> ''";

/// Waits until this many nodes receive signals.
async fn listens(world: &World, nodes: i64) {
    let sql = format!("SELECT count(*) {LISTENERS}");
    world
        .until("the nodes listen", async || {
            // Each of these writes wakes the services that wait.
            world.database.store.changes().wake();
            tokio::task::yield_now().await;
            let ask = Statement::from_string(DbBackend::Postgres, &sql);
            let row = world.database.store.read().query_one_raw(ask).await.unwrap().unwrap();
            (row.try_get_by_index::<i64>(0).unwrap() == nodes).then_some(())
        })
        .await;
}

async fn end(engines: impl IntoIterator<Item = Engine>) {
    for engine in engines {
        engine.shutdown(Duration::from_secs(5)).await.unwrap();
    }
}

#[tokio::test]
async fn a_run_that_is_queued_by_one_node_is_taken_by_another() {
    let two = Two::new("scheduler", "worker").await;
    let there = two.there.engine().await;
    let here = two.here.engine().await;
    listens(&two.here, 2).await;
    let schedule = two.here.due_now(noop(), |_| {}).await;
    two.here.settled_run(schedule.id).await;
    end([here, there]).await;
}

/// The new node cannot know by itself whether the process with its name is alive.
#[tokio::test]
async fn a_newcomer_under_the_name_of_another_has_its_answer_at_once() {
    let mut two = Two::new("worker", "worker").await;
    two.there.settings.node_name = two.here.settings.node_name.clone();
    let here = two.here.engine().await;
    listens(&two.here, 1).await;
    let life = here.status().await.node_id;
    let elsewhere = "UPDATE node SET process = 'another machine 7 9' WHERE id = $1";
    two.here.write(elsewhere, [life.into()]).await;
    let refused = tokio::time::timeout(Duration::from_secs(60), two.there.try_engine()).await;
    let refused = refused.expect("no wait for the next heartbeat").unwrap_err();
    assert!(matches!(refused, EngineError::NameTaken { .. }), "{refused}");
    assert_eq!(here.status().await.node_id, life);
    end([here]).await;
}

#[tokio::test]
async fn a_schedule_that_is_made_on_one_node_wakes_the_planner_of_another() {
    let two = Two::new("api", "scheduler,worker").await;
    let there = two.there.engine().await;
    let here = two.here.engine().await;
    listens(&two.here, 2).await;
    let schedule = two.here.due_now(noop(), |_| {}).await;
    two.here.settled_run(schedule.id).await;
    end([here, there]).await;
}

#[tokio::test]
async fn a_cancellation_that_is_asked_on_one_node_stops_the_attempt_on_another() {
    let two = Two::new("api", "scheduler,worker").await;
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
async fn followers_on_one_node_see_the_writes_of_another() {
    let two = Two::new("api", "scheduler,worker").await;
    let here = two.here.engine().await;
    let there = two.there.engine().await;
    listens(&two.here, 2).await;
    let schedule = two.there.due_now(noop(), |_| {}).await;
    // The planner runs because its own store reports the change.
    two.here.settled(schedule.id, 1).await;
    end([here, there]).await;
}

#[tokio::test]
async fn a_node_that_connects_again_wakes_everything_once() {
    let two = Two::new("api", "scheduler,worker").await;
    let there = two.there.engine().await;
    listens(&two.there, 1).await;
    there.planner_reports().wait_for(|(rounds, _)| *rounds > 1).await.unwrap();
    // No engine runs beside this connection, so no signal is sent for the schedule.
    let schedule = two.here.due_now(noop(), |_| {}).await;
    let sql = format!("SELECT pg_terminate_backend(pid) {LISTENERS}");
    two.here.database.store.read().execute_unprepared(&sql).await.unwrap();
    two.there.settled_run(schedule.id).await;
    end([there]).await;
}

#[tokio::test]
async fn a_storm_takes_few_notifications() {
    let two = Two::new("scheduler,worker", "api").await;
    let here = two.here.engine().await;
    let mut wire = two.there.database.store.wire().await.unwrap().expect("a wire");
    let start = two.here.clock.instant();
    let schedules = two.here.schedules(200, "* * * * * *", noop()).await;
    let at = two.here.clock.now().timestamp() * 1_000;
    let sql = "UPDATE schedule SET next_scheduled_at = $1, next_fire_at = $1";
    two.here.write(sql, [at.into()]).await;
    two.here.signals.wake_planner();
    two.here.settled(schedules[199], 3).await;
    end([here]).await;
    wire.call("end").await.unwrap();

    let mut calls = 0;
    while wire.heard().await.unwrap() != "end" {
        calls += 1;
    }
    // There are seven kinds of signals. Each kind is sent at once and then at most five times a
    // second.
    let most = 7 * (2 + start.elapsed().as_millis() / 200);
    assert!(calls > 0 && calls <= most, "{calls} calls, at most {most}");
}

/// If a node's own round woke the others, the nodes would wake one another for as long as a run
/// waits.
#[tokio::test]
async fn nodes_on_which_nothing_happens_leave_each_other_alone() {
    let two = Two::new("scheduler,worker", "scheduler,worker").await;
    let mut gate = Gate::open().await;
    let group = group(&two.here, 1).await;
    let here = two.here.engine().await;
    let there = two.there.engine().await;
    let in_the_only_place = two.here.due_now(gate.task(), |row| row.group_id = Some(group)).await;
    let arrival = gate.arrival().await;
    let waits = two.here.due_now(gate.task(), |row| row.group_id = Some(group)).await;
    let wait = async || two.here.runs(waits.id).await.pop();
    two.here.until("the run is queued", wait).await;

    let mut wire = two.here.database.store.wire().await.unwrap().expect("a wire");
    // After a second without a signal, the nodes are quiet.
    let second = Duration::from_secs(1);
    let mut calls = 0;
    while tokio::time::timeout(second, wire.heard()).await.is_ok() {
        calls += 1;
        assert!(calls < 40, "the nodes keep calling");
    }
    arrival.answer(200);
    two.here.settled_run(in_the_only_place.id).await;
    gate.arrival().await.answer(200);
    two.here.settled_run(waits.id).await;
    end([here, there]).await;
}

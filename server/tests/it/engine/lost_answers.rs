//! Commits whose answer is lost or late, and the node's knowledge of its own attempts until then.
//! The test executes the node's services by hand, and no time passes.

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use carillon::{
    model::{Definition, Task},
    store::{FaultPoint, Faults, Store, StoreError},
    telemetry::{Telemetry, exposition},
};
use entity::run;
use futures::{FutureExt, future::BoxFuture};
use sea_orm::{ColumnTrait, DbBackend, DbErr, EntityTrait, QueryFilter, RuntimeErr, Statement};
use tokio::sync::Notify;
use uuid::Uuid;

use super::{
    groups::group,
    world::{World, at, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    attempts_of_a_hand_off_without_an_answer_are_taken_over_at_once,
    attempts_of_the_dispatcher_without_an_answer_are_taken_over_at_once,
    attempts_of_a_hand_off_are_known_before_its_commit,
    attempts_of_the_dispatcher_are_known_before_its_commit,
    an_outcome_whose_commit_had_no_answer_is_counted_once,
    the_last_step_of_a_flow_whose_commit_had_no_answer_is_counted_once,
    a_doubt_that_could_not_be_settled_is_settled_by_a_later_round,
    fires_that_the_database_refuses_do_not_keep_a_node_in_doubt,
);

pub(super) type Answer = Result<(), StoreError>;

/// The driver's error when the connection breaks before the answer arrives.
fn lost() -> Answer {
    let lost = DbErr::Conn(RuntimeErr::Internal("the answer was lost".to_owned()));
    Err(StoreError::Database(lost))
}

/// A store that behaves like `store`, except that `answer` replaces the answer to the first commit
/// that puts a run into `state`.
pub(super) fn answering(
    store: &Store,
    state: run::State,
    answer: impl Fn() -> BoxFuture<'static, Answer> + Send + Sync + 'static,
) -> Store {
    let (sound, answer, is_over) =
        (store.clone(), Arc::new(answer), Arc::new(AtomicBool::new(false)));
    let edge = move |edge| {
        let (sound, answer, is_over) = (sound.clone(), answer.clone(), is_over.clone());
        let answered = async move {
            if edge != FaultPoint::Committed || is_over.load(Ordering::SeqCst) {
                return Ok(());
            }
            let there = run::Entity::find().filter(run::Column::State.eq(state));
            if there.one(sound.read()).await.unwrap().is_none() {
                return Ok(());
            }
            is_over.store(true, Ordering::SeqCst);
            answer().await
        };
        answered.boxed()
    };
    store.clone().with_faults(Faults::new(edge, || None))
}

/// A group, if the dispatcher is to begin the run: runs without a group begin without it.
pub(super) async fn group_for(world: &World, dispatcher: bool) -> Option<Uuid> {
    if dispatcher { Some(group(world, 1).await) } else { None }
}

async fn attempts_of_a_hand_off_without_an_answer_are_taken_over_at_once(database: TestDatabase) {
    is_taken_over_at_once(database, false).await;
}

async fn attempts_of_the_dispatcher_without_an_answer_are_taken_over_at_once(
    database: TestDatabase,
) {
    is_taken_over_at_once(database, true).await;
}

async fn is_taken_over_at_once(database: TestDatabase, by_dispatcher: bool) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let group = group_for(&world, by_dispatcher).await;
    let schedule = world.due_now(noop(), |row| row.group_id = group).await.id;
    let sound = world.database.store.clone();
    world.database.store = answering(&sound, run::State::Running, || ready(lost()).boxed());
    let (node, mut services) = world.by_hand().await;
    world.database.store = sound;
    let now = clock.now();
    let mut service = |name: &str| services.remove(name).unwrap();
    let (mut planner, mut dispatcher) = (service("planner"), service("dispatcher"));
    let mut begun = planner.once(now).await;
    if by_dispatcher {
        begun.unwrap();
        begun = dispatcher.once(now).await;
    }
    begun.unwrap_err();
    let run = world.runs(schedule).await.remove(0);
    let own = Some(node.node_id().await);
    assert_eq!((run.state, run.attempt, run.node_id), (run::State::Running, 1, own));

    let found = service("recovery").once(now).await.unwrap().unwrap();
    assert!(found.contains("orphans: 1,"), "{found}");
    dispatcher.once(now).await.unwrap();
    let run = world.runs(schedule).await.remove(0);
    assert_eq!((run.state, run.attempt, run.node_id), (run::State::Running, 2, own));
}

async fn attempts_of_a_hand_off_are_known_before_its_commit(database: TestDatabase) {
    is_known_before_its_commit(database, false).await;
}

async fn attempts_of_the_dispatcher_are_known_before_its_commit(database: TestDatabase) {
    is_known_before_its_commit(database, true).await;
}

/// Recovery runs while the answer is in transit.
async fn is_known_before_its_commit(database: TestDatabase, by_dispatcher: bool) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let group = group_for(&world, by_dispatcher).await;
    let schedule = world.due_now(noop(), |row| row.group_id = group).await.id;
    let (committed, looked) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tells, waits) = (committed.clone(), looked.clone());
    let answer = move || {
        let (tells, waits) = (tells.clone(), waits.clone());
        let answered = async move {
            tells.notify_one();
            waits.notified().await;
            Ok(())
        };
        answered.boxed()
    };
    let sound = world.database.store.clone();
    world.database.store = answering(&sound, run::State::Running, answer);
    let (node, mut services) = world.by_hand().await;
    world.database.store = sound;
    let now = clock.now();
    let mut service = |name: &str| services.remove(name).unwrap();
    let (mut planner, mut dispatcher) = (service("planner"), service("dispatcher"));
    let beginner = if by_dispatcher {
        planner.once(now).await.unwrap();
        &mut dispatcher
    } else {
        &mut planner
    };
    let mut recovery = service("recovery");
    let looks = async {
        committed.notified().await;
        let found = recovery.once(now).await;
        looked.notify_one();
        found
    };
    let both = async { tokio::join!(beginner.once(now), looks) };
    let both = tokio::time::timeout(Duration::from_secs(60), both).await;
    let (begun, found) = both.expect("a run begins");
    begun.unwrap();
    assert_eq!(found.unwrap(), None);
    let run = world.runs(schedule).await.remove(0);
    let own = Some(node.node_id().await);
    assert_eq!((run.state, run.attempt, run.node_id), (run::State::Running, 1, own));
}

/// The second try must recognise the rows that the first one has written, and must not take another
/// node's rows for its own.
async fn an_outcome_whose_commit_had_no_answer_is_counted_once(database: TestDatabase) {
    let mut world = World::new(database).await;
    let telemetry = Telemetry::unexported(world.clock.clone()).unwrap();
    world.metrics = telemetry.metrics().clone();
    let schedule = world.due_now(noop(), |_| {}).await.id;
    let sound = world.database.store.clone();
    world.database.store = answering(&sound, run::State::Succeeded, || ready(lost()).boxed());
    let (_node, mut services) = world.by_hand().await;
    world.database.store = sound;
    let mut service = |name: &str| services.remove(name).unwrap();
    service("planner").once(world.clock.now()).await.unwrap();
    let mut settler = service("settler");
    let settled = async {
        while settler.once(world.clock.now()).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), settled).await.expect("the attempt ends");
    assert_eq!(world.runs(schedule).await[0].state, run::State::Succeeded);
    let told = exposition(telemetry.registry()).unwrap();
    for line in [
        "carillon_attempts_total{state=\"succeeded\"} 1",
        "carillon_executions_total{state=\"succeeded\"} 1",
    ] {
        assert!(told.contains(line), "{line} is not in:\n{told}");
    }
}

/// The node that has ended the run must not take it for one that another node has taken over.
async fn the_last_step_of_a_flow_whose_commit_had_no_answer_is_counted_once(
    database: TestDatabase,
) {
    let mut world = World::new(database).await;
    let telemetry = Telemetry::unexported(world.clock.clone()).unwrap();
    world.metrics = telemetry.metrics().clone();
    let first = Task { name: "first".to_owned(), ..noop() };
    let last = Task { name: "last".to_owned(), needs: vec!["first".to_owned()], ..noop() };
    let schedule = world.due_now(Definition::of(vec![first, last]), |_| {}).await.id;
    let sound = world.database.store.clone();
    world.database.store = answering(&sound, run::State::Succeeded, || ready(lost()).boxed());
    let (node, mut services) = world.by_hand().await;
    world.database.store = sound;
    let mut service = |name: &str| services.remove(name).unwrap();
    service("planner").once(world.clock.now()).await.unwrap();
    let mut steps = service("steps");
    let ended = async {
        while node.attempts() > 0 {
            steps.once(world.clock.now()).await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("the run ends");
    assert_eq!(world.runs(schedule).await[0].state, run::State::Succeeded);
    let told = exposition(telemetry.registry()).unwrap();
    for line in [
        "carillon_attempts_total{state=\"succeeded\"} 2",
        "carillon_executions_total{state=\"succeeded\"} 1",
    ] {
        assert!(told.contains(line), "{line} is not in:\n{told}");
    }
}

/// The next round may succeed even if the query for the result of the previous commit got no
/// answer.
async fn a_doubt_that_could_not_be_settled_is_settled_by_a_later_round(database: TestDatabase) {
    if !database.store.dialect().is_postgres() {
        println!("not tried: no statement breaks a connection to a file");
        return;
    }
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let schedule = world.due_now(noop(), |_| {}).await.id;
    let (claims, asks) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (loses, breaks) = (claims.clone(), asks.clone());
    let edge = move |edge| {
        let is_lost = edge == FaultPoint::Committed && loses.swap(false, Ordering::SeqCst);
        ready(if is_lost { lost() } else { Ok(()) }).boxed()
    };
    let statement = move || {
        let sql = "SELECT pg_terminate_backend(pg_backend_pid())";
        let broken = || Statement::from_string(DbBackend::Postgres, sql);
        breaks.swap(false, Ordering::SeqCst).then(broken)
    };
    let sound = world.database.store.clone();
    world.database.store = sound.clone().with_faults(Faults::new(edge, statement));
    let (_node, mut services) = world.by_hand().await;
    world.database.store = sound;
    let mut planner = services.remove("planner").unwrap();
    let now = clock.now();
    claims.store(true, Ordering::SeqCst);
    planner.once(now).await.unwrap_err();
    asks.store(true, Ordering::SeqCst);
    planner.once(now).await.unwrap();
    assert!(!asks.load(Ordering::SeqCst) && world.runs(schedule).await.is_empty());
    assert!(planner.next_round(now) <= now + Duration::from_secs(1), "it is not left for long");
    planner.once(now).await.unwrap();
    assert_eq!(world.runs(schedule).await[0].state, run::State::Running);
}

async fn fires_that_the_database_refuses_do_not_keep_a_node_in_doubt(database: TestDatabase) {
    const POISON: i16 = 77;
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.settings.batch = 2;
    world.refuse("INSERT ON run", &format!("NEW.priority = {POISON}")).await;
    let mut schedules = Vec::new();
    for _ in 0..2 {
        schedules.push(world.due_now(noop(), |row| row.priority = POISON).await.id);
    }
    let claims = Arc::new(AtomicBool::new(false));
    let loses = claims.clone();
    let edge = move |edge| {
        let is_lost = edge == FaultPoint::Committed && loses.swap(false, Ordering::SeqCst);
        ready(if is_lost { lost() } else { Ok(()) }).boxed()
    };
    let sound = world.database.store.clone();
    world.database.store = sound.clone().with_faults(Faults::new(edge, || None));
    let (_node, mut services) = world.by_hand().await;
    world.database.store = sound;
    let mut planner = services.remove("planner").unwrap();
    let now = clock.now();
    claims.store(true, Ordering::SeqCst);
    planner.once(now).await.unwrap_err();
    for schedule in &schedules {
        assert_eq!(world.ledger(*schedule).await.len(), 1);
    }
    planner.once(now).await.unwrap();
    for schedule in schedules {
        assert!(world.runs(schedule).await.is_empty());
    }
    assert!(planner.next_round(now) > now + Duration::from_secs(1), "recovery tries them");
}

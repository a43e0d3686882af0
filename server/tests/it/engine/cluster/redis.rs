use std::{collections::HashMap, time::Duration};

use carillon::{
    beacon::{Beacon, BeaconOptions, Patience},
    clock::Clock,
    config,
    engine::{Engine, EngineError, Signals, cluster::NodeReadiness, maintenance::health},
    store::{
        nodes::{JoiningNode, LivingNode},
        reads::health::HealthScope,
    },
};
use chrono::TimeDelta;
use entity::{node, run, task_run};
use sea_orm::EntityTrait;
use uuid::Uuid;

use crate::{
    engine::{
        gate::Gate,
        world::{World, noop},
    },
    support::{Redis, TestDatabase},
};

const INTERVAL: Duration = Duration::from_millis(200);
const EXPIRY: Duration = Duration::from_secs(5);
/// A time limit for tests in which Redis is down.
const BRIEF: Duration = Duration::from_secs(1);
/// A time limit for tests in which Redis is up: longer than any machine needs.
const LONG: Duration = Duration::from_secs(60);

pub(super) async fn beacon(redis: &Redis) -> Beacon {
    connect(redis, BRIEF).await
}

/// A connection to Redis that waits for its locks as long as needed; the node does without them
/// only if Redis reports an error.
pub(super) async fn patient_beacon(redis: &Redis) -> Beacon {
    connect(redis, LONG).await
}

async fn connect(redis: &Redis, patience: Duration) -> Beacon {
    let url = redis.url().parse().unwrap();
    let patience = Patience { beat: patience, lock: patience };
    let options = BeaconOptions { url, prefix: "test".to_owned(), expiry: EXPIRY, patience };
    Beacon::connect(options, Clock::system()).await.unwrap()
}

pub(super) async fn world() -> World {
    let mut world = World::new(TestDatabase::postgres().await).await;
    (world.settings.heartbeat_interval, world.settings.heartbeat_expiry) = (INTERVAL, EXPIRY);
    world
}

/// A node with its own connection to Redis.
pub(super) async fn node(world: &mut World, redis: &Redis, name: &str) -> Engine {
    world.settings.beacon = Some(beacon(redis).await);
    world.node(name).await
}

/// A node with its own connection to Redis, which waits for its locks as long as needed.
pub(super) async fn patient_node(world: &mut World, redis: &Redis, name: &str) -> Engine {
    world.settings.beacon = Some(patient_beacon(redis).await);
    world.node(name).await
}

/// Waits for this many further heartbeats of the node, and checks at each.
async fn beats(node: &Engine, count: usize, mut look: impl FnMut()) {
    let mut beats = node.pulse_reports();
    beats.mark_unchanged();
    for _ in 0..count {
        let next = tokio::time::timeout(Duration::from_secs(60), beats.changed());
        next.await.expect("a heartbeat").unwrap();
        look();
    }
}

/// Waits until one of the node's heartbeats shows that state.
async fn sees(node: &Engine, what: &str, mut is_so: impl FnMut(&[LivingNode]) -> bool) {
    let cluster = node.cluster();
    let mut beats = node.pulse_reports();
    let seen = beats.wait_for(|_| is_so(&cluster.seen().members));
    let seen = tokio::time::timeout(Duration::from_secs(60), seen).await;
    seen.unwrap_or_else(|_| panic!("waited in vain until {what}")).unwrap();
}

pub(super) async fn know_each_other(nodes: &[&Engine]) {
    for node in nodes {
        sees(node, "all are there", |members| members.len() == nodes.len()).await;
    }
}

async fn rows(world: &World) -> HashMap<Uuid, node::Model> {
    let rows = node::Entity::find().all(world.database.store.read()).await.unwrap();
    rows.into_iter().map(|row| (row.id, row)).collect()
}

/// The problem that `/healthz` reports about Redis, if any.
async fn redis_issue(world: &World, engine: &Engine) -> Option<String> {
    let (store, limits) = (&world.database.store, config::Health::default());
    let (cluster, scope) = (engine.cluster(), HealthScope::default());
    let checks = health::examine(store, &world.clock, &cluster, &scope, &limits).await.unwrap();
    let check = checks.into_iter().find(|check| check.name == "redis").unwrap();
    assert_eq!(check.healthy, check.issue.is_none());
    check.issue
}

/// Waits until `/healthz` reports no problem of Redis: on a busy machine, one heartbeat may have
/// been too slow.
async fn redis_is_well(world: &World, engine: &Engine) {
    let is_well = async || redis_issue(world, engine).await.is_none().then_some(());
    world.until("Redis is well", is_well).await;
}

#[tokio::test]
async fn heartbeats_go_to_redis_and_leave_the_rows_alone() {
    let (redis, mut world) = (Redis::start().await, world().await);
    let (a, b) = (node(&mut world, &redis, "a").await, node(&mut world, &redis, "b").await);
    know_each_other(&[&a, &b]).await;
    let (first, began) = (rows(&world).await, world.clock.instant());
    // The loop takes longer than a silent node counts as alive.
    let (cluster, mut last) = (a.cluster(), first.clone());
    let (mut seen, mut written) = (0, 0);
    while world.clock.instant() < began + EXPIRY * 2 {
        beats(&a, 1, || assert_eq!(cluster.seen().members.len(), 2)).await;
        let now = rows(&world).await;
        (seen, written) = (seen + 1, written + usize::from(now != last));
        last = now;
    }
    assert!(cluster.seen().members.iter().all(|member| member.beat.is_some()));
    let has_written = |row: &node::Model| row.heartbeat_at > first[&row.id].heartbeat_at;
    assert!(last.values().all(has_written), "each writes its row once in an expiry");
    let spans = began.elapsed().as_secs() / EXPIRY.as_secs() + 2;
    // Each of the two nodes writes its row once in each of these periods.
    let most = 2 * usize::try_from(spans).unwrap();
    assert!(written <= most, "and seldom more: {written} times in {seen} beats");
    redis_is_well(&world, &a).await;
    let gone = b.status().await.node_id;
    b.shutdown(Duration::from_secs(5)).await.unwrap();
    assert_eq!(redis.say(&format!("EXISTS test:node:{gone}")), ":0", "it said goodbye");
    a.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn what_a_silent_node_held_is_taken_over_after_a_doubt_without_an_answer() {
    let (redis, mut world) = (Redis::start().await, world().await);
    let mut gate = Gate::open().await;
    let killed = node(&mut world, &redis, "killed").await;
    let schedule = world.due_now(gate.task(), |_| {}).await;
    let _lost = gate.arrival().await;
    let other = node(&mut world, &redis, "other").await;
    know_each_other(&[&killed, &other]).await;
    let dead = killed.status().await.node_id;
    killed.abandon();
    sees(&other, "it is alone", |members| members.len() == 1).await;
    let second = gate.arrival().await;
    assert_eq!(second.attempt(), 2);
    second.answer(200);
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::Succeeded);
    let states: Vec<_> = world.attempts(run.id).await.iter().map(|row| row.state).collect();
    assert_eq!(states, [task_run::State::Lost, task_run::State::Succeeded]);
    let row = rows(&world).await.remove(&dead).unwrap();
    assert!(row.state == node::State::Dead && row.doubted_at.is_some(), "{row:?}");
    let asked_for = row.ended_at.unwrap().0 - row.doubted_at.unwrap().0;
    assert!(asked_for >= 5_000, "it was silent for its expiry: {asked_for} ms");
    other.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn a_redis_that_is_flushed_frozen_or_gone_declares_nobody_dead() {
    let (mut redis, mut world) = (Redis::start().await, world().await);
    let (a, b) = (node(&mut world, &redis, "a").await, node(&mut world, &redis, "b").await);
    know_each_other(&[&a, &b]).await;
    let lives = [a.status().await.node_id, b.status().await.node_id];
    let cluster = a.cluster();
    let both_are_there = || assert_eq!(cluster.seen().members.len(), 2);
    for _ in 0..10 {
        redis.flush();
        beats(&a, 2, both_are_there).await;
    }
    redis_is_well(&world, &a).await;

    for is_frozen in [false, true] {
        if is_frozen {
            redis.freeze()
        } else {
            redis.kill()
        }
        // Each node reports its own problem, and that of the other through the database.
        for (asked, other) in [(&a, "b"), (&b, "a")] {
            sees(asked, "the other says that Redis is away", |members| {
                let mut others = members.iter().filter(|member| member.node.name == other);
                others.any(|member| member.node.redis_problem.is_some())
            })
            .await;
        }
        let issue = redis_issue(&world, &a).await.expect("an issue while Redis is away");
        assert!(issue.starts_with("Redis cannot be reached by 'a' (redis://127.0.0.1:"), "{issue}");
        assert!(issue.contains("), 'b' (redis://127.0.0.1:"), "{issue}");
        // The loop takes longer than Redis keeps the heartbeat of a node.
        let until = world.clock.instant() + EXPIRY * 2;
        while world.clock.instant() < until {
            beats(&a, 1, both_are_there).await;
        }
        let schedule = world.due_now(noop(), |_| {}).await;
        world.settled_run(schedule.id).await;
        if is_frozen {
            redis.thaw()
        } else {
            redis.go_on().await
        }
        for asked in [&a, &b] {
            sees(asked, "nobody says that Redis is away", |members| {
                members.iter().all(|member| member.node.redis_problem.is_none())
            })
            .await;
        }
        redis_is_well(&world, &a).await;
    }
    assert_eq!([a.status().await.node_id, b.status().await.node_id], lives);
    assert_eq!(rows(&world).await.len(), 2, "nobody began another life");
    a.shutdown(Duration::from_secs(5)).await.unwrap();
    b.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// Nodes use different Redis servers after a fail-over that not all of them have noticed, or
/// different keys if their settings of `cluster.redis_prefix` differ.
#[tokio::test]
pub(super) async fn nodes_that_do_not_hear_each_other_in_redis_answer_doubts_in_the_database() {
    let (one, two, mut world) = (Redis::start().await, Redis::start().await, world().await);
    let (a, b) = (node(&mut world, &one, "a").await, node(&mut world, &two, "b").await);
    know_each_other(&[&a, &b]).await;
    let first = rows(&world).await;
    let until = world.clock.instant() + EXPIRY * 3;
    while world.clock.instant() < until {
        for node in [&a, &b] {
            let cluster = node.cluster();
            beats(node, 1, || assert_eq!(cluster.seen().members.len(), 2, "both see both")).await;
        }
    }
    let now = rows(&world).await;
    assert_eq!(now.len(), 2, "nobody began another life: {now:?}");
    assert!(now.values().all(|row| row.state == node::State::Alive), "{now:?}");
    let has_answered = |row: &node::Model| row.heartbeat_at > first[&row.id].heartbeat_at;
    assert!(now.values().all(has_answered), "{now:?}");
    a.shutdown(Duration::from_secs(5)).await.unwrap();
    b.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// Both nodes are in the process of this test, so to the second one the first looks like itself.
#[tokio::test]
async fn a_name_is_not_free_because_its_node_is_not_heard() {
    let (one, two, mut world) = (Redis::start().await, Redis::start().await, world().await);
    let first = node(&mut world, &one, "same").await;
    let life = first.status().await.node_id;
    // The row now looks as if the first node were on another machine, and had not written its row
    // for a while.
    let sql = "UPDATE node SET process = '', heartbeat_at = heartbeat_at - 3600000 WHERE id = $1";
    world.write(sql, [life.into()]).await;
    world.settings.beacon = Some(beacon(&two).await);
    world.settings.node_name = "same".to_owned();
    world.signals = Signals::default();
    let refused = world.try_engine().await.map(|_| "started").unwrap_err();
    assert!(matches!(refused, EngineError::NameTaken { .. }), "{refused}");
    assert_eq!(first.status().await.node_id, life);
    first.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn a_usurped_node_that_does_not_hear_the_other_stands_back() {
    let (one, two, mut world) = (Redis::start().await, Redis::start().await, world().await);
    let first = node(&mut world, &one, "same").await;
    let second = node(&mut world, &two, "same").await;
    let life = second.status().await.node_id;
    let mut reports = first.pulse_reports();
    let usurped = reports.wait_for(|(_, report)| report.is_usurped);
    tokio::time::timeout(Duration::from_secs(60), usurped).await.unwrap().unwrap();
    let until = world.clock.instant() + EXPIRY * 3;
    while world.clock.instant() < until {
        beats(&first, 1, || {}).await;
        assert_eq!(first.cluster().standing(&world.clock), NodeReadiness::Usurped);
        assert_eq!(second.status().await.node_id, life);
    }
    second.abandon();
    let rejoined = reports.wait_for(|(_, report)| report.rejoined);
    tokio::time::timeout(Duration::from_secs(60), rejoined).await.unwrap().unwrap();
    first.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// The node is cut off together with a database that was the primary until then.
#[tokio::test]
async fn who_writes_no_row_for_long_is_declared_dead_however_loud_it_is() {
    let (redis, mut world) = (Redis::start().await, world().await);
    let there = node(&mut world, &redis, "there").await;
    let elsewhere = JoiningNode {
        id: Uuid::now_v7(),
        name: "elsewhere".to_owned(),
        beats_in: node::BeatsIn::Redis,
        capacity: 1,
        ..JoiningNode::default()
    };
    let began = world.clock.instant();
    world.database.store.join(&elsewhere).await.unwrap();
    let voice = beacon(&redis).await;
    let limit = began + EXPIRY * 8;
    loop {
        voice.beat(elsewhere.id, 0, 0, &[]).await;
        beats(&there, 1, || {}).await;
        if rows(&world).await[&elsewhere.id].state == node::State::Dead {
            break;
        }
        assert!(world.clock.instant() < limit, "it is believed for ever");
    }
    // The silence between two heartbeats is subtracted.
    assert!(world.clock.instant() >= began + EXPIRY * 5 / 2, "it was not asked for long enough");
    there.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn a_row_from_the_future_misleads_no_node() {
    let (redis, mut world) = (Redis::start().await, world().await);
    let (a, b) = (node(&mut world, &redis, "a").await, node(&mut world, &redis, "b").await);
    know_each_other(&[&a, &b]).await;
    // The row looks as if the database's clock had been stepped back.
    let sql = "UPDATE node SET heartbeat_at = heartbeat_at + 3600000 WHERE name = $1";
    world.write(sql, ["a".into()]).await;
    let future = world.clock.now() + TimeDelta::minutes(30);
    beats(&a, 3, || assert_eq!(a.cluster().standing(&world.clock), NodeReadiness::Ready)).await;
    let rows = rows(&world).await;
    assert!(rows.values().all(|row| row.heartbeat_at.utc() < future), "{rows:?}");
    a.shutdown(Duration::from_secs(5)).await.unwrap();
    b.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn a_node_without_redis_asks_the_others_through_the_database() {
    let (redis, mut world) = (Redis::start().await, world().await);
    let with = node(&mut world, &redis, "with").await;
    world.settings.beacon = None;
    let without = world.node("without").await;
    know_each_other(&[&with, &without]).await;
    let until = world.clock.instant() + EXPIRY * 3;
    while world.clock.instant() < until {
        beats(&without, 1, || {}).await;
    }
    let rows = rows(&world).await;
    assert!(rows.len() == 2 && rows.values().all(|row| row.state == node::State::Alive));
    without.shutdown(Duration::from_secs(5)).await.unwrap();
    with.shutdown(Duration::from_secs(5)).await.unwrap();
}

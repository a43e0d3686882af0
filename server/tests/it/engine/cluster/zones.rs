//! Nodes whose zone data differs: all of them compute with the same release.

use std::time::Duration;

use carillon::{
    commands::{Call, NewSchedule, ScheduleWork},
    engine::{Signals, cluster::NodeReadiness},
    model::Spec,
    store::nodes::JoiningNode,
};
use entity::{run, schedule};
use sea_orm::EntityTrait;
use uuid::Uuid;

use crate::{
    engine::{
        editing,
        world::{World, at, ms, noop},
    },
    support::{TestDatabase, on_both},
};

on_both!(
    a_node_with_older_zone_data_claims_nothing_until_the_others_have_left,
    by_other_zone_data_than_that_of_all_nothing_is_placed,
    what_other_zone_data_placed_is_placed_anew,
    who_has_not_heard_of_a_newer_node_takes_nothing_back_from_it,
    a_pause_on_a_clock_that_was_set_back_takes_no_cursor_back,
);

/// A release that is newer than any real one.
const NEWER: &str = "2999a";

/// Adds another node that has newer zone data and counts as alive for as long as the test takes.
async fn newer(world: &World) -> Uuid {
    let id = Uuid::now_v7();
    let joining = JoiningNode {
        id,
        name: "newer".to_owned(),
        zone_data: NEWER.to_owned(),
        roles: vec!["scheduler".to_owned()],
        ..JoiningNode::default()
    };
    world.database.store.join(&joining).await.unwrap();
    let lives = "UPDATE node SET heartbeat_at = heartbeat_at + 3600000 WHERE id = $1";
    world.write(lives, [id.into()]).await;
    world.database.store.set_zone_rules(NEWER).await.unwrap();
    id
}

async fn a_node_with_older_zone_data_claims_nothing_until_the_others_have_left(
    database: TestDatabase,
) {
    let mut world = World::new(database).await;
    world.settings.heartbeat_interval = Duration::from_millis(100);
    let engine = world.engine().await;
    let mut beats = engine.pulse_reports();
    let mut rounds = engine.planner_reports();
    let cluster = engine.cluster();
    let newer = newer(&world).await;
    let stands_back = beats.wait_for(|_| cluster.standing(&world.clock) == NodeReadiness::OldZones);
    tokio::time::timeout(Duration::from_secs(60), stands_back).await.unwrap().unwrap();

    rounds.mark_unchanged();
    let schedule = world.due_now(noop(), |_| {}).await;
    tokio::time::timeout(Duration::from_secs(60), rounds.changed()).await.unwrap().unwrap();
    assert!(world.ledger(schedule.id).await.is_empty());

    world.database.store.leave(newer).await.unwrap();
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::Succeeded);
    let rules = world.database.store.zone_rules().await.unwrap().unwrap();
    assert_eq!(rules.zone_data, timetable::zone_data().version);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// Each transaction checks the release in the database, whatever the node knows of the others.
async fn by_other_zone_data_than_that_of_all_nothing_is_placed(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let (_node, mut services) = world.by_hand().await;
    let due = world.due_now(noop(), |_| {}).await;
    let paused = world
        .schedule("30 * * * *", noop(), |row| {
            (row.enabled, row.paused_until) = (false, Some(ms("2026-03-01T11:59:00Z")));
        })
        .await;
    world.database.store.set_zone_rules(NEWER).await.unwrap();

    let mut once = async |name: &str| {
        let service = services.get_mut(name).unwrap();
        service.once(clock.now()).await.unwrap()
    };
    assert_eq!(once("planner").await, None);
    assert!(world.ledger(due.id).await.is_empty());
    let commands = editing::commands(&world);
    let new = || NewSchedule {
        namespace: "test".to_owned(),
        spec: Spec { name: "new".to_owned(), ..Spec::of(&due) },
        work: ScheduleWork::Task(Box::new(noop())),
        paused: false,
    };
    let editor = editing::ada().editor().unwrap();
    let key = || Call::new("createSchedule", "", Some("key".to_owned())).unwrap();
    for call in [Call::once(), key()] {
        let error = commands.create_schedule(&editor, new(), &call).await.unwrap_err().to_string();
        assert!(error.contains(&format!("nodes that schedule {NEWER}")), "{error}");
    }

    once("zones").await;
    let claimed = once("planner").await.unwrap();
    assert!(claimed.contains("claimed: 1,") && claimed.contains("resumed: 1,"), "{claimed}");
    assert_eq!(world.ledger(due.id).await.len(), 1);
    let row = schedule::Entity::find_by_id(paused.id).one(world.database.store.read()).await;
    assert!(row.unwrap().unwrap().enabled);
    commands.create_schedule(&editor, new(), &key()).await.unwrap();
}

/// If the cursors were not computed again, instants that newer rules move forward would be skipped
/// silently.
async fn what_other_zone_data_placed_is_placed_anew(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let right = "2026-03-01T13:00:00Z";
    let placed = async |cursor: &str, last: Option<&str>| {
        let change = |row: &mut schedule::Model| {
            row.zone = "Europe/Berlin".to_owned();
            row.next_scheduled_at = Some(ms(cursor));
            row.last_fire_at = last.map(ms);
        };
        world.schedule("0 14 * * *", noop(), change).await.id
    };
    let late = placed("2026-03-01T14:00:00Z", Some("2026-02-28T13:00:00Z")).await;
    let early = placed("2026-03-01T12:30:00Z", None).await;
    let just_right = placed(right, None).await;
    // The last fire came an hour late, by the old rules. It is not repeated.
    let done = placed("2026-03-02T14:00:00Z", Some("2026-03-01T14:00:00Z")).await;
    // The schedule has not changed since its instant was due, so the instant is not skipped.
    let overdue = placed("2026-03-01T11:00:00Z", None).await;
    world.database.store.set_zone_rules(NEWER).await.unwrap();

    world.signals = Signals::default();
    let (_node, mut services) = world.by_hand().await;
    let round = services.get_mut("zones").unwrap().once(clock.now()).await.unwrap().unwrap();
    assert_eq!(round, "ZonesReport { checked: 5, moved: 4 }");
    let cursor = async |id: Uuid| {
        let row = schedule::Entity::find_by_id(id).one(world.database.store.read()).await;
        let row = row.unwrap().unwrap();
        assert_eq!(row.next_scheduled_at, row.next_fire_at);
        row.next_scheduled_at.unwrap().utc()
    };
    for id in [late, early, just_right, overdue] {
        assert_eq!(cursor(id).await, at(right));
    }
    assert_eq!(cursor(done).await, at("2026-03-02T13:00:00Z"));

    // The cursors are computed once, even if another node with the new data joins later.
    let (_node, mut services) = world.by_hand().await;
    assert_eq!(services.get_mut("zones").unwrap().once(clock.now()).await.unwrap(), None);
    clock.set(at(right));
    services.get_mut("planner").unwrap().once(clock.now()).await.unwrap();
    for id in [late, early, just_right, overdue] {
        let ledger = world.ledger(id).await;
        let fires: Vec<_> = ledger.iter().map(|fire| fire.scheduled_at.utc()).collect();
        assert_eq!(fires, [at(right)]);
    }
}

/// The node knows the releases of the other nodes from their last heartbeats. It waits for a silent
/// node only until that node is declared dead.
async fn who_has_not_heard_of_a_newer_node_takes_nothing_back_from_it(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let (_node, mut services) = world.by_hand().await;
    let newer = newer(&world).await;
    let rules = async || world.database.store.zone_rules().await.unwrap().unwrap().zone_data;
    assert_eq!(services.get_mut("zones").unwrap().once(clock.now()).await.unwrap(), None);
    assert_eq!(rules().await, NEWER);

    let silent = 3_600_000 + world.settings.heartbeat_expiry.as_millis() as i64 * 2 / 3;
    let is_silent = "UPDATE node SET heartbeat_at = heartbeat_at - $1 WHERE id = $2";
    world.write(is_silent, [silent.into(), newer.into()]).await;
    services.get_mut("zones").unwrap().once(clock.now()).await.unwrap();
    assert_eq!(rules().await, timetable::zone_data().version);
}

/// The cursor is computed again from the schedule's last change. That change is the latest known
/// instant, whatever the clock shows now.
async fn a_pause_on_a_clock_that_was_set_back_takes_no_cursor_back(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let made = world.schedule("*/30 * * * *", noop(), |_| {}).await;
    clock.set(at("2026-03-01T10:10:00Z"));
    let (operator, call) = (editing::ada().operator().unwrap(), Call::once());
    let commands = editing::commands(&world);
    commands.pause(&operator, made.id, "maintenance", None, &call).await.unwrap();
    world.database.store.set_zone_rules(NEWER).await.unwrap();

    world.signals = Signals::default();
    let (_node, mut services) = world.by_hand().await;
    services.get_mut("zones").unwrap().once(clock.now()).await.unwrap();
    let row = schedule::Entity::find_by_id(made.id).one(world.database.store.read()).await;
    let row = row.unwrap().unwrap();
    assert_eq!(row.next_scheduled_at, made.next_scheduled_at);
    assert!(row.updated_at > made.updated_at);
    let rules = world.database.store.zone_rules().await.unwrap().unwrap();
    assert!(rules.checked_at.is_some());
}

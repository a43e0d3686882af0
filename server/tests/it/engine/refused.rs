//! Fires that the database refuses: only their schedule is affected.

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use carillon::store::{FaultPoint, Faults, StoreError};
use chrono::TimeDelta;
use entity::fire;
use futures::FutureExt;
use sea_orm::{ConnAcquireErr, DbErr, EntityTrait, PaginatorTrait};

use super::world::{World, at, noop};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_schedule_whose_fires_the_database_refuses_holds_up_no_other,
    where_the_database_refuses_all_nothing_is_set_aside_for_long,
    an_error_that_passes_is_no_refusal,
);

async fn take_fires_again(world: &World) {
    let is_postgres = world.database.store.dialect().is_postgres();
    let drop = if is_postgres { "DROP TRIGGER refuse ON fire" } else { "DROP TRIGGER refuse" };
    world.write(drop, []).await;
}

async fn a_schedule_whose_fires_the_database_refuses_holds_up_no_other(database: TestDatabase) {
    const POISON: i32 = 77;
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.refuse("INSERT ON fire", &format!("NEW.schedule_version = {POISON}")).await;
    let mut schedules = Vec::new();
    for number in 0..9 {
        let version = if number == 5 { POISON } else { 1 };
        let schedule = world.due_now(noop(), |row| {
            (row.version, row.fires_version) = (version, version);
        });
        schedules.push(schedule.await.id);
    }
    let (node, mut steps) = world.by_hand().await;
    let planner = steps.get_mut("planner").unwrap();
    let told = planner.once(clock.now()).await.unwrap().unwrap();
    assert!(told.contains("claimed: 8,") && told.contains("refused: 1"), "{told}");
    let poison = schedules.remove(5);
    for schedule in &schedules {
        assert_eq!(world.ledger(*schedule).await.len(), 1);
    }
    assert!(world.ledger(poison).await.is_empty());
    assert_eq!(node.cluster().refused(), [poison]);

    // Instants that are due next are claimed at once. The refused instant stays due, and is tried
    // separately.
    let next = world.due_now(noop(), |_| {}).await;
    let told = planner.once(clock.now()).await.unwrap().unwrap();
    assert!(told.contains("claimed: 1,") && told.contains("batches: 1,"), "{told}");
    assert_eq!(world.ledger(next.id).await.len(), 1);
    clock.pass(Duration::from_secs(10));
    assert_eq!(planner.once(clock.now()).await.unwrap(), None);
    assert!(world.ledger(poison).await.is_empty());

    take_fires_again(&world).await;
    clock.pass(Duration::from_secs(10));
    assert_eq!(planner.once(clock.now()).await.unwrap(), None, "it is to wait for longer now");
    clock.pass(Duration::from_secs(10));
    let told = planner.once(clock.now()).await.unwrap().unwrap();
    assert!(told.contains("claimed: 1,") && told.contains("refused: 0"), "{told}");
    assert_eq!(world.ledger(poison).await.len(), 1);
    assert!(node.cluster().refused().is_empty());
}

/// If the database refuses everything, the fault is not with single schedules.
async fn where_the_database_refuses_all_nothing_is_set_aside_for_long(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.refuse("INSERT ON fire", "NEW.count > 0").await;
    let now = clock.now();
    let schedules = world
        .schedules_with(150, noop(), |_, row| {
            (row.next_scheduled_at, row.next_fire_at) = (Some(now.into()), Some(now.into()));
            row.anchor_at = (now - TimeDelta::days(365)).into();
        })
        .await;
    let (node, mut steps) = world.by_hand().await;
    let planner = steps.get_mut("planner").unwrap();
    for _ in 0..3 {
        // The previous round holds its rows until PostgreSQL has rolled it back.
        while planner.once(clock.now()).await.is_ok() {}
    }
    let aside = node.cluster().refused().len();
    assert!(aside < schedules.len(), "{aside} are set aside");

    take_fires_again(&world).await;
    clock.pass(Duration::from_secs(300));
    while fire::Entity::find().count(world.database.store.read()).await.unwrap() < 150 {
        planner.once(clock.now()).await.unwrap();
    }
    assert!(node.cluster().refused().is_empty());
}

async fn an_error_that_passes_is_no_refusal(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    for _ in 0..3 {
        world.due_now(noop(), |_| {}).await;
    }
    let is_armed = Arc::new(AtomicBool::new(false));
    let armed = is_armed.clone();
    let edge = move |edge| {
        let fails = edge == FaultPoint::Commit && armed.swap(false, Ordering::SeqCst);
        let lost = StoreError::Database(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout));
        ready(if fails { Err(lost) } else { Ok(()) }).boxed()
    };
    world.database.store = world.database.store.clone().with_faults(Faults::new(edge, || None));
    let (node, mut steps) = world.by_hand().await;
    let planner = steps.get_mut("planner").unwrap();
    is_armed.store(true, Ordering::SeqCst);
    planner.once(clock.now()).await.unwrap_err();
    assert!(node.cluster().refused().is_empty());
    let told = loop {
        // The failed round holds its rows until PostgreSQL has rolled it back.
        if let Some(told) = planner.once(clock.now()).await.unwrap() {
            break told;
        }
    };
    assert!(told.contains("claimed: 3,") && told.contains("refused: 0"), "{told}");
}

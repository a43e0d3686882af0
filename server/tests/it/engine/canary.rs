//! The server's own schedule, from its due time to its end.

use std::{sync::Arc, time::Duration};

use carillon::{
    commands::Commands,
    config,
    engine::{Signals, cluster::Cluster, maintenance::health::examine},
    store::reads::health::HealthScope,
    target::{Executor, Policy},
};
use entity::audit_event;
use sea_orm::{EntityTrait, PaginatorTrait};

use super::world::{World, at};
use crate::support::{TestDatabase, on_both};

on_both!(the_canary_is_missed_when_it_falls_silent_and_goes_when_nobody_wants_it);

async fn the_canary_is_missed_when_it_falls_silent_and_goes_when_nobody_wants_it(
    database: TestDatabase,
) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:30Z")).await;
    let store = world.database.store.clone();
    let executor = Executor::new(Policy::default(), clock.clock()).unwrap();
    let cache = Arc::new(timetable::Cache::new(10));
    let signals: Signals = world.signals.clone();
    let commands = Commands::new(store.clone(), clock.clock(), cache, Arc::new(executor), signals);
    let check = async || {
        let (scope, limits) = (HealthScope::default(), config::Health::default());
        let clock = world.clock.clone();
        let checks = examine(&store, &clock, &Cluster::default(), &scope, &limits).await.unwrap();
        checks.into_iter().find(|check| check.name == "canary")
    };
    commands.keep_canary(false).await.unwrap();
    assert_eq!(check().await, None, "there is none, and nothing was made for it");
    assert_eq!(store.canary().await.unwrap(), None);

    commands.keep_canary(true).await.unwrap();
    let deployed = audited(&world).await;
    commands.keep_canary(true).await.unwrap();
    assert_eq!(audited(&world).await, deployed, "what is as it should be is left alone");
    let engine = world.engine().await;
    clock.advance(Duration::from_secs(60));
    let sung = world
        .until("the canary has sung", || async {
            store.canary().await.unwrap().filter(|canary| canary.finished_at.is_some())
        })
        .await;
    assert_eq!(sung.due_at, Some(at("2026-03-01T12:01:30Z").into()));
    assert!(check().await.unwrap().healthy);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();

    clock.advance(Duration::from_secs(181));
    let silent = check().await.unwrap();
    assert_eq!((silent.healthy, &*silent.value), (false, "181 s"));
    commands.keep_canary(false).await.unwrap();
    assert_eq!(check().await, None);
}

/// The number of actions in the audit log.
async fn audited(world: &World) -> u64 {
    audit_event::Entity::find().count(world.database.store.read()).await.unwrap()
}

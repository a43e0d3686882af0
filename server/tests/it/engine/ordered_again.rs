//! Old runs that a user repeats at the moment when retention removes them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use carillon::{
    access::{Grants, Viewer, ViewerKind},
    clock::Clock,
    commands::{Call, Commands},
    engine::Signals,
    store::{Options, Store, retention::FireKey},
    target::{Executor, Policy},
};
use entity::{run, user::Role};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use uuid::Uuid;

use super::{
    forge,
    world::{World, at, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(the_fire_of_a_run_that_is_ordered_again_while_a_chunk_is_chosen_stays);

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn the_fire_of_a_run_that_is_ordered_again_while_a_chunk_is_chosen_stays(
    database: TestDatabase,
) {
    let (mut world, _clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    // The runs ended today, so they stay longer than their fires.
    let today = Some(world.clock.now().into());
    let again = world.past(&schedule, 50, 1, |_, run| run.finished_at = today).await;
    let gone = world.past(&schedule, 49, 1, |_, run| run.finished_at = today).await;
    order_after(&mut world, again, |sql| {
        sql.contains("FROM fire t") && sql.contains("ORDER BY t.id")
    });
    let report = world.retain(45).await;
    assert_eq!(report.fires, 1, "{report:?}");
    let ledger = world.ledger(schedule.id).await;
    assert_eq!(ledger.iter().map(|fire| fire.id).collect::<Vec<_>>(), [again]);
    assert_ne!(again, gone);
    assert_eq!(retry_of(&world, again).await.fire_id, Some(again));
}

#[tokio::test]
async fn the_fire_of_a_run_that_is_ordered_again_while_its_day_is_looked_through_is_kept() {
    let (mut world, clock) =
        World::at(TestDatabase::postgres().await, at("2026-03-01T12:00:00Z")).await;
    world.retain(45).await;
    clock.advance(DAY);
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let now = world.clock.now() + 47 * DAY;
    let again = world.past(&schedule, 0, 1, |_, run| run.finished_at = Some(now.into())).await;
    clock.advance(47 * DAY);
    order_after(&mut world, again, |sql| {
        sql.contains("pg_relation_size") && sql.contains("fire_20260302")
    });
    let report = world.retain(45).await;
    assert_eq!((report.dropped, report.fires), (4, 0), "{report:?}");
    let ledger = world.ledger(schedule.id).await;
    assert_eq!(ledger.iter().map(|fire| fire.id).collect::<Vec<_>>(), [again]);
    assert_eq!(retry_of(&world, again).await.fire_id, Some(again));
}

#[tokio::test]
async fn a_fire_whose_run_is_being_ordered_again_is_passed_over() {
    let (world, _clock) =
        World::at(TestDatabase::postgres().await, at("2026-03-01T12:00:00Z")).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let id = world.past(&schedule, 50, 1, |_, _| {}).await;
    let scheduled_at = world.ledger(schedule.id).await[0].scheduled_at;
    let store = &world.database.store;
    let order = store.begin().await.unwrap();
    let held = store.hold_fires(&order, &[FireKey { id, scheduled_at }]).await.unwrap();
    assert_eq!(held.into_iter().collect::<Vec<_>>(), [id]);
    assert_eq!(world.retain(45).await.fires, 0);
    order.rollback().await.unwrap();
    assert_eq!(world.retain(45).await.fires, 1);
}

async fn retry_of(world: &World, id: Uuid) -> run::Model {
    let retries = run::Entity::find().filter(run::Column::RetryOf.eq(id));
    retries.one(world.database.store.read()).await.unwrap().unwrap()
}

/// Repeats the run as soon as the first statement of that kind has been answered, before anything
/// else happens.
fn order_after(world: &mut World, run: Uuid, is_it: impl Fn(&str) -> bool + Send + Sync + 'static) {
    let (url, clock) = (world.database.url.clone(), world.clock.clone());
    let once = AtomicBool::new(true);
    world.database.store = world.database.store.clone().with_observer(move |sql| {
        if is_it(sql) && once.swap(false, Ordering::Relaxed) {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let runtime =
                        tokio::runtime::Builder::new_current_thread().enable_all().build();
                    runtime.unwrap().block_on(order(&url, &clock, run));
                });
            });
        }
    });
}

async fn order(url: &str, clock: &Clock, run: Uuid) {
    let store = Store::open(&Options::new(url)).await.unwrap();
    let executor = Executor::new(Policy::default(), clock.clone()).unwrap();
    let cache = Arc::new(timetable::Cache::new(1_000));
    let commands =
        Commands::new(store.clone(), clock.clone(), cache, Arc::new(executor), Signals::default());
    let grants = Grants::everywhere(Role::Operator);
    let viewer = Viewer::new(Uuid::from_u128(7), "ada", ViewerKind::User, grants, "test");
    commands.retry(&viewer.operator().unwrap(), run, &Call::once()).await.unwrap();
    store.close().await.unwrap();
}

//! Backfills: past instants that run on request.
//!
//! - `running`: which instants run, in which order, how many at once, and their ledger rows
//! - `stopping`: pause, resume, cancel, a deleted schedule
//! - `restarting`: kills between the steps
//! - `meeting`: other backfills, the planner, a pause that ends
//! - `beside`: the schedule's own runs, its group and its maximum

mod beside;
mod meeting;
mod restarting;
mod running;
mod stopping;

use std::sync::Arc;

use carillon::{
    access::{Grants, Operator, Viewer, ViewerKind},
    commands::{BackfillOptions, Call, Commands, RequestedFires},
    target::{Executor, Policy},
};
use entity::{
    backfill::{self, Mode, Order},
    backfill_fire, fire, schedule,
    user::Role,
};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
use uuid::Uuid;

use super::world::{World, at};

/// An editor, who may also operate.
fn ada() -> Viewer {
    let (kind, role) = (ViewerKind::User, Role::Editor);
    Viewer::new(Uuid::from_u128(7), "ada", kind, Grants::everywhere(role), "test")
}

fn operator() -> Operator {
    ada().operator().unwrap()
}

/// The write side of a world.
fn commands(world: &World) -> Commands {
    let executor = Executor::new(Policy::default(), world.clock.clone()).unwrap();
    Commands::new(
        world.database.store.clone(),
        world.clock.clone(),
        Arc::new(timetable::Cache::new(1_000)),
        Arc::new(executor),
        world.signals.clone(),
    )
}

/// Requests those fires of 1 March between two times that have had no run.
fn missing(schedule: &schedule::Model, from: &str, to: &str) -> RequestedFires {
    let day = |time: &str| at(&format!("2026-03-01T{time}Z"));
    RequestedFires { schedule_id: schedule.id, from: day(from), to: day(to), mode: Mode::Missing }
}

/// The default options: one fire at a time, oldest first.
fn usual() -> BackfillOptions {
    let reason = "the receiver was down".to_owned();
    BackfillOptions { order: Order::OldestFirst, concurrency: 1, reason, context: None }
}

/// Requests a backfill.
async fn order(world: &World, wanted: RequestedFires, manner: BackfillOptions) -> Uuid {
    let commands = commands(world);
    commands.create_backfill(&operator(), wanted, &manner, &Call::once()).await.unwrap().id
}

async fn backfill(world: &World, id: Uuid) -> backfill::Model {
    let found = backfill::Entity::find_by_id(id).one(world.database.store.read()).await;
    found.unwrap().unwrap()
}

/// The backfill's fires, in the order in which they run.
async fn fires(world: &World, id: Uuid) -> Vec<backfill_fire::Model> {
    backfill_fire::Entity::find()
        .filter(backfill_fire::Column::BackfillId.eq(id))
        .order_by_asc(backfill_fire::Column::Position)
        .all(world.database.store.read())
        .await
        .unwrap()
}

async fn states(world: &World, id: Uuid) -> Vec<backfill_fire::State> {
    fires(world, id).await.into_iter().map(|fire| fire.state).collect()
}

/// Waits until all fires of the backfill have ended; returns it.
async fn ended(world: &World, id: Uuid) -> backfill::Model {
    world
        .until("the backfill has ended", || async {
            Some(backfill(world, id).await).filter(|backfill| backfill.finished_at.is_some())
        })
        .await
}

/// Waits until the backfill's fires are in these states.
async fn fires_are(world: &World, id: Uuid, wanted: &[backfill_fire::State]) {
    world
        .until(&format!("the fires are {wanted:?}"), || async {
            (states(world, id).await == wanted).then_some(())
        })
        .await;
}

/// The idempotency key that the receiver of a fire of 1 March gets.
fn key(schedule: &schedule::Model, time: &str) -> String {
    format!("{}-{}", schedule.id, at(&format!("2026-03-01T{time}Z")).timestamp())
}

/// Asserts that the ledger accounts for each minute from one to another exactly once.
fn assert_each_minute_once(ledger: &[fire::Model], from: &str, to: &str) {
    let minute = |time: &str| at(&format!("2026-03-01T{time}Z")).timestamp() / 60;
    let mut next = minute(from);
    for row in ledger {
        let (first, last) = (row.scheduled_at.0 / 60_000, row.last_scheduled_at.0 / 60_000);
        assert_eq!(first, next, "a gap or an overlap before {row:#?}");
        assert_eq!(row.count, last - first + 1, "{row:#?}");
        next = last + 1;
    }
    assert_eq!(next, minute(to) + 1);
}

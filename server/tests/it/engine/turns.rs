//! The limits of a round of the planner, one for each kind of work: much work of one kind must not
//! delay the others.

use carillon::engine::{Stepwise, StepwiseService};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    fire::{self, Reason, Verdict},
    schedule::{self, Overlap},
};
use sea_orm::{ColumnTrait, EntityTrait, PaginatorTrait, QueryFilter};
use uuid::Uuid;

use super::{
    forge,
    world::{World, at, ms, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    what_falls_due_does_not_wait_until_all_is_released,
    a_pause_ends_and_a_buffer_moves_while_ever_more_is_due,
);

/// A planner on a clock that stands still, with its world.
async fn planner(
    database: TestDatabase,
    batch: u64,
) -> (World, DateTime<Utc>, Stepwise, StepwiseService) {
    let now = at("2026-03-01T12:00:00Z");
    let (mut world, _clock) = World::at(database, now).await;
    world.settings.batch = batch;
    let (node, planner) = world.step("planner").await;
    (world, now, node, planner)
}

async fn pending(world: &World, schedule: Uuid) -> usize {
    let mut ledger = world.ledger(schedule).await;
    ledger.retain(|fire| fire.verdict == Verdict::Pending);
    ledger.len()
}

/// Executes rounds for as long as the planner wants the next one at once; returns their number.
async fn to_the_end(planner: &mut StepwiseService, now: DateTime<Utc>) -> usize {
    for rounds in 0..100 {
        if planner.next_round(now) > now {
            return rounds;
        }
        planner.once(now).await.unwrap();
    }
    panic!("the planner comes to no end");
}

/// Many schedules were paused, and their fires are caught up on.
async fn what_falls_due_does_not_wait_until_all_is_released(database: TestDatabase) {
    let (world, now, node, mut planner) = planner(database, 5).await;
    let resumed = forge::idle(&world, noop(), |row| row.overlap = Overlap::Allow).await;
    for number in 0..23 {
        forge::intent(&world, &resumed, |fire| {
            fire.claimed_by = None;
            let at = (now - TimeDelta::seconds(number)).into();
            (fire.scheduled_at, fire.due_at, fire.last_scheduled_at) = (at, at, at);
        })
        .await;
    }
    planner.once(now).await.unwrap();
    assert_eq!(pending(&world, resumed.id).await, 18);
    assert_eq!(planner.next_round(now), now, "there is more to do");

    let due = world.due_now(noop(), |_| {}).await;
    planner.once(now).await.unwrap();
    let fire = world.ledger(due.id).await.remove(0);
    assert_eq!((fire.verdict, fire.reason), (Verdict::Started, Reason::OnTime));
    assert_eq!(pending(&world, resumed.id).await, 13);
    let rounds = to_the_end(&mut planner, now).await;
    assert_eq!((rounds, pending(&world, resumed.id).await), (4, 0));
    assert_eq!(world.runs(resumed.id).await.len(), 23);
    node.abandon();
}

async fn a_pause_ends_and_a_buffer_moves_while_ever_more_is_due(database: TestDatabase) {
    const DUE: usize = 60;
    let (world, now, node, mut planner) = planner(database, 2).await;
    world
        .schedules_with(DUE, noop(), |_, row| {
            (row.next_scheduled_at, row.next_fire_at) = (Some(now.into()), Some(now.into()));
            row.anchor_at = (now - TimeDelta::days(365)).into();
        })
        .await;
    let paused = world.schedule("0 13 * * *", noop(), |row| {
        row.enabled = false;
        row.paused_at = Some(ms("2026-03-01T11:00:00Z"));
        row.paused_until = Some(ms("2026-03-01T11:59:00Z"));
    });
    let paused = paused.await.id;
    let buffering = forge::idle(&world, noop(), |row| row.overlap = Overlap::BufferAll).await;
    forge::intent(&world, &buffering, |fire| {
        (fire.claimed_by, fire.queue_position) = (None, Some(1));
        fire.reason = Reason::Buffered;
    })
    .await;
    let started = async || {
        let fires = fire::Entity::find().filter(fire::Column::Reason.eq(Reason::OnTime));
        usize::try_from(fires.count(world.database.store.read()).await.unwrap()).unwrap()
    };

    planner.once(now).await.unwrap();
    let first = started().await;
    assert!(first > 10 && first < DUE, "{first} of {DUE}");
    assert_eq!(planner.next_round(now), now, "there is more to do");
    let row = schedule::Entity::find_by_id(paused).one(world.database.store.read()).await;
    assert!(row.unwrap().unwrap().enabled);
    let fire = world.ledger(buffering.id).await.remove(0);
    assert_eq!((fire.verdict, fire.reason), (Verdict::Started, Reason::Buffered));

    to_the_end(&mut planner, now).await;
    assert_eq!(started().await, DUE);
    assert!(planner.next_round(now) > now + TimeDelta::seconds(1));
    node.abandon();
}

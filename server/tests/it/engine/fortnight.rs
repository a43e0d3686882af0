//! Simulated fortnights, one around each clock change of a zone. The engine runs through each of
//! them, and its ledger is compared with the result of an independent [`oracle`].

#[path = "../../common/oracle.rs"]
mod oracle;

use std::time::Duration;

use carillon::{clock::ManualClock, engine::Engine};
use chrono::{DateTime, TimeDelta, Timelike, Utc};
use chrono_tz::Tz;
use entity::{
    Strings,
    fire::{Reason, Verdict},
    run,
    schedule::{self, DstGap, DstOverlap},
};
use sea_orm::{ColumnTrait, EntityTrait, PaginatorTrait, QueryFilter};

use self::oracle::Timing;
use super::world::{World, at, noop};
use crate::support::{TestDatabase, on_both};

on_both!(
    spring_in_berlin,
    autumn_in_berlin,
    spring_in_new_york,
    autumn_in_new_york,
    spring_on_lord_howe,
    autumn_on_lord_howe,
);

async fn spring_in_berlin(database: TestDatabase) {
    fortnight(database, Tz::Europe__Berlin, at("2026-03-29T01:00:00Z")).await;
}

async fn autumn_in_berlin(database: TestDatabase) {
    fortnight(database, Tz::Europe__Berlin, at("2026-10-25T01:00:00Z")).await;
}

async fn spring_in_new_york(database: TestDatabase) {
    fortnight(database, Tz::America__New_York, at("2026-03-08T07:00:00Z")).await;
}

async fn autumn_in_new_york(database: TestDatabase) {
    fortnight(database, Tz::America__New_York, at("2026-11-01T06:00:00Z")).await;
}

/// A clock change of half an hour, and the seasons of the southern hemisphere.
async fn spring_on_lord_howe(database: TestDatabase) {
    fortnight(database, Tz::Australia__Lord_Howe, at("2026-10-03T15:30:00Z")).await;
}

async fn autumn_on_lord_howe(database: TestDatabase) {
    fortnight(database, Tz::Australia__Lord_Howe, at("2026-04-04T15:00:00Z")).await;
}

/// Expressions (several in a line are a union), and the policies for clock changes.
const SCHEDULES: &[(&[&str], DstGap, DstOverlap)] = &[
    (&["30 2 * * *"], DstGap::Shift, DstOverlap::First),
    (&["30 1 * * *"], DstGap::Shift, DstOverlap::First),
    (&["15 2 * * *"], DstGap::Shift, DstOverlap::First),
    (&["45 1 * * *"], DstGap::Shift, DstOverlap::First),
    (&["0,15,30 2 * * *"], DstGap::Shift, DstOverlap::First),
    (&["0,15,30,45 1-3 * * *"], DstGap::Shift, DstOverlap::First),
    (&["0 2,3 * * *"], DstGap::Shift, DstOverlap::First),
    (&["0 0-23 * * *"], DstGap::Shift, DstOverlap::First),
    (&["0 30 2 * * *"], DstGap::Shift, DstOverlap::First),
    (&["15,45 2 * * 0"], DstGap::Shift, DstOverlap::First),
    (&["15 2 * * *"], DstGap::Skip, DstOverlap::First),
    (&["45 1,2 * * *"], DstGap::Shift, DstOverlap::Last),
    (&["45 1,2 * * *"], DstGap::Skip, DstOverlap::Both),
    (&["*/30 1-3 * * *"], DstGap::Shift, DstOverlap::First),
    (&["*/20 2 * * *"], DstGap::Shift, DstOverlap::First),
    (&["0 * * * *"], DstGap::Skip, DstOverlap::Last),
    (&["@daily"], DstGap::Shift, DstOverlap::First),
    (&["@every 7h"], DstGap::Shift, DstOverlap::First),
    (&["@every 1d"], DstGap::Skip, DstOverlap::First),
    (&["0 9 * * 1-5", "0 12 * * 0,6"], DstGap::Shift, DstOverlap::First),
    (&["H 2 * * *"], DstGap::Shift, DstOverlap::First),
];

const WEEK: TimeDelta = TimeDelta::days(7);
const LONG: Duration = Duration::from_secs(30 * 86_400);

async fn fortnight(database: TestDatabase, zone: Tz, change: DateTime<Utc>) {
    let (start, end) = (change - WEEK, change + WEEK);
    assert_ne!(offset(zone, change), offset(zone, change - TimeDelta::seconds(1)));
    let (mut world, clock) = World::at(database, start).await;
    // No service except the planner sleeps for less than the fortnight.
    world.settings.look_ahead = LONG / 2;
    world.settings.poll = LONG;
    world.settings.heartbeat_interval = LONG;
    world.settings.heartbeat_expiry = LONG * 2;
    world.settings.recovery_interval = LONG;
    world.settings.lookout_interval = LONG;
    world.settings.stats_interval = LONG;
    world.settings.quotas_interval = LONG;
    world.settings.history_interval = LONG;
    world.settings.windows_interval = LONG;
    let mut schedules = Vec::new();
    for (expressions, gap, overlap) in SCHEDULES {
        let row = world.schedule(expressions[0], noop(), |row| {
            row.expressions = Strings(expressions.iter().map(|&text| text.to_owned()).collect());
            row.zone = zone.name().to_owned();
            (row.dst_gap, row.dst_overlap) = (*gap, *overlap);
        });
        schedules.push(row.await);
    }
    let engine = world.engine().await;
    live_through(&world, &clock, &engine, end).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();

    for (row, (expressions, ..)) in schedules.iter().zip(SCHEDULES) {
        compare(&world, row, expressions, zone, start, end).await;
    }
}

fn offset(zone: Tz, at: DateTime<Utc>) -> TimeDelta {
    at.with_timezone(&zone).naive_local() - at.naive_utc()
}

/// Moves the clock from one instant that the planner waits for to the next, and lets everything end
/// that the planner has started.
async fn live_through(world: &World, clock: &ManualClock, engine: &Engine, end: DateTime<Utc>) {
    let mut rounds = engine.planner_reports();
    rounds.wait_for(|(count, _)| *count > 0).await.unwrap();
    loop {
        let next = planned(clock).await;
        if next > end {
            return;
        }
        rounds.mark_unchanged();
        clock.set(next);
        let round = tokio::time::timeout(Duration::from_secs(60), rounds.changed());
        round.await.expect("the planner wakes").unwrap();
        world
            .until("nothing is alive", async || {
                let live = run::Entity::find().filter(run::Column::State.is_in([
                    run::State::Queued,
                    run::State::Running,
                    run::State::Retrying,
                ]));
                let count = live.count(world.database.store.read()).await.unwrap();
                (count == 0).then_some(())
            })
            .await;
    }
}

/// The instant that the planner waits for, once it has gone to sleep.
async fn planned(clock: &ManualClock) -> DateTime<Utc> {
    let soon = clock.now() + TimeDelta::from_std(LONG / 2).unwrap();
    loop {
        match clock.next_wake() {
            Some(at) if at <= soon => return at,
            _ => tokio::task::yield_now().await,
        }
    }
}

async fn compare(
    world: &World,
    row: &schedule::Model,
    expressions: &[&str],
    zone: Tz,
    start: DateTime<Utc>,
    end: DateTime<Utc>,
) {
    let ledger = world.ledger(row.id).await;
    // The oracle does not know which minute the calculator chooses for `H`, only that it stays the
    // same.
    let minute = ledger[0].scheduled_at.utc().with_timezone(&zone).minute();
    let expressions: Vec<String> =
        expressions.iter().map(|text| text.replace('H', &minute.to_string())).collect();
    let timing = Timing {
        expressions: expressions.iter().map(String::as_str).collect(),
        zone,
        gap: row.dst_gap,
        overlap: row.dst_overlap,
        anchor: row.anchor_at.utc(),
        bounds: (None, None),
    };
    let expected: Vec<_> = oracle::fires(&timing, start, end).into_iter().collect();
    let found: Vec<_> = ledger.iter().map(|fire| (fire.scheduled_at.utc(), fire.kind)).collect();
    assert_eq!(found, expected, "{expressions:?} in {zone}");

    let runs = world.runs(row.id).await;
    assert_eq!(runs.len(), ledger.len());
    for (fire, run) in ledger.iter().zip(runs) {
        assert_eq!((fire.verdict, fire.reason), (Verdict::Started, Reason::OnTime), "{fire:?}");
        assert_eq!((fire.count, fire.claimed_at), (1, fire.scheduled_at));
        assert_eq!((run.id, run.state), (fire.id, run::State::Succeeded));
        assert_eq!((run.attempt, run.is_recovery), (1, false));
    }
}

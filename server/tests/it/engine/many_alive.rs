//! More live runs of a schedule than one transaction may stop.

use entity::{
    Timestamp,
    fire::{Reason, Verdict},
    run,
    schedule::Overlap,
};
use sea_orm::{EntityTrait, IntoActiveModel};
use uuid::Uuid;

use super::{
    forge,
    world::{World, at, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    with_terminate_other_a_fire_waits_until_so_many_have_been_ended,
    with_cancel_other_so_many_are_cancelled_step_by_step,
);

/// The number of runs that wait for a node.
const ALIVE: u128 = 1_200;
/// The number of runs that one transaction stops.
const STEP: usize = 500;

async fn with_terminate_other_a_fire_waits_until_so_many_have_been_ended(database: TestDatabase) {
    gives_way_step_by_step(database, Overlap::TerminateOther).await;
}

async fn with_cancel_other_so_many_are_cancelled_step_by_step(database: TestDatabase) {
    gives_way_step_by_step(database, Overlap::CancelOther).await;
}

async fn gives_way_step_by_step(database: TestDatabase, overlap: Overlap) {
    let (world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let schedule = world.schedule("* * * * *", noop(), |row| row.overlap = overlap).await;
    let one = forge::orphan(&world, &schedule, |_| {}).await;
    let waiting = |number| run::Model {
        id: Uuid::from_u128(one.id.as_u128() + number),
        fire_id: None,
        trigger: run::Trigger::Manual,
        state: run::State::Queued,
        available_at: Timestamp::from(at("2027-01-01T00:00:00Z")),
        node_id: None,
        idempotency_key: format!("waiting-{number}"),
        ..one.clone()
    };
    let tx = world.database.store.begin().await.unwrap();
    for hundred in 0..ALIVE / 100 {
        let rows = (1..=100).map(|number| waiting(hundred * 100 + number).into_active_model());
        run::Entity::insert_many(rows).exec_without_returning(&tx).await.unwrap();
    }
    world.database.store.commit(tx).await.unwrap();
    // The run that was in progress has settled.
    let sql = "UPDATE run SET state = 'succeeded', finished_at = 1, node_id = NULL WHERE id = $1";
    world.write(sql, [one.id.into()]).await;

    let (_node, mut services) = world.by_hand().await;
    let mut planner = services.remove("planner").unwrap();
    clock.set(at("2026-03-01T12:00:00Z"));
    let mut steps = Vec::new();
    let fire = loop {
        planner.once(clock.now()).await.unwrap();
        let runs = world.runs(schedule.id).await;
        let of = |state| runs.iter().filter(|run| run.state == state).count();
        let (left, ended) = (of(run::State::Queued), of(run::State::Cancelled));
        let before = steps.iter().sum::<usize>();
        assert!(ended - before <= STEP, "{before} and then {ended} runs were stopped");
        if ended > before {
            steps.push(ended - before);
        }
        let ledger = world.ledger(schedule.id).await;
        let fire = ledger.into_iter().find(|fire| fire.id != one.id).unwrap();
        if fire.verdict != Verdict::Pending {
            assert_eq!(left, 0, "it began beside {left} others");
            break fire;
        }
        assert!(left == 0 || fire.reason == Reason::Buffered, "{fire:?}");
    };
    assert_eq!(steps, [STEP, STEP, 200]);
    assert_eq!(fire.verdict, Verdict::Started);
    let runs = world.runs(schedule.id).await;
    let told = |run: &run::Model| {
        run.cancel_reason.as_ref().is_some_and(|reason| reason.contains(&fire.id.to_string()))
    };
    assert!(runs.iter().filter(|run| run.state == run::State::Cancelled).all(told));
}

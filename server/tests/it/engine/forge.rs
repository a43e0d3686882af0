//! Rows as a crash would have left them.

use std::time::Duration;

use carillon::{
    clock::ManualClock,
    engine::StepwiseService,
    store::nodes::{Beat, BeatOutcome, JoiningNode},
};
use chrono::TimeDelta;
use entity::{
    fire::{self, Reason, Verdict},
    run, schedule, task_run,
};
use sea_orm::{ActiveModelTrait, IntoActiveModel};
use uuid::Uuid;

use super::world::World;
use crate::support::{fire_row, run_row};

/// An intent that a node claimed a moment ago, before it died; `change` adapts it.
pub(crate) async fn intent(
    world: &World,
    schedule: &schedule::Model,
    change: impl FnOnce(&mut fire::Model),
) -> fire::Model {
    let now = world.clock.now();
    let at = now - TimeDelta::seconds(1);
    let mut row = fire::Model {
        claimed_by: Some(Uuid::from_u128(0xdead)),
        ..fire_row(schedule.namespace_id, schedule.id, at.into())
    };
    change(&mut row);
    let tx = world.database.store.begin().await.unwrap();
    let row = row.into_active_model().insert(&tx).await.unwrap();
    world.database.store.commit(tx).await.unwrap();
    row
}

/// A run, and its started fire, whose first attempt was running on a node that died; `change`
/// adapts it.
pub(crate) async fn orphan(
    world: &World,
    schedule: &schedule::Model,
    change: impl FnOnce(&mut run::Model),
) -> run::Model {
    let fire = intent(world, schedule, |fire| {
        fire.verdict = Verdict::Started;
        fire.reason = Reason::OnTime;
        fire.decided_at = Some(fire.claimed_at);
        fire.run_id = Some(fire.id);
    })
    .await;
    let mut row = run::Model {
        id: fire.id,
        fire_id: Some(fire.id),
        state: run::State::Running,
        due_at: fire.due_at,
        created_at: fire.claimed_at,
        available_at: fire.claimed_at,
        started_at: Some(fire.claimed_at),
        finished_at: None,
        node_id: fire.claimed_by,
        ..run_row(fire.namespace_id, schedule.id, schedule.workflow_id, fire.scheduled_at)
    };
    change(&mut row);
    let attempt = task_run::Model {
        run_id: row.id,
        task: "main".to_owned(),
        attempt: row.attempt,
        state: task_run::State::Running,
        node_id: row.node_id.unwrap(),
        started_at: fire.claimed_at,
        finished_at: None,
        error: None,
        output: None,
    };
    let tx = world.database.store.begin().await.unwrap();
    let row = row.into_active_model().insert(&tx).await.unwrap();
    attempt.into_active_model().insert(&tx).await.unwrap();
    world.database.store.commit(tx).await.unwrap();
    row
}

/// A schedule without a cursor: only the test acts on it.
pub(crate) async fn idle(
    world: &World,
    work: impl Into<carillon::model::Definition>,
    change: impl FnOnce(&mut schedule::Model),
) -> schedule::Model {
    let row = world.due_now(work, change).await;
    let sql = "UPDATE schedule SET next_scheduled_at = NULL, next_fire_at = NULL WHERE id = $1";
    world.write(sql, [row.id.into()]).await;
    row
}

/// A live node that does nothing.
pub(crate) async fn node(world: &World) -> Uuid {
    let id = Uuid::now_v7();
    let joining = JoiningNode {
        id,
        name: "other".to_owned(),
        version: "1".to_owned(),
        zone_data: "1".to_owned(),
        capacity: 1,
        ..JoiningNode::default()
    };
    world.database.store.join(&joining).await.unwrap();
    id
}

/// Lets time pass while the node sends heartbeats and recovery finds nothing.
pub(crate) async fn while_it_lives(
    world: &World,
    clock: &ManualClock,
    node: Uuid,
    span: Duration,
    recovery: &mut StepwiseService,
) {
    let mut left = span;
    while !left.is_zero() {
        let piece = left.min(world.settings.heartbeat_interval);
        left -= piece;
        clock.pass(piece);
        let beat = world.database.store.beat_if_alive(node, Beat::default()).await.unwrap();
        assert!(matches!(beat, BeatOutcome::Alive(_)));
        assert_eq!(recovery.once(clock.now()).await.unwrap(), None);
    }
}

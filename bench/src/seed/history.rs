//! The history of a server that has run for weeks.

use anyhow::Result;
use carillon::store::Store;
use chrono::{DateTime, Utc};
use entity::{Timestamp, fire, run};
use sea_orm::{EntityTrait, IntoActiveModel};
use uuid::Uuid;

use super::{
    Seeded,
    copies::{self, Numbers},
};

const DAY_MS: u64 = 86_400_000;

/// Writes `count` fires with their runs, spread evenly over `days` days up to `now` and over the
/// schedules. One run in a hundred has failed.
pub(crate) async fn runs(
    store: &Store,
    seeded: &Seeded,
    count: u64,
    days: u32,
    now: DateTime<Utc>,
) -> Result<()> {
    let first = now.timestamp_millis() - i64::from(days) * i64::try_from(DAY_MS)?;
    let step = u64::from(days) * DAY_MS / count.max(1);
    let (fire, run) = models(seeded, Timestamp(first));
    let id = fire.id;
    let tx = store.begin().await?;
    fire::Entity::insert(fire.into_active_model()).exec_without_returning(&tx).await?;
    run::Entity::insert(run.into_active_model()).exec_without_returning(&tx).await?;
    store.commit(tx).await?;

    let at = format!("({first} + n * {step})");
    let key = copies::key(store, &at, "n");
    let schedule = seeded.key(store, &format!("(n * 7919 % {})", seeded.count));
    let numbers = Numbers { from: 1, to: count };
    let same = |names: &[&'static str]| {
        names.iter().map(|name| (*name, at.clone())).collect::<Vec<(&str, String)>>()
    };
    let mut changes =
        same(&["scheduled_at", "due_at", "last_scheduled_at", "claimed_at", "decided_at"]);
    changes.extend([
        ("id", key.clone()),
        ("run_id", key.clone()),
        ("schedule_id", schedule.clone()),
    ]);
    copies::write::<fire::Entity>(store, id, numbers, &changes).await?;
    let mut changes = same(&["scheduled_at", "due_at", "created_at", "available_at", "started_at"]);
    changes.extend([
        ("id", key.clone()),
        ("fire_id", key),
        ("schedule_id", schedule),
        ("finished_at", format!("{at} + 40")),
        ("state", "CASE WHEN n % 100 = 0 THEN 'failed' ELSE 'succeeded' END".to_owned()),
    ]);
    copies::write::<run::Entity>(store, id, numbers, &changes).await
}

/// The rows of the first fire and its run.
fn models(seeded: &Seeded, at: Timestamp) -> (fire::Model, run::Model) {
    let id = Uuid::now_v7();
    let fire = fire::Model {
        id,
        namespace_id: seeded.namespace_id,
        schedule_id: seeded.template,
        schedule_version: 1,
        scheduled_at: at,
        due_at: at,
        last_scheduled_at: at,
        count: 1,
        kind: fire::Kind::Normal,
        verdict: fire::Verdict::Started,
        reason: fire::Reason::OnTime,
        detail: None,
        claimed_by: Some(Uuid::nil()),
        claimed_at: at,
        decided_at: Some(at),
        run_id: Some(id),
        queue_position: None,
        recovery_attempts: 0,
        recovery_at: None,
        made_up_for: None,
        changed: None,
    };
    let run = run::Model {
        id,
        namespace_id: seeded.namespace_id,
        schedule_id: Some(seeded.template),
        fire_id: Some(id),
        workflow_id: seeded.workflow_id,
        workflow_version: 1,
        trigger: run::Trigger::Schedule,
        state: run::State::Succeeded,
        scheduled_at: at,
        due_at: at,
        created_at: at,
        available_at: at,
        started_at: Some(at),
        finished_at: Some(Timestamp(at.0 + 40)),
        attempt: 1,
        max_attempts: 1,
        recovery_attempts: 0,
        node_id: Some(Uuid::nil()),
        epoch: 1,
        hard_deadline_at: None,
        error: None,
        cancel_requested_at: None,
        cancel_by: None,
        cancel_reason: None,
        context: serde_json::json!({}),
        is_recovery: false,
        idempotency_key: "bench".to_owned(),
        retry_of: None,
        group_id: None,
        priority: 0,
        runs_on: None,
        origin: None,
        backfill_id: None,
        changed: 0,
    };
    (fire, run)
}

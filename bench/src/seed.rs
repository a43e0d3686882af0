//! Schedules, written straight into the tables.

use anyhow::Result;
use carillon::{
    engine::{Definition, Task},
    store::Store,
    target::{Noop, Target},
};
use chrono::{DateTime, Utc};
use entity::{Strings, Timestamp, namespace, schedule, workflow, workflow_version};
use sea_orm::{ConnectionTrait, EntityTrait, IntoActiveModel};
use uuid::Uuid;

/// So many rows go into one statement.
const BATCH: usize = 400;

/// When they fire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing<'a> {
    /// In UTC.
    pub(crate) expression: &'a str,
    /// The first fire.
    pub(crate) due: DateTime<Utc>,
}

/// Writes `count` schedules of one timing.
pub(crate) async fn schedules(
    store: &Store,
    count: usize,
    timing: Timing<'_>,
    now: DateTime<Utc>,
) -> Result<()> {
    let (namespace_id, workflow_id) = (Uuid::now_v7(), Uuid::now_v7());
    let tx = store.begin().await?;
    let row = namespace::Model {
        id: namespace_id,
        name: "bench".to_owned(),
        retention_days: None,
        created_at: now.into(),
    };
    namespace::Entity::insert(row.into_active_model()).exec(&tx).await?;
    let row = workflow(workflow_id, namespace_id, now.into());
    workflow::Entity::insert(row.into_active_model()).exec(&tx).await?;
    let row = workflow_version::Model {
        workflow_id,
        version: 1,
        definition: serde_json::to_value(definition())?,
        created_by: "bench".to_owned(),
        created_at: now.into(),
    };
    workflow_version::Entity::insert(row.into_active_model()).exec(&tx).await?;
    let numbers: Vec<usize> = (0..count).collect();
    for numbers in numbers.chunks(BATCH) {
        let rows = numbers.iter().map(|number| {
            let name = format!("bench-{number}");
            schedule(name, namespace_id, workflow_id, timing, now.into()).into_active_model()
        });
        schedule::Entity::insert_many(rows).exec(&tx).await?;
    }
    store.commit(tx).await?;
    if store.dialect().is_postgres() {
        // What autovacuum does within its first minute: without it the planner of PostgreSQL
        // guesses at a table that it has never looked at.
        store.read().execute_unprepared("ANALYZE schedule").await?;
    }
    Ok(())
}

/// One task that does nothing.
fn definition() -> Definition {
    let task = Task::new("noop", Target::Noop(Noop::default()));
    Definition::single(Task { timeout_ms: 60_000, kill_grace_ms: 1_000, ..task })
}

fn workflow(id: Uuid, namespace_id: Uuid, now: Timestamp) -> workflow::Model {
    workflow::Model {
        id,
        namespace_id,
        name: "noop".to_owned(),
        version: 1,
        module: None,
        created_at: now,
        updated_at: now,
        deleted_at: None,
    }
}

fn schedule(
    name: String,
    namespace_id: Uuid,
    workflow_id: Uuid,
    Timing { expression, due }: Timing<'_>,
    now: Timestamp,
) -> schedule::Model {
    schedule::Model {
        id: Uuid::now_v7(),
        namespace_id,
        name,
        note: String::new(),
        tags: Strings::default(),
        workflow_id,
        version: 1,
        expressions: Strings(vec![expression.to_owned()]),
        zone: "UTC".to_owned(),
        dst_gap: schedule::DstGap::Shift,
        dst_overlap: schedule::DstOverlap::First,
        anchor_at: now,
        start_at: None,
        end_at: None,
        jitter_ms: 0,
        calendars: None,
        max_fires: None,
        fire_count: 0,
        catch_up: schedule::CatchUp::Latest,
        grace_ms: 300_000,
        catch_up_max: 100,
        catch_up_spacing_ms: 0,
        catch_up_window_ms: 86_400_000,
        overlap: schedule::Overlap::Skip,
        buffer_limit: None,
        group_id: None,
        priority: 0,
        start_deadline_ms: None,
        context: serde_json::json!({}),
        retention_days: None,
        shard: 0,
        enabled: true,
        paused_reason: None,
        paused_by: None,
        paused_at: None,
        paused_until: None,
        next_scheduled_at: Some(due.into()),
        next_fire_at: Some(due.into()),
        last_fire_at: None,
        module: None,
        created_at: now,
        updated_at: now,
        deleted_at: None,
        changed: 0,
    }
}

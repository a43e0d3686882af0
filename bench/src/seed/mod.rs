//! Schedules and their history, written directly into the tables.
//!
//! - `copies`: many rows from one, generated inside the database
//! - `history`: fires and runs of the past

mod copies;
mod history;

use anyhow::{Context, Result};
use carillon::{
    model::{Definition, Task},
    store::Store,
    target::{Noop, Target},
};
use chrono::{DateTime, Utc};
use entity::{Strings, Timestamp, namespace, schedule, workflow, workflow_version};
use sea_orm::{ConnectionTrait, EntityTrait, IntoActiveModel};
use uuid::Uuid;

use self::copies::Numbers;
pub(crate) use self::history::runs;

/// The timing of the schedules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing<'a> {
    /// The cron expression; its zone is UTC.
    pub(crate) expression: &'a str,
    /// The first fire.
    pub(crate) due: DateTime<Utc>,
}

/// Schedules that have been written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeded {
    pub(crate) namespace_id: Uuid,
    pub(crate) workflow_id: Uuid,
    /// The first schedule. The others are copies of it, with their number in their names.
    pub(crate) template: Uuid,
    pub(crate) count: u64,
    made_ms: i64,
}

impl Seeded {
    /// A copy with the same template, whose further schedules run another workflow.
    pub(crate) fn running(&self, workflow_id: Uuid) -> Self {
        Self { workflow_id, ..*self }
    }

    /// The expression for the key of the copy with the number `n`. The placeholder for the first
    /// copy has no row, and no foreign key refers to it.
    fn key(&self, store: &Store, n: &str) -> String {
        copies::key(store, &self.made_ms.to_string(), n)
    }
}

/// Writes `count` schedules with one timing, named from `bench-0` on, into the first namespace.
pub(crate) async fn schedules(
    store: &Store,
    count: usize,
    timing: Timing<'_>,
    now: DateTime<Utc>,
) -> Result<Seeded> {
    schedules_of(store, &noop(), count, timing, now).await
}

/// Writes schedules like `schedules`, with a target.
pub(crate) async fn schedules_of(
    store: &Store,
    target: &Target,
    count: usize,
    timing: Timing<'_>,
    now: DateTime<Utc>,
) -> Result<Seeded> {
    let none = begin_with(store, "work", target, now).await?;
    let seeded = more(store, &none, "bench", count, timing, now).await?;
    analyze(store).await?;
    Ok(seeded)
}

/// Updates the statistics of the tables, as autovacuum would within its first minute: without them,
/// PostgreSQL's planner knows nothing about a table.
pub(crate) async fn analyze(store: &Store) -> Result<()> {
    if store.dialect().is_postgres() {
        store.read().execute_unprepared("ANALYZE schedule").await?;
    }
    Ok(())
}

/// Runs the maintenance that the database would otherwise start minutes after a large insert.
pub(crate) async fn settle(store: &Store) -> Result<()> {
    let statements: &[&str] = if store.dialect().is_postgres() {
        &["VACUUM ANALYZE", "CHECKPOINT"]
    } else {
        &["PRAGMA wal_checkpoint(TRUNCATE)"]
    };
    for statement in statements {
        store.read().execute_unprepared(statement).await?;
    }
    Ok(())
}

/// Creates the workflow that does nothing, in the first namespace.
pub(crate) async fn begin(store: &Store, now: DateTime<Utc>) -> Result<Seeded> {
    begin_with(store, "noop", &noop(), now).await
}

/// Creates a workflow of one task, in the first namespace.
pub(crate) async fn begin_with(
    store: &Store,
    name: &str,
    target: &Target,
    now: DateTime<Utc>,
) -> Result<Seeded> {
    let tx = store.begin().await?;
    let namespace = namespace::Entity::find().one(&tx).await?;
    let namespace_id = namespace.context("a fresh database has a namespace")?.id;
    let workflow_id = Uuid::now_v7();
    let row = workflow(workflow_id, name, namespace_id, now.into());
    workflow::Entity::insert(row.into_active_model()).exec_without_returning(&tx).await?;
    let row = workflow_version::Model {
        workflow_id,
        version: 1,
        definition: serde_json::to_value(definition(target.clone()))?,
        created_by: "bench".to_owned(),
        created_at: now.into(),
    };
    workflow_version::Entity::insert(row.into_active_model()).exec_without_returning(&tx).await?;
    store.commit(tx).await?;
    let made_ms = now.timestamp_millis();
    Ok(Seeded { namespace_id, workflow_id, template: Uuid::nil(), count: 0, made_ms })
}

/// Writes this many more schedules, with their own names and timing.
pub(crate) async fn more(
    store: &Store,
    seeded: &Seeded,
    name: &str,
    count: usize,
    timing: Timing<'_>,
    now: DateTime<Utc>,
) -> Result<Seeded> {
    let (from, count) = (seeded.count, u64::try_from(count)?);
    if count == 0 {
        return Ok(*seeded);
    }
    let first = schedule(
        format!("{name}-{from}"),
        seeded.namespace_id,
        seeded.workflow_id,
        timing,
        now.into(),
    );
    let template = first.id;
    let tx = store.begin().await?;
    schedule::Entity::insert(first.into_active_model()).exec_without_returning(&tx).await?;
    store.commit(tx).await?;
    let changes = [
        ("id", seeded.key(store, "n")),
        ("name", format!("'{name}-' || n")),
        ("shard", "n % 256".to_owned()),
    ];
    let numbers = Numbers { from: from + 1, to: from + count };
    copies::write::<schedule::Entity>(store, template, numbers, &changes).await?;
    Ok(Seeded { template, count: from + count, ..*seeded })
}

fn noop() -> Target {
    Target::Noop(Noop::default())
}

/// A definition of one task.
fn definition(target: Target) -> Definition {
    let task = Task::new("work", target);
    Definition::single(Task { timeout_ms: 60_000, kill_grace_ms: 1_000, ..task })
}

fn workflow(id: Uuid, name: &str, namespace_id: Uuid, now: Timestamp) -> workflow::Model {
    workflow::Model {
        id,
        namespace_id,
        name: name.to_owned(),
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
    let id = Uuid::now_v7();
    schedule::Model {
        id,
        namespace_id,
        name,
        note: String::new(),
        tags: Strings::default(),
        workflow_id,
        version: 1,
        fires_version: 1,
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
        fires_an_hour: 0,
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
        ping: None,
        shard: i16::from(id.as_bytes()[15]),
        enabled: true,
        paused_reason: None,
        paused_by: None,
        paused_at: None,
        paused_until: None,
        paused_missed: None,
        paused_window_id: None,
        pause_from: None,
        pause_window_id: None,
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

//! A database with a namespace, a way to put schedules into it, and an engine on a clock.

use std::{sync::Arc, time::Duration};

use carillon::{
    clock::{Clock, ManualClock},
    engine::{Definition, Engine, Settings, Signals, Task},
    target::{Executor, Noop, Policy, Target},
    telemetry::Metrics,
};
use chrono::{DateTime, Utc};
use entity::{Strings, Timestamp, fire, namespace, run, schedule, task_run, workflow};
use sea_orm::{
    ActiveModelTrait, ActiveValue::Set, ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter,
    QueryOrder,
};
use timetable::retry;
use uuid::Uuid;

use crate::support::TestDatabase;

/// The test's world.
pub(crate) struct World {
    pub(crate) database: TestDatabase,
    pub(crate) clock: Clock,
    pub(crate) signals: Signals,
    pub(crate) settings: Settings,
    namespace: Uuid,
}

/// An instant, from RFC 3339.
pub(crate) fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// A task that acts by `target`.
pub(crate) fn task(target: Target) -> Task {
    Task {
        name: "main".to_owned(),
        target,
        timeout_ms: 60_000,
        kill_grace_ms: 1_000,
        retry: retry::Policy::default(),
    }
}

/// A task that does nothing.
pub(crate) fn noop() -> Task {
    task(Target::Noop(Noop::default()))
}

impl World {
    /// On the machine's clock.
    pub(crate) async fn new(database: TestDatabase) -> Self {
        Self::on_clock(database, Clock::system()).await
    }

    /// On a clock that the test moves; leases and heartbeats follow it too.
    pub(crate) async fn at(database: TestDatabase, now: DateTime<Utc>) -> (Self, ManualClock) {
        let manual = ManualClock::new(now);
        let mut world = Self::on_clock(database, manual.clock()).await;
        world.database.store = world.database.store.clone().with_lease_clock(manual.clock());
        (world, manual)
    }

    async fn on_clock(database: TestDatabase, clock: Clock) -> Self {
        let namespace = Uuid::now_v7();
        let row = namespace::Model {
            id: namespace,
            name: "test".to_owned(),
            created_at: clock.now().into(),
        };
        let tx = database.store.begin().await.unwrap();
        row.into_active_model().insert(&tx).await.unwrap();
        database.store.commit(tx).await.unwrap();
        let settings = Settings {
            node_name: "test".to_owned(),
            recovery_interval: Duration::from_millis(50),
            ..Settings::default()
        };
        Self { database, clock, signals: Signals::default(), settings, namespace }
    }

    /// An engine on this world.
    pub(crate) async fn engine(&self) -> Engine {
        let policy = Policy { commands: true, private_addresses: true, ..Policy::default() };
        let executor = Executor::new(policy, self.clock.clone()).unwrap();
        Engine::start(
            self.settings.clone(),
            self.database.store.clone(),
            self.clock.clone(),
            Arc::new(executor),
            Arc::new(timetable::Cache::new(1_000)),
            self.signals.clone(),
            Metrics::unread(self.clock.clone()),
        )
        .await
        .unwrap()
    }

    /// Adds a schedule; `change` makes it other than the default, which is: UTC, enabled, due from
    /// the clock's now on.
    pub(crate) async fn schedule(
        &self,
        expression: &str,
        task: Task,
        change: impl FnOnce(&mut schedule::Model),
    ) -> schedule::Model {
        let workflow_id = self.workflow(task).await;
        let now = self.clock.now();
        let id = Uuid::now_v7();
        let mut row = schedule::Model {
            id,
            namespace_id: self.namespace,
            name: format!("schedule-{id}"),
            note: String::new(),
            tags: Strings::default(),
            workflow_id,
            version: 1,
            expressions: Strings(vec![expression.to_owned()]),
            zone: "UTC".to_owned(),
            dst_gap: schedule::DstGap::Shift,
            dst_overlap: schedule::DstOverlap::First,
            anchor_at: now.into(),
            start_at: None,
            end_at: None,
            jitter_ms: 0,
            catch_up: schedule::CatchUp::Latest,
            grace_ms: 300_000,
            catch_up_max: 100,
            catch_up_spacing_ms: 0,
            catch_up_window_ms: 86_400_000,
            overlap: schedule::Overlap::Skip,
            start_deadline_ms: None,
            context: serde_json::json!({}),
            shard: 0,
            enabled: true,
            paused_reason: None,
            paused_by: None,
            paused_at: None,
            paused_until: None,
            next_scheduled_at: None,
            next_fire_at: None,
            last_fire_at: None,
            module: None,
            created_at: now.into(),
            updated_at: now.into(),
            deleted_at: None,
            changed: 0,
        };
        change(&mut row);
        if row.next_scheduled_at.is_none() {
            let next = calculator(&row).next(now).unwrap();
            row.next_scheduled_at = Some(next.at.into());
        }
        row.next_fire_at = row.next_scheduled_at;
        let tx = self.database.store.begin().await.unwrap();
        let row = row.into_active_model().insert(&tx).await.unwrap();
        self.database.store.commit(tx).await.unwrap();
        self.signals.wake_planner();
        row
    }

    async fn workflow(&self, task: Task) -> Uuid {
        let id = Uuid::now_v7();
        let now = self.clock.now().into();
        let definition = serde_json::to_value(Definition::single(task)).unwrap();
        let tx = self.database.store.begin().await.unwrap();
        workflow::Model {
            id,
            namespace_id: self.namespace,
            name: format!("workflow-{id}"),
            version: 1,
            module: None,
            created_at: now,
            updated_at: now,
            deleted_at: None,
        }
        .into_active_model()
        .insert(&tx)
        .await
        .unwrap();
        entity::workflow_version::ActiveModel {
            workflow_id: Set(id),
            version: Set(1),
            definition: Set(definition),
            created_by: Set("test".to_owned()),
            created_at: Set(now),
        }
        .insert(&tx)
        .await
        .unwrap();
        self.database.store.commit(tx).await.unwrap();
        id
    }

    /// The schedule's ledger, oldest first.
    pub(crate) async fn ledger(&self, schedule: Uuid) -> Vec<fire::Model> {
        fire::Entity::find()
            .filter(fire::COLUMN.schedule_id.eq(schedule))
            .order_by_asc(fire::Column::ScheduledAt)
            .all(self.database.store.read())
            .await
            .unwrap()
    }

    /// The schedule's runs, oldest first.
    pub(crate) async fn runs(&self, schedule: Uuid) -> Vec<run::Model> {
        run::Entity::find()
            .filter(run::Column::ScheduleId.eq(schedule))
            .order_by_asc(run::Column::ScheduledAt)
            .all(self.database.store.read())
            .await
            .unwrap()
    }

    /// The attempts of a run, in order.
    pub(crate) async fn attempts(&self, run: Uuid) -> Vec<task_run::Model> {
        task_run::Entity::find()
            .filter(task_run::COLUMN.run_id.eq(run))
            .order_by_asc(task_run::Column::Attempt)
            .all(self.database.store.read())
            .await
            .unwrap()
    }

    /// Waits until `look` finds what it looks for in the tables. It looks again whenever something
    /// was written.
    pub(crate) async fn until<T, F>(&self, what: &str, mut look: impl FnMut() -> F) -> T
    where
        F: Future<Output = Option<T>>,
    {
        let mut changes = self.database.store.changes().follow();
        let search = async {
            loop {
                if let Some(found) = look().await {
                    return found;
                }
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(20), search)
            .await
            .unwrap_or_else(|_| panic!("waited in vain until {what}"))
    }

    /// Waits until the schedule has `count` runs that have settled; gives them.
    pub(crate) async fn settled(&self, schedule: Uuid, count: usize) -> Vec<run::Model> {
        self.until(&format!("{count} runs have settled"), || async {
            let mut runs = self.runs(schedule).await;
            runs.retain(|run| !run.state.is_live());
            (runs.len() >= count).then_some(runs)
        })
        .await
    }
}

/// The row's timing, on defaults where the tests use them.
pub(crate) fn calculator(row: &schedule::Model) -> timetable::Timetable {
    timetable::Timetable::new(&timetable::Definition {
        expressions: row.expressions.0.clone(),
        zone: row.zone.clone(),
        dst: timetable::DstPolicy::default(),
        anchor: row.anchor_at.utc(),
        start: None,
        end: None,
        jitter: Duration::ZERO,
        seed: row.id.into_bytes(),
    })
    .unwrap()
}

/// Milliseconds of an instant, as the tables have it.
pub(crate) fn ms(text: &str) -> Timestamp {
    at(text).into()
}

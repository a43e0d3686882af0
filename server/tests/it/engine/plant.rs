//! Adding schedules and calendars to a world.

use std::time::Duration;

use carillon::model::{Definition, Task};
use chrono::TimeDelta;
use entity::{Strings, calendar, schedule, workflow};
use sea_orm::{ActiveModelTrait, ActiveValue::Set, EntityTrait, IntoActiveModel};
use uuid::Uuid;

use super::world::World;

impl World {
    /// Adds a schedule. `change` adapts the default: UTC, enabled, and due from now on, by the
    /// world's clock.
    pub(crate) async fn schedule(
        &self,
        expression: &str,
        work: impl Into<Definition>,
        change: impl FnOnce(&mut schedule::Model),
    ) -> schedule::Model {
        let workflow_id = self.workflow(work.into()).await;
        let mut row = self.row(expression, workflow_id);
        change(&mut row);
        if row.next_scheduled_at.is_none() {
            let next = calculator(&row).next(self.clock.now()).unwrap();
            row.next_scheduled_at = Some(next.at.into());
        }
        row.next_fire_at = row.next_scheduled_at;
        let tx = self.database.store.begin().await.unwrap();
        let row = row.into_active_model().insert(&tx).await.unwrap();
        self.database.store.commit(tx).await.unwrap();
        self.signals.wake_planner();
        row
    }

    /// Adds `count` schedules of one workflow that are not due.
    pub(crate) async fn schedules(&self, count: usize, expression: &str, task: Task) -> Vec<Uuid> {
        self.schedules_with(count, task, |_, row| row.expressions.0 = vec![expression.to_owned()])
            .await
    }

    /// Adds `count` schedules of one workflow; `change` adapts each one.
    pub(crate) async fn schedules_with(
        &self,
        count: usize,
        task: Task,
        change: impl Fn(usize, &mut schedule::Model),
    ) -> Vec<Uuid> {
        let workflow_id = self.workflow(task.into()).await;
        let rows: Vec<_> = (0..count)
            .map(|number| {
                let mut row = self.row("@every 365d", workflow_id);
                change(number, &mut row);
                row
            })
            .collect();
        let ids = rows.iter().map(|row| row.id).collect();
        let tx = self.database.store.begin().await.unwrap();
        let rows = rows.into_iter().map(IntoActiveModel::into_active_model);
        for some in rows.collect::<Vec<_>>().chunks(100) {
            schedule::Entity::insert_many(some.to_vec()).exec(&tx).await.unwrap();
        }
        self.database.store.commit(tx).await.unwrap();
        ids
    }

    fn row(&self, expression: &str, workflow_id: Uuid) -> schedule::Model {
        let now = self.clock.now();
        let id = Uuid::now_v7();
        schedule::Model {
            id,
            namespace_id: self.namespace,
            name: format!("schedule-{id}"),
            note: String::new(),
            tags: Strings::default(),
            workflow_id,
            version: 1,
            fires_version: 1,
            expressions: Strings(vec![expression.to_owned()]),
            zone: "UTC".to_owned(),
            dst_gap: schedule::DstGap::Shift,
            dst_overlap: schedule::DstOverlap::First,
            anchor_at: now.into(),
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
            next_scheduled_at: None,
            next_fire_at: None,
            last_fire_at: None,
            module: None,
            created_at: now.into(),
            updated_at: now.into(),
            deleted_at: None,
            changed: 0,
        }
    }

    /// Adds a schedule that fires once: now.
    pub(crate) async fn due_now(
        &self,
        work: impl Into<Definition>,
        change: impl FnOnce(&mut schedule::Model),
    ) -> schedule::Model {
        let now = self.clock.now();
        self.schedule("@every 1d", work, |row| {
            row.anchor_at = (now - TimeDelta::days(1)).into();
            row.end_at = Some((now + TimeDelta::hours(1)).into());
            row.next_scheduled_at = Some(now.into());
            change(row);
        })
        .await
    }

    /// Adds a calendar.
    pub(crate) async fn calendar(
        &self,
        name: &str,
        mode: calendar::Mode,
        definition: serde_json::Value,
    ) -> Uuid {
        let now = self.clock.now().into();
        let row = calendar::Model {
            id: Uuid::now_v7(),
            namespace_id: self.namespace,
            name: name.to_owned(),
            mode,
            definition,
            version: 1,
            module: None,
            created_at: now,
            updated_at: now,
            deleted_at: None,
        };
        let tx = self.database.store.begin().await.unwrap();
        let row = row.into_active_model().insert(&tx).await.unwrap();
        self.database.store.commit(tx).await.unwrap();
        row.id
    }

    /// Adds a calendar that divides each day into two hundred pieces: eight minutes of every
    /// fourteen are suppressed.
    pub(crate) async fn calendar_of_many_windows(&self) -> Uuid {
        let time = |minute: i32| format!("{:02}:{:02}", minute / 60, minute % 60);
        let window = |n: i32| serde_json::json!({ "from": time(n * 14), "to": time(n * 14 + 8) });
        let windows: Vec<_> = (0..100).map(window).collect();
        let definition = serde_json::json!({ "windows": windows });
        self.calendar("windows", calendar::Mode::Exclude, definition).await
    }

    async fn workflow(&self, definition: Definition) -> Uuid {
        let id = Uuid::now_v7();
        let now = self.clock.now().into();
        let definition = serde_json::to_value(definition).unwrap();
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
}

/// The timetable of a row, with the tests' defaults.
fn calculator(row: &schedule::Model) -> timetable::Timetable {
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

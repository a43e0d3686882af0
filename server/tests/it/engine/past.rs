//! Settled rows of any age: a fire, its run, the run's attempt and its log.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use carillon::{
    engine::maintenance::retention::{self, RemovalPreview, RetentionReport, RoundOptions},
    model::Retention,
    telemetry::Instruments,
};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Timestamp,
    fire::{self, Reason, Verdict},
    run, schedule, task_log, task_run,
};
use sea_orm::{ActiveModelTrait, EntityTrait, IntoActiveModel, PaginatorTrait};
use uuid::Uuid;

use super::world::World;
use crate::support::{fire_row, run_row};

/// A key that was created at the given time.
pub(crate) fn key(at: DateTime<Utc>) -> Uuid {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let ms = u128::try_from(at.timestamp_millis()).unwrap();
    let count = u128::from(COUNT.fetch_add(1, Ordering::Relaxed));
    Uuid::from_u128(ms << 80 | 7 << 76 | 2 << 62 | count)
}

/// A fire of that instant and its run, which succeeded a second later.
pub(crate) fn succeeded(
    schedule: &schedule::Model,
    at: DateTime<Utc>,
) -> (fire::Model, run::Model) {
    let (id, end) = (key(at), Timestamp::from(at + TimeDelta::seconds(1)));
    let at = Timestamp::from(at);
    let fire = fire::Model {
        id,
        verdict: Verdict::Started,
        reason: Reason::OnTime,
        claimed_by: Some(Uuid::from_u128(1)),
        decided_at: Some(at),
        run_id: Some(id),
        ..fire_row(schedule.namespace_id, schedule.id, at)
    };
    let run = run::Model {
        id,
        fire_id: Some(id),
        finished_at: Some(end),
        node_id: Some(Uuid::from_u128(1)),
        idempotency_key: id.to_string(),
        ..run_row(schedule.namespace_id, schedule.id, schedule.workflow_id, at)
    };
    (fire, run)
}

impl World {
    /// Adds the history of an instant `days` days ago, with `lines` log lines; `change` adapts its
    /// rows. Returns the run's key.
    pub(crate) async fn past(
        &self,
        schedule: &schedule::Model,
        days: i64,
        lines: i64,
        change: impl FnOnce(&mut fire::Model, &mut run::Model),
    ) -> Uuid {
        let at = self.clock.now() - TimeDelta::days(days);
        let (mut fire, mut run) = succeeded(schedule, at);
        change(&mut fire, &mut run);
        let (id, at) = (run.id, run.created_at);
        let attempt = task_run::Model {
            run_id: id,
            task: "main".to_owned(),
            attempt: 1,
            state: task_run::State::Succeeded,
            node_id: Uuid::from_u128(1),
            started_at: at,
            finished_at: run.finished_at,
            error: None,
            output: None,
        };
        let line = |seq| task_log::Model {
            run_id: id,
            seq,
            task: "main".to_owned(),
            attempt: 1,
            at,
            stream: task_log::Stream::Stdout,
            text: format!("line {seq}"),
            lines: None,
        };
        let tx = self.database.store.begin().await.unwrap();
        fire.into_active_model().insert(&tx).await.unwrap();
        run.into_active_model().insert(&tx).await.unwrap();
        attempt.into_active_model().insert(&tx).await.unwrap();
        let lines: Vec<_> = (0..lines).map(|seq| line(seq).into_active_model()).collect();
        for some in lines.chunks(500) {
            task_log::Entity::insert_many(some.to_vec()).exec(&tx).await.unwrap();
        }
        self.database.store.commit(tx).await.unwrap();
        id
    }

    /// Adds `count` instants, a second apart, from `days` days ago on.
    pub(crate) async fn long_past(&self, schedule: &schedule::Model, days: i64, count: usize) {
        let start = self.clock.now() - TimeDelta::days(days);
        let seconds: Vec<i64> = (0..).take(count).collect();
        let tx = self.database.store.begin().await.unwrap();
        for some in seconds.chunks(400) {
            let rows =
                some.iter().map(|second| succeeded(schedule, start + TimeDelta::seconds(*second)));
            let (fires, runs): (Vec<_>, Vec<_>) =
                rows.map(|(fire, run)| (fire.into_active_model(), run.into_active_model())).unzip();
            fire::Entity::insert_many(fires).exec_without_returning(&tx).await.unwrap();
            run::Entity::insert_many(runs).exec_without_returning(&tx).await.unwrap();
        }
        self.database.store.commit(tx).await.unwrap();
    }

    /// Runs a round of retention, now.
    pub(crate) async fn retain(&self, days: i32) -> RetentionReport {
        let settings = Retention { days, ..Retention::default() };
        let (store, clock) = (&self.database.store, &self.clock);
        let metrics = Instruments::unread(clock.clone());
        let (now, removed) = (clock.now(), Arc::new(AtomicU64::new(0)));
        let manner = RoundOptions::by_hand(Duration::ZERO, removed.clone());
        let report = retention::run_once(&settings, store, clock, &metrics, now, manner).await;
        let report = report.unwrap();
        // What a round says while it lasts adds up to its report.
        let RetentionReport { fires, runs, attempts, lines, leftovers, .. } = report;
        let all = fires + runs + attempts + lines + leftovers;
        assert_eq!(removed.load(Ordering::Relaxed), all, "{report:?}");
        report
    }

    /// The rows that a round of retention would remove.
    pub(crate) async fn would_go(&self, days: i32) -> RemovalPreview {
        let settings = Retention { days, ..Retention::default() };
        let (store, now) = (&self.database.store, self.clock.now());
        retention::preview(&settings, store, now, None, None).await.unwrap()
    }

    /// The numbers of fires, runs, attempts and lines.
    pub(crate) async fn sizes(&self) -> [u64; 4] {
        let read = self.database.store.read();
        [
            fire::Entity::find().count(read).await.unwrap(),
            run::Entity::find().count(read).await.unwrap(),
            task_run::Entity::find().count(read).await.unwrap(),
            task_log::Entity::find().count(read).await.unwrap(),
        ]
    }
}

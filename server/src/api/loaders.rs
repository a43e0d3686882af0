//! Batched reads, for every hop from a list to one row.
//!
//! Rows are not cached, so one loader serves all requests and never returns a stale row. Keys
//! requested at the same moment share a statement, whichever request they come from. Only tallies
//! are kept for some seconds, because each sums up a day of the ledger, and a live list requests it
//! with every event.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use async_graphql::{
    async_trait::async_trait,
    dataloader::{DataLoader, Loader},
};
use chrono::TimeDelta;
use entity::{
    Timestamp, alert_channel, alert_rule, backfill, calendar, concurrency_group, fire,
    maintenance_window, membership, node, ping, run, schedule, task_run, user, user_setting,
    workflow,
};
use uuid::Uuid;

use crate::{
    clock::Clock,
    model::SecretUsers,
    store::{
        Store, StoreError, alerts, buffers, calendars, deleted_namespaces, groups, maintenance,
        memberships, namespaces, pings,
        reads::{
            backfills, batches,
            schedule_stats::{self, RunFigures},
            tally,
        },
        schedules, user_settings, users, workflows,
    },
};

/// Reads rows by key.
pub(crate) struct Rows {
    store: Store,
    clock: Clock,
    tallies: Mutex<HashMap<Uuid, (Instant, tally::Tally)>>,
}

/// A tally this old is counted again.
const TALLY_AGE: Duration = Duration::from_secs(15);
/// Maximum number of cached tallies; beyond it, all are dropped.
const TALLIES: usize = 10_000;

/// The loader that a schema holds.
pub(super) fn loader(store: Store, clock: Clock) -> DataLoader<Rows> {
    DataLoader::new(Rows { store, clock, tallies: Mutex::default() }, tokio::spawn)
        .max_batch_size(500)
}

type Loaded<K, V> = Result<HashMap<K, V>, Arc<StoreError>>;

macro_rules! loaders {
    ($($(#[$doc:meta])* $key:ident -> $value:ty, $load:expr;)+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) struct $key(pub(crate) Uuid);

        #[async_trait]
        impl Loader<$key> for Rows {
            type Value = $value;
            type Error = Arc<StoreError>;

            async fn load(&self, keys: &[$key]) -> Loaded<$key, $value> {
                let ids: Vec<Uuid> = keys.iter().map(|key| key.0).collect();
                let found: Vec<(Uuid, $value)> = ($load)(self, ids).await?;
                Ok(found.into_iter().map(|(id, value)| ($key(id), value)).collect())
            }
        }
    )+ };
}

loaders! {
    /// A namespace's name.
    NamespaceName -> String, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = namespaces::by_ids(rows.store.read(), &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|row| (row.id, deleted_namespaces::known_name(row))).collect())
    };
    /// A user.
    UserRow -> user::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = users::by_ids(rows.store.read(), &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// The settings that the console keeps for a user.
    SettingsOf -> user_setting::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = user_settings::by_users(rows.store.read(), &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|row| (row.user_id, row)).collect())
    };
    /// A schedule, deleted or not.
    ScheduleRow -> schedule::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = schedules::by_ids(rows.store.read(), &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// A concurrency group.
    GroupRow -> concurrency_group::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = groups::by_ids(rows.store.read(), &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// The load of a concurrency group.
    GroupLoad -> groups::GroupUsage, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = groups::loads(&rows.store, &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|load| (load.id, load)).collect())
    };
    /// How many fires wait in a schedule's buffer.
    BufferSize -> i64, async |rows: &Rows, ids: Vec<Uuid>| {
        KeyedRows::Ok(buffers::sizes(&rows.store, &ids).await?.into_iter().collect())
    };
    /// A workflow, deleted or not.
    WorkflowRow -> workflow::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = workflows::by_ids(rows.store.read(), &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// A calendar.
    CalendarRow -> calendar::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = calendars::by_ids(rows.store.read(), &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// How many schedules refer to a calendar; no entry if there are none.
    CalendarUsers -> i64, async |rows: &Rows, ids: Vec<Uuid>| {
        calendars::user_counts(&rows.store, &ids).await
    };
    /// A maintenance window.
    MaintenanceRow -> maintenance_window::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = maintenance::by_ids(rows.store.read(), &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// How many schedules a maintenance window has marked, and how many it holds.
    MaintenanceCounts -> maintenance::WindowCounts, async |rows: &Rows, ids: Vec<Uuid>| {
        KeyedRows::Ok(maintenance::counts(&rows.store, &ids).await?.into_iter().collect())
    };
    /// An alert rule.
    AlertRuleRow -> alert_rule::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = alerts::rules::by_ids(rows.store.read(), &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// An alert channel.
    AlertChannelRow -> alert_channel::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = alerts::channels::by_ids(rows.store.read(), &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// The users of the secrets of a namespace.
    SecretUsersIn -> Arc<SecretUsers>, async |rows: &Rows, ids: Vec<Uuid>| {
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            found.push((id, Arc::new(SecretUsers::of_namespace(&rows.store, id).await?)));
        }
        KeyedRows::Ok(found)
    };
    /// A schedule's last watchdog call.
    PingRow -> ping::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = pings::by_schedules(rows.store.read(), &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|row| (row.schedule_id, row)).collect())
    };
    /// A run.
    RunRow -> run::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = batches::runs(&rows.store, &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// A fire.
    FireRow -> fire::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = batches::fires(&rows.store, &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// A node.
    NodeRow -> node::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = batches::nodes(&rows.store, &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// The newest run of a schedule.
    LastRun -> run::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = batches::last_runs(&rows.store, &ids).await?;
        KeyedRows::Ok(found.into_iter().filter_map(|row| Some((row.schedule_id?, row))).collect())
    };
    /// How many runs of a schedule are alive.
    LiveRuns -> i64, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = batches::live_runs(&rows.store, &ids).await?;
        KeyedRows::Ok(found.into_iter().collect())
    };
    /// A schedule's fires of the last 24 hours, counted up to some seconds ago.
    DayTally -> tally::Tally, async |rows: &Rows, ids: Vec<Uuid>| {
        rows.tallies(ids).await
    };
    /// A backfill.
    BackfillRow -> backfill::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = backfills::by_ids(&rows.store, &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// The progress of a backfill.
    BackfillProgressOf -> backfills::FiresByState, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = backfills::progress(&rows.store, &ids).await?;
        KeyedRows::Ok(found.into_iter().collect())
    };
    /// How many attempts a run has had.
    TaskRunCount -> i64, async |rows: &Rows, ids: Vec<Uuid>| {
        KeyedRows::Ok(batches::task_run_counts(&rows.store, &ids).await?.into_iter().collect())
    };
    /// How the last attempt of a run ended.
    EndingOf -> batches::AttemptEnding, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = batches::endings(&rows.store, &ids).await?;
        KeyedRows::Ok(found.into_iter().map(|ending| (ending.run_id, ending)).collect())
    };
    /// The attempts of a run.
    TaskRuns -> Vec<task_run::Model>, async |rows: &Rows, ids: Vec<Uuid>| {
        let mut attempts: HashMap<Uuid, Vec<task_run::Model>> = HashMap::new();
        for row in batches::task_runs(&rows.store, &ids).await? {
            attempts.entry(row.run_id).or_default().push(row);
        }
        KeyedRows::Ok(attempts.into_iter().collect())
    };
}

impl Rows {
    async fn tallies(&self, ids: Vec<Uuid>) -> KeyedRows<tally::Tally> {
        let now = self.clock.instant();
        let kept = || self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut found, mut missing) = (Vec::with_capacity(ids.len()), Vec::new());
        for id in ids {
            match kept().get(&id) {
                Some((at, tally)) if now.duration_since(*at) < TALLY_AGE => {
                    found.push((id, *tally));
                }
                Some(_) | None => missing.push(id),
            }
        }
        let since = Timestamp::from(self.clock.now() - TimeDelta::hours(24));
        let mut counted = tally::of_schedules(&self.store, &missing, since).await?;
        let mut kept = kept();
        if kept.len() + missing.len() > TALLIES {
            kept.clear();
        }
        for id in missing {
            let tally = counted.remove(&id).unwrap_or_default();
            kept.insert(id, (now, tally));
            found.push((id, tally));
        }
        Ok(found)
    }
}

macro_rules! first_of_many {
    ($($(#[$doc:meta])* $key:ident -> $row:ty, $load:expr, $of:expr;)+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) struct $key(pub(crate) Uuid, pub(crate) u64);

        #[async_trait]
        impl Loader<$key> for Rows {
            type Value = Vec<$row>;
            type Error = Arc<StoreError>;

            async fn load(&self, keys: &[$key]) -> Loaded<$key, Vec<$row>> {
                let mut by_limit: HashMap<u64, Vec<Uuid>> = HashMap::new();
                for key in keys {
                    by_limit.entry(key.1).or_default().push(key.0);
                }
                let mut found: HashMap<$key, Vec<$row>> = HashMap::new();
                for (limit, ids) in by_limit {
                    for row in ($load)(&self.store, &ids, limit).await? {
                        found.entry($key(($of)(&row), limit)).or_default().push(row);
                    }
                }
                Ok(found)
            }
        }
    )+ };
}

first_of_many! {
    /// The first attempts of a run, with their limit.
    FirstTaskRuns -> task_run::Model, batches::first_task_runs, |row: &task_run::Model| row.run_id;
    /// The newest fires of a schedule, with their limit.
    NewestFires -> fire::Model, batches::newest_fires, |row: &fire::Model| row.schedule_id;
    /// A user's first memberships in namespaces, with their limit.
    FirstMemberships -> membership::Model, memberships::first_of_users,
        |row: &membership::Model| row.user_id;
}

type KeyedRows<V> = Result<Vec<(Uuid, V)>, StoreError>;

/// A version of a workflow's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WorkflowVersion(pub(crate) Uuid, pub(crate) i32);

#[async_trait]
impl Loader<WorkflowVersion> for Rows {
    type Value = serde_json::Value;
    type Error = Arc<StoreError>;

    async fn load(&self, keys: &[WorkflowVersion]) -> Loaded<WorkflowVersion, serde_json::Value> {
        let wanted: Vec<_> = keys.iter().map(|key| (key.0, key.1)).collect();
        let rows = workflows::versions(self.store.read(), &wanted).await?;
        let entry = |row: entity::workflow_version::Model| {
            (WorkflowVersion(row.workflow_id, row.version), row.definition)
        };
        Ok(rows.into_iter().map(entry).collect())
    }
}

/// A range of time for statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StatsRange {
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
}

/// Statistics of a schedule's runs in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FiguresOf(pub(crate) Uuid, pub(crate) StatsRange);

#[async_trait]
impl Loader<FiguresOf> for Rows {
    type Value = RunFigures;
    type Error = Arc<StoreError>;

    async fn load(&self, keys: &[FiguresOf]) -> Loaded<FiguresOf, RunFigures> {
        let mut by_range: HashMap<StatsRange, Vec<Uuid>> = HashMap::new();
        for key in keys {
            by_range.entry(key.1).or_default().push(key.0);
        }
        let mut found = HashMap::new();
        for (range, ids) in by_range {
            let most = schedule_stats::MAX_RUNS;
            let figures =
                schedule_stats::of_schedules(&self.store, &ids, range.from, range.until, most)
                    .await?;
            found.extend(figures.into_iter().map(|(id, figures)| (FiguresOf(id, range), figures)));
        }
        Ok(found)
    }
}

//! One statement for many rows: every hop from a list to one row goes through here.
//!
//! Nothing is cached, so one loader serves all requests and never shows an old row: keys that are
//! asked for in the same moment share a statement, whoever asks.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use async_graphql::dataloader::{DataLoader, Loader};
use chrono::TimeDelta;
use entity::{Timestamp, fire, node, run, schedule, task_run, workflow};
use uuid::Uuid;

use crate::{
    clock::Clock,
    store::{
        Store, StoreError, namespaces,
        reads::{batches, tally},
        schedules, workflows,
    },
};

/// Reads rows by key.
pub(crate) struct Rows {
    store: Store,
    clock: Clock,
}

/// The loader that a schema holds.
pub(super) fn loader(store: Store, clock: Clock) -> DataLoader<Rows> {
    DataLoader::new(Rows { store, clock }, tokio::spawn).max_batch_size(500)
}

type Loaded<K, V> = Result<HashMap<K, V>, Arc<StoreError>>;

macro_rules! loaders {
    ($($(#[$doc:meta])* $key:ident -> $value:ty, $load:expr;)+) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) struct $key(pub(crate) Uuid);

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
        Found::Ok(found.into_iter().map(|row| (row.id, row.name)).collect())
    };
    /// A schedule, deleted or not.
    ScheduleRow -> schedule::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = schedules::by_ids(rows.store.read(), &ids).await?;
        Found::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// A workflow, deleted or not.
    WorkflowRow -> workflow::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = workflows::by_ids(rows.store.read(), &ids).await?;
        Found::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// A run.
    RunRow -> run::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = batches::runs(&rows.store, &ids).await?;
        Found::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// A fire.
    FireRow -> fire::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = batches::fires(&rows.store, &ids).await?;
        Found::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// A node.
    NodeRow -> node::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = batches::nodes(&rows.store, &ids).await?;
        Found::Ok(found.into_iter().map(|row| (row.id, row)).collect())
    };
    /// The newest run of a schedule.
    LastRun -> run::Model, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = batches::last_runs(&rows.store, &ids).await?;
        Found::Ok(found.into_iter().filter_map(|row| Some((row.schedule_id?, row))).collect())
    };
    /// How many runs of a schedule are alive.
    LiveRuns -> i64, async |rows: &Rows, ids: Vec<Uuid>| {
        let found = batches::live_runs(&rows.store, &ids).await?;
        Found::Ok(found.into_iter().collect())
    };
    /// A schedule's fires of the last 24 hours.
    DayTally -> tally::Tally, async |rows: &Rows, ids: Vec<Uuid>| {
        let since = Timestamp::from(rows.clock.now() - TimeDelta::hours(24));
        let found = tally::of_schedules(&rows.store, &ids, since).await?;
        Found::Ok(found.into_iter().collect())
    };
    /// The attempts of a run.
    TaskRuns -> Vec<task_run::Model>, async |rows: &Rows, ids: Vec<Uuid>| {
        let mut attempts: HashMap<Uuid, Vec<task_run::Model>> = HashMap::new();
        for row in batches::task_runs(&rows.store, &ids).await? {
            attempts.entry(row.run_id).or_default().push(row);
        }
        Found::Ok(attempts.into_iter().collect())
    };
}

type Found<V> = Result<Vec<(Uuid, V)>, StoreError>;

/// A version of a workflow's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WorkflowVersion(pub(crate) Uuid, pub(crate) i32);

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

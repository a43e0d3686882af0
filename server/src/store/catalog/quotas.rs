//! The quotas of namespaces, and how much of them is used.

use entity::Timestamp;
use sea_orm::{ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use crate::store::{Store, StoreError};

/// A namespace that has quotas of its own.
#[derive(Clone, Debug, PartialEq, FromQueryResult)]
pub struct NamespaceWithQuotas {
    /// The key of the namespace.
    pub id: Uuid,
    /// The name of the namespace.
    pub name: String,
    /// The quotas; see `entity::namespace`.
    pub quotas: Option<serde_json::Value>,
}

/// How much of its quotas a namespace uses by its schedules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromQueryResult)]
pub struct Usage {
    /// Number of schedules that are not deleted.
    pub schedules: i64,
    /// Fires per hour of all schedules together, each at the rate of its busiest minute.
    pub fires_an_hour: i64,
}

impl Usage {
    /// The sum of two usages.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            schedules: self.schedules + other.schedules,
            fires_an_hour: self.fires_an_hour + other.fires_an_hour,
        }
    }

    /// This usage minus another one.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            schedules: self.schedules - other.schedules,
            fires_an_hour: self.fires_an_hour - other.fires_an_hour,
        }
    }
}

impl Store {
    /// The quotas of all namespaces that have their own.
    pub async fn own_quotas(&self) -> Result<Vec<NamespaceWithQuotas>, StoreError> {
        let sql = "SELECT id, name, quotas FROM namespace WHERE quotas IS NOT NULL";
        let rows = NamespaceWithQuotas::find_by_statement(self.dialect().statement(sql, []));
        Ok(rows.all(self.rounds()).await?)
    }

    /// Whether at least two namespaces have schedules.
    pub async fn has_several_tenants(&self) -> Result<bool, StoreError> {
        let sql = "SELECT n.id FROM namespace n WHERE EXISTS (SELECT 1 FROM schedule s \
             WHERE s.namespace_id = n.id AND s.deleted_at IS NULL) LIMIT 2";
        let rows = self.rounds().query_all_raw(self.dialect().statement(sql, [])).await?;
        Ok(rows.len() > 1)
    }

    /// How many runs of each namespace are in progress on nodes other than `node`.
    pub async fn live_elsewhere(
        &self,
        node: Uuid,
        now: Timestamp,
    ) -> Result<Vec<(Uuid, i64)>, StoreError> {
        #[derive(FromQueryResult)]
        struct NamespaceRuns {
            namespace_id: Uuid,
            runs: i64,
        }
        let sql = format!(
            "SELECT run.namespace_id, count(*) AS runs FROM run \
             WHERE run.state IN ('queued', 'running', 'retrying') AND run.state = 'running' \
               AND run.node_id <> $1{} GROUP BY run.namespace_id",
            self.dialect().live_runs("run.id", now)
        );
        let rows = NamespaceRuns::find_by_statement(self.dialect().statement(sql, [node.into()]));
        let rows = rows.all(self.rounds()).await?;
        Ok(rows.into_iter().map(|row| (row.namespace_id, row.runs)).collect())
    }

    /// Number of runs of a namespace that nodes are executing.
    pub async fn live_runs_of(&self, namespace: Uuid, now: Timestamp) -> Result<i64, StoreError> {
        let sql = format!(
            "SELECT count(*) AS runs FROM run WHERE run.state IN ('queued', 'running', 'retrying') \
               AND run.state = 'running' AND run.namespace_id = $1{}",
            self.dialect().live_runs("run.id", now)
        );
        let statement = self.dialect().statement(sql, [namespace.into()]);
        let row = self.read().query_one_raw(statement).await?;
        Ok(row.map(|row| row.try_get("", "runs")).transpose()?.unwrap_or_default())
    }

    /// Prevents other transactions that take this lock from saving schedules
    /// in the namespace until this transaction ends.
    pub async fn lock_quotas(
        &self,
        tx: &impl ConnectionTrait,
        namespace: Uuid,
    ) -> Result<(), StoreError> {
        if self.dialect().is_postgres() {
            let sql = "SELECT id FROM namespace WHERE id = $1 FOR NO KEY UPDATE";
            tx.query_one_raw(self.dialect().statement(sql, [namespace.into()])).await?;
        }
        Ok(())
    }

    /// A namespace's usage by schedules, and its own quotas. Counts up to `most` schedules.
    pub async fn usage(
        &self,
        connection: &impl ConnectionTrait,
        namespace: Uuid,
        most: i64,
    ) -> Result<(Usage, Option<serde_json::Value>), StoreError> {
        #[derive(FromQueryResult)]
        struct Set {
            quotas: Option<serde_json::Value>,
        }
        let set = "SELECT quotas FROM namespace WHERE id = $1";
        let set = self.dialect().statement(set, [namespace.into()]);
        let set = Set::find_by_statement(set).one(connection).await?;
        let sql = "SELECT count(*) AS schedules, \
               CAST(coalesce(sum(fires_an_hour), 0) AS bigint) AS fires_an_hour \
             FROM (SELECT fires_an_hour FROM schedule \
               WHERE namespace_id = $1 AND deleted_at IS NULL LIMIT $2) counted";
        let statement = self.dialect().statement(sql, [namespace.into(), most.into()]);
        let usage = Usage::find_by_statement(statement).one(connection).await?;
        Ok((usage.unwrap_or_default(), set.and_then(|set| set.quotas)))
    }
}

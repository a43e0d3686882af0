//! Terms of ownership of the services that one node does for all, on the database's clock.

use std::time::Duration;

use entity::Timestamp;
use sea_orm::{ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use super::{DatabaseTransaction, Store, StoreError};

/// The answer to who may do a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// This node, in this epoch, until its term ends.
    Held(i64),
    /// Another one.
    Elsewhere,
}

/// What each write of a service names that one node does for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The service.
    pub name: &'static str,
    /// Who does it.
    pub holder: Uuid,
    /// In which epoch.
    pub epoch: i64,
}

/// A lease that somebody has.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct HeldLease {
    /// The service.
    pub name: String,
    /// The life of a node.
    pub holder: Uuid,
    /// Counts the holders.
    pub epoch: i64,
}

impl Store {
    /// Begins a transaction of a service that one node does for all; nothing, if the lease that
    /// `fence` names is not held any more. Until the transaction ends nobody else can take it.
    pub async fn begin_if_held(
        &self,
        fence: &Fence,
    ) -> Result<Option<DatabaseTransaction>, StoreError> {
        let tx = self.begin().await?;
        if self.holds_lease(&tx, fence).await? {
            return Ok(Some(tx));
        }
        tx.rollback().await?;
        Ok(None)
    }

    /// Whether the lease is still what `fence` names, to the end of the transaction.
    pub async fn holds_lease(
        &self,
        tx: &DatabaseTransaction,
        fence: &Fence,
    ) -> Result<bool, StoreError> {
        // SQLite's one writer is a lock on everything.
        let lock = if self.dialect().is_postgres() { "FOR SHARE" } else { "" };
        let sql = format!(
            "SELECT epoch FROM lease WHERE name = $1 AND holder = $2 AND epoch = $3 \
               AND until_at >= {} {lock}",
            self.dialect().now()
        );
        let values = [fence.name.into(), fence.holder.into(), fence.epoch.into()];
        Ok(tx.query_one_raw(self.dialect().statement(sql, values)).await?.is_some())
    }

    /// The leases that living nodes have.
    pub async fn held_leases(&self) -> Result<Vec<HeldLease>, StoreError> {
        let sql = format!(
            "SELECT lease.name, lease.holder, lease.epoch FROM lease \
             JOIN node ON node.id = lease.holder \
             WHERE lease.until_at >= {} AND node.state = 'alive' ORDER BY lease.name",
            self.dialect().now()
        );
        let leases = HeldLease::find_by_statement(self.dialect().statement(sql, []));
        Ok(leases.all(self.read()).await?)
    }

    /// Takes the lease if it is free or its term is over, or renews one's own. A node whose life
    /// is over holds nothing any more.
    pub async fn hold_lease_if_free(
        &self,
        name: &str,
        holder: Uuid,
        term: Duration,
    ) -> Result<Term, StoreError> {
        #[derive(FromQueryResult)]
        struct Row {
            epoch: i64,
        }
        let now = self.dialect().now();
        let sql = format!(
            "INSERT INTO lease (name, holder, epoch, until_at) \
             SELECT $1, $2, 1, {now} + $3 \
              WHERE EXISTS (SELECT 1 FROM node WHERE node.id = $2 AND node.state = 'alive' \
                AND node.draining_at IS NULL) \
             ON CONFLICT (name) DO UPDATE SET \
               epoch = CASE WHEN lease.holder = excluded.holder THEN lease.epoch \
                            ELSE lease.epoch + 1 END, \
               holder = excluded.holder, until_at = excluded.until_at \
             WHERE lease.holder = excluded.holder OR lease.until_at < {now} \
               OR NOT EXISTS (SELECT 1 FROM node \
                              WHERE node.id = lease.holder AND node.state = 'alive') \
             RETURNING epoch"
        );
        let term = i64::try_from(term.as_millis()).unwrap_or(i64::MAX);
        let values = [name.into(), holder.into(), term.into()];
        let tx = self.begin().await?;
        if self.dialect().is_postgres() {
            // The holder writes at this moment, or was frozen while it did: nobody waits for it.
            tx.execute_unprepared("SET LOCAL lock_timeout = '250ms'").await?;
        }
        let row = Row::find_by_statement(self.dialect().statement(sql, values)).one(&tx).await;
        let row = match row.map_err(StoreError::from) {
            Ok(row) => row,
            Err(error) if error.is_lock_refused() => {
                tx.rollback().await?;
                return Ok(Term::Elsewhere);
            }
            Err(error) => return Err(error),
        };
        self.commit_unseen(tx).await?;
        Ok(row.map_or(Term::Elsewhere, |row| Term::Held(row.epoch)))
    }

    /// The name of the node that has the lease, if one is alive that has.
    pub async fn lease_holder(&self, name: &str) -> Result<Option<String>, StoreError> {
        #[derive(FromQueryResult)]
        struct Row {
            name: String,
        }
        let sql = format!(
            "SELECT node.name FROM lease JOIN node ON node.id = lease.holder \
             WHERE lease.name = $1 AND lease.until_at >= {} AND node.state = 'alive'",
            self.dialect().now()
        );
        let statement = self.dialect().statement(sql, [name.into()]);
        let row = Row::find_by_statement(statement).one(self.read()).await?;
        Ok(row.map(|row| row.name))
    }

    /// The time on the clock that leases follow.
    pub async fn lease_time(&self) -> Result<Timestamp, StoreError> {
        #[derive(FromQueryResult)]
        struct Row {
            now: i64,
        }
        let sql = format!("SELECT CAST({} AS bigint) AS now", self.dialect().now());
        let row = Row::find_by_statement(self.dialect().statement(sql, [])).one(self.read());
        Ok(Timestamp(row.await?.map_or(0, |row| row.now)))
    }
}

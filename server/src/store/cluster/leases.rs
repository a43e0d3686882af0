//! The leases of services that one node runs for the whole cluster, by the database's clock.

use std::time::Duration;

use entity::Timestamp;
use sea_orm::{ConnectionTrait, FromQueryResult, Statement};
use uuid::Uuid;

use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::bulk::{BulkValues, returned_ids},
};

/// Which node holds a service's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// This node holds the lease, in this epoch, until its term ends.
    Held(i64),
    /// Another node holds the lease.
    Elsewhere,
}

/// The lease of another node, as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignLease {
    /// The epoch of the lease: the number of holders so far.
    pub epoch: i64,
    /// When the term ends, by the database's clock.
    pub until_at: Timestamp,
    /// How much of the term was left when the lease was read.
    pub left: Duration,
}

impl ForeignLease {
    /// Whether the term is still the same, so that it has not been renewed.
    pub fn is_still(&self, other: &Self) -> bool {
        (self.epoch, self.until_at) == (other.epoch, other.until_at)
    }
}

/// The lease, holder and epoch that each write of a service names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The name of the service.
    pub name: &'static str,
    /// The node that holds the lease.
    pub holder: Uuid,
    /// The epoch in which the node holds it.
    pub epoch: i64,
}

/// A lease that a node holds.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct HeldLease {
    /// The name of the service.
    pub name: String,
    /// The key of the holder's life.
    pub holder: Uuid,
    /// The epoch of the lease: the number of holders so far.
    pub epoch: i64,
}

/// The result of an attempt to hold a lease.
enum LeaseOutcome {
    /// This node already held the lease, in this epoch, and has renewed it.
    Renewed(i64),
    /// The lease was free or another node's, and this node has taken it.
    Taken {
        epoch: i64,
        /// Nodes that could not be marked as changed,
        /// because other transactions had locked their rows.
        untold: Vec<Uuid>,
    },
    /// Another node holds the lease.
    Theirs(ForeignLease),
}

/// The condition that the life of the requesting node accepts new work.
const TAKES_ON: &str = "SELECT 1 FROM node WHERE node.id = $2 AND node.state = 'alive' \
    AND node.draining_at IS NULL";

async fn epoch(tx: &DatabaseTransaction, statement: Statement) -> Result<Option<i64>, StoreError> {
    #[derive(FromQueryResult)]
    struct EpochRow {
        epoch: i64,
    }
    Ok(EpochRow::find_by_statement(statement).one(tx).await?.map(|row| row.epoch))
}

impl Store {
    /// Begins a transaction of a service that one node runs for the whole cluster.
    /// Returns `None` if the node no longer holds the lease that `fence` names.
    /// No other node can take the lease before the transaction ends.
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

    /// Whether the lease is still the one that `fence` names.
    /// If so, it stays so until the transaction ends.
    pub async fn holds_lease(
        &self,
        tx: &DatabaseTransaction,
        fence: &Fence,
    ) -> Result<bool, StoreError> {
        // On SQLite, the single writer acts as a lock on all rows.
        let lock = if self.dialect().is_postgres() { "FOR SHARE" } else { "" };
        let sql = format!(
            "SELECT epoch FROM lease WHERE name = $1 AND holder = $2 AND epoch = $3 \
               AND until_at >= {} {lock}",
            self.dialect().now()
        );
        let values = [fence.name.into(), fence.holder.into(), fence.epoch.into()];
        Ok(tx.query_one_raw(self.dialect().statement(sql, values)).await?.is_some())
    }

    /// The leases that live nodes hold.
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

    /// Takes the lease if it is free or its term is over, or renews it if this node holds it.
    /// A node whose life is over cannot hold a lease.
    ///
    /// If another node holds the lease, nothing is written, because nodes try this repeatedly.
    pub async fn hold_lease_if_free(
        &self,
        name: &str,
        holder: Uuid,
        term: Duration,
    ) -> Result<LeaseState, StoreError> {
        Ok(self.hold_lease_if_over(name, holder, term, None).await?.0)
    }

    /// Takes or renews the lease. Also takes it if its term is still `over`: a term of another node
    /// that this node has watched until it ended by a monotonic clock.
    /// If the lease is not taken, returns the other node's term as well, if it could be read.
    pub async fn hold_lease_if_over(
        &self,
        name: &str,
        holder: Uuid,
        term: Duration,
        over: Option<ForeignLease>,
    ) -> Result<(LeaseState, Option<ForeignLease>), StoreError> {
        let term = i64::try_from(term.as_millis()).unwrap_or(i64::MAX);
        let tx = self.begin().await?;
        if self.dialect().is_postgres() {
            // The holder is writing right now, or was frozen
            // in the middle of a write, so do not wait for it.
            tx.execute_unprepared("SET LOCAL lock_timeout = '250ms'").await?;
        }
        match self.hold_in(&tx, name, holder, term, over).await {
            Ok(Some(LeaseOutcome::Renewed(epoch))) => {
                self.commit_unseen(tx).await?;
                Ok((LeaseState::Held(epoch), None))
            }
            // Followers of the nodes must see that the lease has a new holder.
            Ok(Some(LeaseOutcome::Taken { epoch, untold })) => {
                self.commit(tx).await?;
                if let Err(error) = self.tell_of(&untold).await {
                    // Nodes that are writing their rows right now will
                    // announce the new holder with their next heartbeat.
                    tracing::debug!(name, %error, "failed to announce that a lease has moved");
                }
                Ok((LeaseState::Held(epoch), None))
            }
            Ok(Some(LeaseOutcome::Theirs(theirs))) => {
                tx.rollback().await?;
                Ok((LeaseState::Elsewhere, Some(theirs)))
            }
            Ok(None) => {
                tx.rollback().await?;
                Ok((LeaseState::Elsewhere, None))
            }
            Err(error) if error.is_lock_refused() => {
                tx.rollback().await?;
                Ok((LeaseState::Elsewhere, None))
            }
            Err(error) => Err(error),
        }
    }

    /// Renews the lease if this node holds it, or takes it if it is free.
    async fn hold_in(
        &self,
        tx: &DatabaseTransaction,
        name: &str,
        holder: Uuid,
        term: i64,
        over: Option<ForeignLease>,
    ) -> Result<Option<LeaseOutcome>, StoreError> {
        if let Some(epoch) = self.renew_lease(tx, name, holder, term).await? {
            return Ok(Some(LeaseOutcome::Renewed(epoch)));
        }
        match self.term_of_another(tx, name).await? {
            Some(theirs) if !over.is_some_and(|over| over.is_still(&theirs)) => {
                Ok(Some(LeaseOutcome::Theirs(theirs)))
            }
            Some(_) | None => self.take_lease(tx, name, holder, term, over).await,
        }
    }

    /// Extends the term of the current holder. Returns the epoch.
    async fn renew_lease(
        &self,
        tx: &DatabaseTransaction,
        name: &str,
        holder: Uuid,
        term: i64,
    ) -> Result<Option<i64>, StoreError> {
        let sql = format!(
            "UPDATE lease SET until_at = {} + $3 WHERE name = $1 AND holder = $2 \
               AND EXISTS ({TAKES_ON}) RETURNING epoch",
            self.dialect().now()
        );
        let statement = self.dialect().statement(sql, [name.into(), holder.into(), term.into()]);
        epoch(tx, statement).await
    }

    /// The term of another live node that holds the lease; `None` if there is none.
    async fn term_of_another(
        &self,
        tx: &DatabaseTransaction,
        name: &str,
    ) -> Result<Option<ForeignLease>, StoreError> {
        #[derive(FromQueryResult)]
        struct TermRow {
            epoch: i64,
            until_at: Timestamp,
            now: i64,
        }
        let now = self.dialect().now();
        let sql = format!(
            "SELECT lease.epoch, lease.until_at, CAST({now} AS bigint) AS now \
             FROM lease JOIN node ON node.id = lease.holder \
             WHERE lease.name = $1 AND lease.until_at >= {now} AND node.state = 'alive'"
        );
        let row = TermRow::find_by_statement(self.dialect().statement(sql, [name.into()]));
        let theirs = |TermRow { epoch, until_at, now }: TermRow| {
            let left = u64::try_from(until_at.0.saturating_sub(now)).unwrap_or(0);
            ForeignLease { epoch, until_at, left: Duration::from_millis(left) }
        };
        Ok(row.one(tx).await?.map(theirs))
    }

    /// Begins a term, unless another node was faster.
    /// The rows of the old and the new holder are marked as changed.
    async fn take_lease(
        &self,
        tx: &DatabaseTransaction,
        name: &str,
        holder: Uuid,
        term: i64,
        over: Option<ForeignLease>,
    ) -> Result<Option<LeaseOutcome>, StoreError> {
        let (now, stamp) = (self.dialect().now(), self.dialect().stamp("node"));
        let concerned = "SELECT node.id FROM node WHERE node.id = $2 OR node.id IN \
            (SELECT lease.holder FROM lease WHERE lease.name = $1)";
        let values = || -> [sea_orm::Value; 2] { [name.into(), holder.into()] };
        let concerns = self.dialect().statement(concerned, values());
        let mut untold = returned_ids(tx, concerns).await?;
        // Rows that another transaction is writing are skipped, without waiting for it.
        let sql = format!(
            "UPDATE node SET changed = {stamp} WHERE id IN ({concerned} {}) RETURNING id",
            self.dialect().skip_locked("node")
        );
        let told = returned_ids(tx, self.dialect().statement(sql, values())).await?;
        untold.retain(|node| !told.contains(node));
        let sql = format!(
            "INSERT INTO lease (name, holder, epoch, until_at) \
             SELECT $1, $2, 1, {now} + $3 WHERE EXISTS ({TAKES_ON}) \
             ON CONFLICT (name) DO UPDATE SET epoch = lease.epoch + 1, \
               holder = excluded.holder, until_at = excluded.until_at \
             WHERE lease.until_at < {now} OR NOT EXISTS (SELECT 1 FROM node \
               WHERE node.id = lease.holder AND node.state = 'alive') \
               OR (lease.epoch = $4 AND lease.until_at = $5) \
             RETURNING epoch"
        );
        // -1 is the epoch of no lease.
        let (epoch_over, until_over) = over.map_or((-1, 0), |over| (over.epoch, over.until_at.0));
        let values =
            [name.into(), holder.into(), term.into(), epoch_over.into(), until_over.into()];
        let statement = self.dialect().statement(sql, values);
        let epoch = epoch(tx, statement).await?;
        Ok(epoch.map(|epoch| LeaseOutcome::Taken { epoch, untold: untold.into_iter().collect() }))
    }

    /// Marks these nodes as changed once more, because a follower may have read them between the
    /// write of their row and that of the lease.
    async fn tell_of(&self, nodes: &[Uuid]) -> Result<(), StoreError> {
        if nodes.is_empty() {
            return Ok(());
        }
        let tx = self.begin().await?;
        if self.dialect().is_postgres() {
            tx.execute_unprepared("SET LOCAL lock_timeout = '1s'").await?;
        }
        let sql = format!(
            "UPDATE node SET changed = {} WHERE id IN (SELECT id FROM v)",
            self.dialect().stamp("node")
        );
        let nodes = BulkValues::default().uuid("id", nodes.iter().copied());
        tx.execute_raw(nodes.statement(self.dialect(), &sql, vec![])).await?;
        self.commit(tx).await
    }

    /// The name of the live node that holds the lease; `None` if there is none.
    pub async fn lease_holder(&self, name: &str) -> Result<Option<String>, StoreError> {
        #[derive(FromQueryResult)]
        struct HolderRow {
            name: String,
        }
        let sql = format!(
            "SELECT node.name FROM lease JOIN node ON node.id = lease.holder \
             WHERE lease.name = $1 AND lease.until_at >= {} AND node.state = 'alive'",
            self.dialect().now()
        );
        let statement = self.dialect().statement(sql, [name.into()]);
        let row = HolderRow::find_by_statement(statement).one(self.read()).await?;
        Ok(row.map(|row| row.name))
    }

    /// The current time on the clock by which leases end.
    pub async fn lease_time(&self) -> Result<Timestamp, StoreError> {
        self.lease_time_by(self.read()).await
    }

    /// The current time on the clock by which leases end, read through the caller's connection.
    pub async fn lease_time_by<C: ConnectionTrait>(
        &self,
        connection: &C,
    ) -> Result<Timestamp, StoreError> {
        #[derive(FromQueryResult)]
        struct TimeRow {
            now: i64,
        }
        let sql = format!("SELECT CAST({} AS bigint) AS now", self.dialect().now());
        let row = TimeRow::find_by_statement(self.dialect().statement(sql, [])).one(connection);
        Ok(Timestamp(row.await?.map_or(0, |row| row.now)))
    }
}

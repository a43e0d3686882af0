//! The store, the only code that contains SQL.
//!
//! - `db`: access to the database, and the building blocks of every statement
//! - `ledger`: fires, runs and attempts, from their first write to their removal
//! - `catalog`: schedules, workflows, calendars, secrets and
//!   other objects that people and modules create
//! - `people`: users, their sessions and tokens
//! - `cluster`: nodes, leases, and calls between nodes
//! - `alerts`: alerts, messages and pings
//! - `maintenance`: maintenance windows, and the schedules that they pause
//! - `workers`: workers, and the jobs that they pull
//! - `reads`: the queries of the API: pages, batches and figures
//!
//! Callers use the leaf modules directly: `store::schedules`, `store::claims`.
//!
//! Each type of object has a file. The name of a function includes its guard (`settle_if_held`).
//! If a guard can fail, the return value says so, not an error. The store knows rows but not why
//! they change: the engine decides what to write, and the API reads.
//!
//! The text of a statement is the same for SQLite and PostgreSQL.
//! The differences are confined to `db::dialect` (the database's clock, row locks, the change
//! feed's horizon) and `db::bulk` (how a batch of rows becomes a table `v` inside a statement).
//!
//! On PostgreSQL, the ledger is partitioned by day. A statement that finds its rows by key names
//! their days (`days`). A statement that looks for live or due rows reads an index of each day that
//! contains only such rows, which costs little for a day without any.
//!
//! `primary` provides the connections.
//! It follows a fail-over, so that no statement waits for a server that is gone.
//!
//! Writes go through [`Store::begin`], or through `Store::write_rows` if one statement is enough.
//! SQLite has one writer: its transactions are `BEGIN IMMEDIATE` on a connection of their own.
//! So writers queue in this process instead of spinning on the file's lock,
//! and readers have connections that never wait for writers.

pub mod alerts;
mod catalog;
mod cluster;
mod db;
mod ledger;
pub mod maintenance;
mod people;
pub mod reads;
pub mod workers;

use std::{sync::Arc, time::Duration};

use sea_orm::{ConnectionTrait, QueryResult, SqliteTransactionMode, Statement, TransactionOptions};
use tokio::sync::Notify;

pub use db::changes::{Changes, Cursor};
pub use db::dialect::Dialect;
pub use db::error::{AWAY, Constraint, StoreError};
#[doc(hidden)]
pub use db::faults::{FaultPoint, Faults};
pub use db::open::{MigrationState, Migrations, Options, file_of};
pub use db::page::{Page, PageWindow};
pub use db::primary::{DatabaseLink, DatabaseTransaction};
pub use db::sizes::Sizes;
pub use db::total::{MAX_TOTAL, Total};
pub use db::writes::WriteRefusal;

use self::{
    db::{database_file::DatabaseFile, searching::Searching},
    ledger::handoff_lock,
};
use crate::clock::Clock;
pub use alerts::pings;
pub use catalog::{
    audit, calendars, deleted_namespaces, expected, health_budgets, idempotency, modules,
    namespaces, quotas, schedules, secret_users, secrets, workflows,
};
pub use cluster::{calls, leases, nodes, silence};
pub(crate) use db::days;
pub use db::{backup, inspect, live, stored};
pub use ledger::{
    ahead, backfill_runs, backfills, buffers, candidates, claims, clearing, counts, depths, flows,
    groups, handoffs, history, history_cuts, holds, hours, instants, logs, pauses, queue, recount,
    recoveries, retention, runs, spread, stats, untaken, zone_rules,
};
pub use people::{devices, feeds, guesses, memberships, sessions, tokens, user_settings, users};

/// A handle on the database. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    read: DatabaseLink,
    /// The connections from which the API reads. On SQLite, the API has connections of its own.
    /// On PostgreSQL, the engine reads through the connections for writing instead.
    api_read: DatabaseLink,
    /// Maximum number of open API transactions on PostgreSQL.
    api_transactions: usize,
    write: DatabaseLink,
    dialect: Dialect,
    changes: Changes,
    searching: Searching,
    /// The database file; `None` on PostgreSQL.
    file: Option<DatabaseFile>,
    /// The faults to inject; set only in a simulation.
    faults: Option<Faults>,
}

impl Store {
    /// The connections for reading.
    pub fn read(&self) -> &DatabaseLink {
        &self.read
    }

    /// The connections for statements that the engine repeats word for word.
    /// On PostgreSQL these are the connections for writing, which plan a statement only once:
    /// across the ledger's days, planning takes a hundred times as long as execution. A caller that
    /// has a transaction open must not use them, because it would occupy two of these connections.
    pub(crate) fn rounds(&self) -> &DatabaseLink {
        if self.dialect.is_postgres() { &self.write } else { &self.read }
    }

    /// The same store for the API.
    /// However much the API reads and writes, the engine has connections left.
    /// On PostgreSQL, the API's transactions leave two of the connections for writing free;
    /// on SQLite, the writer serves callers in order. Clones share the limit, but each call of this
    /// function creates a new one. API callers prefer an error to a late answer: an outage of the
    /// database, or a lock that another transaction keeps, becomes an error within two seconds.
    #[must_use]
    pub fn for_api(&self) -> Self {
        let write = match self.dialect.is_postgres() {
            true => self.write.clone().limited(self.api_transactions),
            false => self.write.clone(),
        };
        let (read, write) = (self.api_read.for_callers(), write.for_callers());
        Self { read, write, ..self.clone() }
    }

    /// The same store for probes.
    /// Their reads share connections with the engine and not with the API.
    #[must_use]
    pub fn for_probes(&self) -> Self {
        Self { read: self.rounds().clone(), ..self.clone() }
    }

    /// The pieces of SQL that differ between the databases.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// The wake-ups for followers of runs, schedules and logs.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Why the database rejects writes or does not keep them; `None` if it accepts them.
    pub fn refusing(&self) -> Option<WriteRefusal> {
        let is_replaced = self.file.as_ref().is_some_and(DatabaseFile::is_replaced);
        if is_replaced { Some(WriteRefusal::FileReplaced) } else { self.write.writes().refusing() }
    }

    /// Notifies each time the connections are replaced, because failed operations may succeed on
    /// the new ones. On SQLite, this never happens.
    pub fn renewed(&self) -> Arc<Notify> {
        self.write.renewed()
    }

    /// Begins a transaction that will write.
    pub async fn begin(&self) -> Result<DatabaseTransaction, StoreError> {
        self.begin_by(&self.write).await
    }

    /// Begins a transaction for a heartbeat, which does not queue behind other writes of this
    /// process. On SQLite, which has only one node, the single writer serves callers in order.
    pub(crate) async fn begin_heartbeat(&self) -> Result<DatabaseTransaction, StoreError> {
        self.begin_by(&self.write.for_heartbeats()).await
    }

    async fn begin_by(&self, link: &DatabaseLink) -> Result<DatabaseTransaction, StoreError> {
        self.at(FaultPoint::Begin).await?;
        let options = TransactionOptions {
            sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate),
            ..TransactionOptions::default()
        };
        let transaction = link.begin(options).await?;
        if link.is_for_callers() && self.dialect.is_postgres() {
            transaction.execute_unprepared("SET LOCAL lock_timeout = '1500ms'").await?;
        }
        Ok(transaction)
    }

    /// The connection for reading which nodes are alive. It does not queue behind other readers.
    pub(crate) fn heartbeats(&self) -> DatabaseLink {
        if self.dialect.is_postgres() { self.write.for_heartbeats() } else { self.read.clone() }
    }

    /// Commits a transaction, and wakes the followers of the change feed.
    pub async fn commit(&self, transaction: DatabaseTransaction) -> Result<(), StoreError> {
        self.commit_unseen(transaction).await?;
        self.changes.wake();
        Ok(())
    }

    /// Executes one statement that writes rows and returns some, as a transaction of its own in one
    /// round trip. Wakes the followers of the change feed.
    pub(crate) async fn write_rows(
        &self,
        statement: Statement,
    ) -> Result<Vec<QueryResult>, StoreError> {
        self.at(FaultPoint::Begin).await?;
        let rows = self.write.write_rows(statement).await?;
        self.at(FaultPoint::Committed).await?;
        self.changes.wake();
        Ok(rows)
    }

    /// Begins a hand-off. [`Store::commit_after_handoffs`] waits until the hand-off has ended.
    pub async fn begin_handoff(&self) -> Result<DatabaseTransaction, StoreError> {
        let transaction = self.begin().await?;
        if self.dialect.is_postgres() {
            handoff_lock::share(&transaction).await?;
        }
        Ok(transaction)
    }

    /// Commits a change that stops schedules from firing as before. Hand-offs that have read the
    /// old state finish before the commit, and later ones start after it. Once this returns, no run
    /// starts from the old state. On SQLite, the single writer already ensures that.
    pub async fn commit_after_handoffs(
        &self,
        transaction: DatabaseTransaction,
    ) -> Result<(), StoreError> {
        if self.dialect.is_postgres() {
            handoff_lock::take(&transaction).await?;
        }
        self.commit(transaction).await
    }

    /// Commits changes that have no followers: heartbeats, lease terms, and removals.
    pub(crate) async fn commit_unseen(
        &self,
        transaction: DatabaseTransaction,
    ) -> Result<(), StoreError> {
        self.at(FaultPoint::Commit).await?;
        transaction.commit().await?;
        self.at(FaultPoint::Committed).await
    }

    async fn at(&self, edge: FaultPoint) -> Result<(), StoreError> {
        match &self.faults {
            None => Ok(()),
            Some(faults) => faults.at(edge).await,
        }
    }

    /// The same store, with faults injected at the edges of its transactions and in its statements.
    /// For simulations.
    #[doc(hidden)]
    pub fn with_faults(mut self, faults: Faults) -> Self {
        self.dialect = self.dialect.with_faults(faults.clone());
        self.faults = Some(faults);
        self
    }

    /// The same store, whose leases and heartbeats follow `clock` instead of the database's clock.
    /// For tests that move the time.
    pub fn with_lease_clock(mut self, clock: Clock) -> Self {
        self.dialect = self.dialect.with_clock(clock);
        self
    }

    /// The same store, which reports the text of each statement to `observer`.
    /// For tests that count statements.
    pub fn with_observer(self, observer: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.with_stopwatch(move |sql, _| observer(sql))
    }

    /// The same store, which reports each statement and its duration to `observer`.
    /// For measurements.
    pub fn with_stopwatch(
        mut self,
        observer: impl Fn(&str, Duration) + Send + Sync + 'static,
    ) -> Self {
        let observer = Arc::new(observer);
        self.read = self.read.observed(observer.clone());
        self.api_read = self.api_read.observed(observer.clone());
        self.searching = self.searching.mapped(|link| link.observed(observer.clone()));
        self.write = self.write.observed(observer);
        self
    }

    /// Closes the connections after the statements in progress.
    pub async fn close(self) -> Result<(), StoreError> {
        self.write.for_heartbeats().close().await?;
        self.write.close().await?;
        self.searching.close().await?;
        self.api_read.close().await?;
        Ok(self.read.close().await?)
    }
}

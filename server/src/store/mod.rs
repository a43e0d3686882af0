//! The only SQL.
//!
//! - `db`: the way to the database, and what every statement is made of
//! - `ledger`: fires, runs and attempts, what is written on the way, and what is removed in the end
//! - `catalog`: schedules, workflows, calendars, secrets and what else is made by people and modules
//! - `people`: users, their sessions and tokens
//! - `cluster`: nodes, terms, calls
//! - `alerts`: alerts, messages and pings
//! - `workers`: programs that pull tasks, and what they pull
//! - `reads`: what the API shows: pages, batches, figures
//!
//! Callers name the modules alone: `store::schedules`, `store::claims`.
//!
//! One file a noun; a function's name carries its guard (`settle_if_held`), and where a guard can
//! fail, the answer says so instead of an error. The store knows rows and nothing of why they
//! change: what to write is decided by the engine, read by the API.
//!
//! One statement text serves SQLite and PostgreSQL. What differs stands in `db::dialect` (the
//! database's clock, row locks, the change feed's horizon) and in `db::bulk` (how a batch of rows
//! becomes a table `v` inside a statement), and nowhere else.
//!
//! On PostgreSQL the ledger is divided into days. A statement that finds its rows by key names
//! their days (`days`); one that looks for what is alive or due reads an index of each day that
//! holds only such rows, and costs little for a day without.
//!
//! The way to the database is `primary`: it follows a fail-over, and nothing waits for a server that
//! is gone.
//!
//! Writing goes through [`Store::begin`], or through `Store::write_rows` where one statement is
//! all. SQLite has one writer: its transactions are `BEGIN IMMEDIATE` on one connection of their own,
//! so writers queue in this process instead of spinning on the file's lock, while readers have
//! connections that never wait for them.

pub mod alerts;
mod catalog;
mod cluster;
mod db;
mod ledger;
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
pub use db::faults::{Edge, Faults};
pub use db::open::{Migrations, Options, Schema, file_of};
pub use db::page::{Page, Window};
pub use db::primary::{DatabaseTransaction, Link};
pub use db::sizes::Sizes;
pub use db::total::{MAX_TOTAL, Total};
pub use db::writes::Refusing;

use self::{
    db::{database_file::DatabaseFile, searching::Searching},
    ledger::handoff_lock,
};
use crate::clock::Clock;
pub use alerts::pings;
pub use catalog::{
    audit, calendars, expected, idempotency, modules, namespaces, quotas, schedules, secrets,
    workflows,
};
pub use cluster::{calls, leases, nodes};
pub(crate) use db::days;
pub use db::{backup, inspect, live};
pub use ledger::{
    ahead, backfill_runs, backfills, buffers, candidates, claims, clearing, counts, flows, groups,
    handoffs, holds, hours, instants, logs, queue, recoveries, retention, runs, spread, stats,
    untaken, zone_rules,
};
pub use people::{devices, feeds, guesses, memberships, sessions, tokens, user_settings, users};

/// A handle on the database. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    read: Link,
    /// What the API reads through. On SQLite it has connections of its own; on PostgreSQL the engine
    /// reads through those for writing.
    api_read: Link,
    /// How many transactions the API may have open on PostgreSQL.
    api_transactions: usize,
    write: Link,
    dialect: Dialect,
    changes: Changes,
    searching: Searching,
    /// None on PostgreSQL.
    file: Option<DatabaseFile>,
    /// Only in a simulation.
    faults: Option<Faults>,
}

impl Store {
    /// The connections for reading.
    pub fn read(&self) -> &Link {
        &self.read
    }

    /// The connections for what the engine asks again and again in the same words: on PostgreSQL
    /// those for writing, by which a statement is planned once. Over the ledger's days a plan takes
    /// a hundred times as long as its execution. Never asked by who has a transaction open, for that
    /// would be two of them at once.
    pub(crate) fn rounds(&self) -> &Link {
        if self.dialect.is_postgres() { &self.write } else { &self.read }
    }

    /// The same store for the API: however much that reads and writes, the engine has connections
    /// left. On PostgreSQL its transactions leave two of the connections for writing; SQLite's one
    /// writer has its turns in order. Clones share the limit, another call has another one. Callers
    /// rather have no answer than a late one: an outage of the database, and a lock that somebody
    /// keeps, are errors within two seconds.
    #[must_use]
    pub fn for_api(&self) -> Self {
        let write = match self.dialect.is_postgres() {
            true => self.write.clone().limited(self.api_transactions),
            false => self.write.clone(),
        };
        let (read, write) = (self.api_read.for_callers(), write.for_callers());
        Self { read, write, ..self.clone() }
    }

    /// The same store for probes, which read beside the engine and not beside the API.
    #[must_use]
    pub fn for_probes(&self) -> Self {
        Self { read: self.rounds().clone(), ..self.clone() }
    }

    /// What differs between the databases.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// The wake-up for whoever follows runs, schedules or logs.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Why the database takes nothing that is written, or keeps nothing of it, if that is so.
    pub fn refusing(&self) -> Option<Refusing> {
        let is_replaced = self.file.as_ref().is_some_and(DatabaseFile::is_replaced);
        if is_replaced { Some(Refusing::FileReplaced) } else { self.write.writes().refusing() }
    }

    /// Tells of each time that the connections were replaced: what failed may succeed by the new
    /// ones. Never, on SQLite.
    pub fn renewed(&self) -> Arc<Notify> {
        self.write.renewed()
    }

    /// Begins a transaction that will write.
    pub async fn begin(&self) -> Result<DatabaseTransaction, StoreError> {
        self.begin_by(&self.write).await
    }

    /// The same for a heartbeat, which waits for nothing else that this process writes. (SQLite's
    /// one writer has its turns in order, and its node is alone.)
    pub(crate) async fn begin_heartbeat(&self) -> Result<DatabaseTransaction, StoreError> {
        self.begin_by(&self.write.for_heartbeats()).await
    }

    async fn begin_by(&self, link: &Link) -> Result<DatabaseTransaction, StoreError> {
        self.at(Edge::Begin).await?;
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

    /// The way to hear who is alive, which waits for nobody who reads.
    pub(crate) fn heartbeats(&self) -> Link {
        if self.dialect.is_postgres() { self.write.for_heartbeats() } else { self.read.clone() }
    }

    /// Commits, and wakes the followers of the change feed.
    pub async fn commit(&self, transaction: DatabaseTransaction) -> Result<(), StoreError> {
        self.commit_unseen(transaction).await?;
        self.changes.wake();
        Ok(())
    }

    /// Executes one statement that writes rows and returns some: its own transaction, in one round
    /// trip. Wakes the followers of the change feed.
    pub(crate) async fn write_rows(
        &self,
        statement: Statement,
    ) -> Result<Vec<QueryResult>, StoreError> {
        self.at(Edge::Begin).await?;
        let rows = self.write.write_rows(statement).await?;
        self.at(Edge::Committed).await?;
        self.changes.wake();
        Ok(rows)
    }

    /// Begins a hand-off. [`Store::commit_after_handoffs`] waits for its end.
    pub async fn begin_handoff(&self) -> Result<DatabaseTransaction, StoreError> {
        let transaction = self.begin().await?;
        if self.dialect.is_postgres() {
            handoff_lock::share(&transaction).await?;
        }
        Ok(transaction)
    }

    /// Commits a change that stops schedules from firing as before. Hand-offs that have read the
    /// old state finish before the commit, later ones start after it: once this returns, no run
    /// starts from stale state. (On SQLite, the single writer already acts as that lock.)
    pub async fn commit_after_handoffs(
        &self,
        transaction: DatabaseTransaction,
    ) -> Result<(), StoreError> {
        if self.dialect.is_postgres() {
            handoff_lock::take(&transaction).await?;
        }
        self.commit(transaction).await
    }

    /// Commits what nobody follows: heartbeats, terms, and what is removed.
    pub(crate) async fn commit_unseen(
        &self,
        transaction: DatabaseTransaction,
    ) -> Result<(), StoreError> {
        self.at(Edge::Commit).await?;
        transaction.commit().await?;
        self.at(Edge::Committed).await
    }

    async fn at(&self, edge: Edge) -> Result<(), StoreError> {
        match &self.faults {
            None => Ok(()),
            Some(faults) => faults.at(edge).await,
        }
    }

    /// The same store with faults at the edges of its transactions and in its statements: for
    /// simulations.
    #[doc(hidden)]
    pub fn with_faults(mut self, faults: Faults) -> Self {
        self.dialect = self.dialect.with_faults(faults.clone());
        self.faults = Some(faults);
        self
    }

    /// The same store whose leases and heartbeats follow `clock` instead of the database's clock:
    /// for tests that move the time.
    pub fn with_lease_clock(mut self, clock: Clock) -> Self {
        self.dialect = self.dialect.with_clock(clock);
        self
    }

    /// The same store that tells `observer` of the text of each statement: for tests that count.
    pub fn with_observer(self, observer: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.with_stopwatch(move |sql, _| observer(sql))
    }

    /// The same store that tells `observer` of each statement and of how long it took: for
    /// measurements.
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

    /// Closes the connections after their statements in flight.
    pub async fn close(self) -> Result<(), StoreError> {
        self.write.for_heartbeats().close().await?;
        self.write.close().await?;
        self.searching.close().await?;
        self.api_read.close().await?;
        Ok(self.read.close().await?)
    }
}

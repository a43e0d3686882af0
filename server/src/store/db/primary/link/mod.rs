//! The links, through which the store reads and writes.
//!
//! - `answer`: sends a request, and waits for its answer

mod answer;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::FutureExt;
use sea_orm::{
    ConnAcquireErr, ConnectionTrait, DatabaseConnection, DbBackend, DbErr, ExecResult, QueryResult,
    Statement, TransactionOptions, TransactionTrait, sqlx::postgres::PgConnectOptions,
};
use tokio::{
    runtime::Handle,
    sync::{Notify, OwnedSemaphorePermit, Semaphore, watch},
};
use tokio_util::sync::CancellationToken;

use super::{
    pool::{ConnectionPurpose, DatabasePool, UsedPool},
    suspicion::{Suspicion, SuspicionReason},
    transaction::DatabaseTransaction,
};
use crate::{
    clock::Clock,
    store::{Options, db::writes::Writes},
};

/// How long closing waits for the last statements to end.
pub(super) const LAST_GRACE: Duration = Duration::from_secs(5);
/// The shortest time limit of a statement, even on a busy machine.
const MIN: Duration = Duration::from_secs(10);
/// How long a caller waits for a turn to write, or until the database is found again.
const CALLERS_TURN: Duration = Duration::from_millis(1_500);

/// The time limit of a statement.
/// A statement must end before another node takes over this node's work.
pub(super) fn longest(options: &Options) -> Duration {
    (options.idle_transaction * 2).max(MIN)
}

/// A function that is called with each statement's text and the time until its answer.
type Observer = Arc<dyn Fn(&str, Duration) + Send + Sync>;

/// A way to a pool that may be replaced at any time. Cheap to clone.
#[derive(Clone)]
pub struct DatabaseLink {
    pool: watch::Receiver<DatabasePool>,
    purpose: ConnectionPurpose,
    backend: DbBackend,
    /// How long a caller waits for a pool while no server is connected.
    patience: Duration,
    /// The time limit of an answer.
    /// After that time the statement fails, because its connection may be half open.
    longest: Duration,
    suspicion: Option<Arc<Suspicion>>,
    observer: Option<Observer>,
    writes: Arc<Writes>,
    /// Whether a caller waits for each answer and prefers an error to a late answer.
    is_for_callers: bool,
    /// The async runtime that opened the database.
    runtime: Option<Handle>,
    /// The limit on concurrent transactions, if it is lower than the number of connections.
    turns: Option<Arc<Semaphore>>,
}

impl fmt::Debug for DatabaseLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseLink").field("backend", &self.backend).finish_non_exhaustive()
    }
}

impl DatabaseLink {
    /// A link to a pool that is never replaced.
    pub(in crate::store) fn fixed(connection: DatabaseConnection) -> Self {
        let backend = connection.get_database_backend();
        let lost = CancellationToken::new();
        let [reading, writing, beating] = [connection.clone(), connection.clone(), connection];
        let pool = DatabasePool { reading, writing, beating, server: None, lost, generation: 0 };
        let (_, pool) = watch::channel(pool);
        let (patience, longest) = (Duration::ZERO, Duration::MAX);
        let (purpose, writes) = (ConnectionPurpose::Reading, Arc::default());
        Self {
            pool,
            purpose,
            backend,
            patience,
            longest,
            suspicion: None,
            observer: None,
            writes,
            is_for_callers: false,
            runtime: Handle::try_current().ok(),
            turns: None,
        }
    }

    /// A link to the pools that a keeper publishes.
    pub(super) fn kept(
        pool: watch::Receiver<DatabasePool>,
        purpose: ConnectionPurpose,
        options: &Options,
        suspicion: Arc<Suspicion>,
    ) -> Self {
        let backend = DbBackend::Postgres;
        let (patience, longest) = (options.acquire_timeout, longest(options));
        let (suspicion, writes) = (Some(suspicion), Arc::default());
        Self {
            pool,
            purpose,
            backend,
            patience,
            longest,
            suspicion,
            observer: None,
            writes,
            is_for_callers: false,
            runtime: Handle::try_current().ok(),
            turns: None,
        }
    }

    /// The link for heartbeats to the same database.
    /// The results of its writes also show whether the database accepts writes.
    pub(in crate::store) fn for_heartbeats(&self) -> Self {
        Self { purpose: ConnectionPurpose::Beating, ..self.clone() }
    }

    /// The same link for API callers: it reports an outage as an error within two seconds.
    pub(in crate::store) fn for_callers(&self) -> Self {
        let patience = self.patience.min(CALLERS_TURN);
        Self { is_for_callers: true, patience, ..self.clone() }
    }

    /// The same link, which reports each statement to `observer`.
    pub(in crate::store) fn observed(self, observer: Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// The same link, with a limit on concurrent transactions.
    pub(in crate::store) fn limited(self, transactions: usize) -> Self {
        Self { turns: Some(Arc::new(Semaphore::new(transactions))), ..self }
    }

    /// Waits until the limit permits another transaction, at most as long as for a connection.
    async fn turn(&self) -> Result<Option<OwnedSemaphorePermit>, DbErr> {
        let Some(turns) = &self.turns else { return Ok(None) };
        let turn = Clock::system().timeout(self.patience, turns.clone().acquire_owned()).await;
        match turn {
            Ok(Ok(turn)) => Ok(Some(turn)),
            Ok(Err(_)) | Err(_) => Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)),
        }
    }

    /// Whether an API caller waits for each answer.
    pub(in crate::store) fn is_for_callers(&self) -> bool {
        self.is_for_callers
    }

    /// The record of whether writes through this link succeed.
    pub(in crate::store) fn writes(&self) -> &Writes {
        &self.writes
    }

    /// Notifies of each pool that replaces another, because failed operations may succeed on it.
    pub(in crate::store) fn renewed(&self) -> Arc<Notify> {
        self.suspicion.as_ref().map(|suspicion| suspicion.renewed.clone()).unwrap_or_default()
    }

    /// Checks whether the database answers.
    pub async fn ping(&self) -> Result<(), DbErr> {
        let ask = |connection: DatabaseConnection| async move { connection.ping().await }.boxed();
        self.ask(ask).await.map(|((), _)| ())
    }

    /// Begins a transaction.
    pub(in crate::store) async fn begin(
        &self,
        options: TransactionOptions,
    ) -> Result<DatabaseTransaction, DbErr> {
        let begin = |connection: DatabaseConnection| {
            async move { connection.begin_with_options(options).await }.boxed()
        };
        let begun = async {
            let turn = self.turn().await?;
            Ok((self.ask(begin).await?, turn))
        };
        let begun = if self.is_for_callers {
            // Either all connections for writing are in use,
            // or another process uses SQLite's only writer.
            let begun = Clock::system().timeout(CALLERS_TURN, begun).await;
            begun.unwrap_or(Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)))
        } else {
            begun.await
        };
        let ((inner, pool), turn) = begun.inspect_err(|error| self.writes.failed(error))?;
        let held = UsedPool { lost: pool.lost, generation: pool.generation };
        Ok(DatabaseTransaction::new(inner, self.clone(), held, turn))
    }

    /// Executes one statement that writes rows, as a transaction of its own.
    pub(in crate::store) async fn write_rows(
        &self,
        statement: Statement,
    ) -> Result<Vec<QueryResult>, DbErr> {
        let rows = self.query_all_raw(statement).await;
        match &rows {
            Ok(rows) if !rows.is_empty() => self.writes.taken(),
            Ok(_) => {}
            Err(error) => self.writes.failed(error),
        }
        rows
    }

    /// Reports a reason to search for the primary to the keeper.
    pub(in crate::store) fn suspect(&self, reason: SuspicionReason, held: &UsedPool) {
        if let Some(suspicion) = &self.suspicion {
            suspicion.raise(reason, held.generation);
        }
    }

    /// How to connect to the current server; `None` on SQLite.
    pub(in crate::store) async fn server(
        &self,
    ) -> Result<Option<(PgConnectOptions, UsedPool)>, DbErr> {
        let pool = self.current().await?;
        let held = UsedPool { lost: pool.lost, generation: pool.generation };
        Ok(pool.server.map(|server| (server, held)))
    }

    /// Closes the pool after the statements in progress. The pool is no longer replaced.
    pub(in crate::store) async fn close(self) -> Result<(), DbErr> {
        if let Some(suspicion) = &self.suspicion {
            suspicion.closed.cancel();
        }
        let connection = self.pool.borrow().connection(self.purpose).clone();
        // A half-open connection would never close on its own.
        Clock::system().timeout(LAST_GRACE, connection.close()).await.unwrap_or(Ok(()))
    }

    /// The text of a statement; `None` if there is no observer.
    pub(super) fn text(&self, statement: &Statement) -> Option<String> {
        self.observer.is_some().then(|| statement.sql.clone())
    }

    /// Reports a statement to the observer.
    pub(super) async fn observe<T>(
        &self,
        text: Option<String>,
        answer: impl Future<Output = T>,
    ) -> T {
        let (Some(observer), Some(text)) = (&self.observer, text) else { return answer.await };
        let start = Clock::system().instant();
        let answer = answer.await;
        observer(&text, start.elapsed());
        answer
    }
}

#[async_trait]
impl ConnectionTrait for DatabaseLink {
    fn get_database_backend(&self) -> DbBackend {
        self.backend
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let ask = |connection: DatabaseConnection| {
            let statement = statement.clone();
            async move { connection.execute_raw(statement).await }.boxed()
        };
        let answer = self.observe(self.text(&statement), self.ask(ask)).await;
        answer.map(|(answer, _)| answer)
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        let ask = |connection: DatabaseConnection| {
            let sql = sql.to_owned();
            async move { connection.execute_unprepared(&sql).await }.boxed()
        };
        self.ask(ask).await.map(|(answer, _)| answer)
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        let ask = |connection: DatabaseConnection| {
            let statement = statement.clone();
            async move { connection.query_one_raw(statement).await }.boxed()
        };
        let answer = self.observe(self.text(&statement), self.ask(ask)).await;
        answer.map(|(answer, _)| answer)
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let ask = |connection: DatabaseConnection| {
            let statement = statement.clone();
            async move { connection.query_all_raw(statement).await }.boxed()
        };
        let answer = self.observe(self.text(&statement), self.ask(ask)).await;
        answer.map(|(answer, _)| answer)
    }
}

//! What the store reads and writes through.

use std::{
    fmt, io,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures::{FutureExt, future::BoxFuture};
use sea_orm::{
    ConnAcquireErr, ConnectionTrait, DatabaseConnection, DbBackend, DbErr, ExecResult, QueryResult,
    RuntimeErr, Statement, TransactionOptions, TransactionTrait,
    sqlx::{self, postgres::PgConnectOptions},
};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::{clock::Clock, store::Options};

/// A statement that waits for its answer so long is a reason to look whether its server is still
/// the one to ask.
const SLOW: Duration = Duration::from_secs(5);
/// How long the end of the last statements is waited for.
const LAST_GRACE: Duration = Duration::from_secs(5);
/// A statement is given so much time at least, on the busiest of machines.
const LEAST: Duration = Duration::from_secs(10);

/// The connections of the moment.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) reading: DatabaseConnection,
    pub(super) writing: DatabaseConnection,
    /// How to reach the server once more; none on SQLite.
    pub(super) server: Option<PgConnectOptions>,
    /// Cancelled when this life of the server is given up: whoever waits for it is told.
    pub(super) lost: CancellationToken,
    /// Counts the pools.
    pub(super) generation: u64,
}

/// What connections are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Use {
    Reading,
    Writing,
}

impl Pool {
    fn connection(&self, purpose: Use) -> &DatabaseConnection {
        match purpose {
            Use::Reading => &self.reading,
            Use::Writing => &self.writing,
        }
    }
}

/// Why to look for the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store) enum Reason {
    /// It is time: another server may have been promoted.
    Routine,
    /// An answer takes long, or there is no connection to be had.
    Silence,
    /// The server refuses to be written.
    ReadOnly,
    /// A connection broke, or a statement waited for longer than any may.
    Broken,
    /// The server answers nothing on a connection that had nothing to do: others are deaf, too.
    Deaf,
}

/// Tells the keeper.
#[derive(Debug, Default)]
pub(super) struct Suspicion {
    reason: Mutex<Option<Reason>>,
    raised: Notify,
    /// The pool in use: what is said of an earlier one is settled.
    pub(super) generation: AtomicU64,
    /// Cancelled when the store is closed.
    pub(super) closed: CancellationToken,
}

impl Suspicion {
    pub(super) fn raise(&self, reason: Reason, generation: u64) {
        if generation < self.generation.load(Ordering::Relaxed) {
            return;
        }
        let mut raised = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        *raised = (*raised).max(Some(reason));
        drop(raised);
        self.raised.notify_one();
    }

    /// Waits for the next one.
    pub(super) async fn raised(&self) -> Reason {
        loop {
            if let Some(reason) = self.take() {
                return reason;
            }
            self.raised.notified().await;
        }
    }

    /// Forgets what was raised until now.
    pub(super) fn take(&self) -> Option<Reason> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Which pool something was asked through.
#[derive(Clone, Debug)]
pub(in crate::store) struct Held {
    /// Cancelled when its server is given up.
    pub(in crate::store) lost: CancellationToken,
    generation: u64,
}

/// Told of each statement, and of how long its answer took.
type Observer = Arc<dyn Fn(&str, Duration) + Send + Sync>;

/// A pool that may be replaced by another one at any time. Cheap to clone.
#[derive(Clone)]
pub struct Link {
    pool: watch::Receiver<Pool>,
    purpose: Use,
    backend: DbBackend,
    /// How long to wait for a pool while there is none that leads anywhere.
    patience: Duration,
    /// A statement that is not answered for so long fails: its connection may be half open.
    longest: Duration,
    suspicion: Option<Arc<Suspicion>>,
    observer: Option<Observer>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("backend", &self.backend).finish_non_exhaustive()
    }
}

impl Link {
    /// To a pool that is never replaced.
    pub(in crate::store) fn fixed(connection: DatabaseConnection) -> Self {
        let backend = connection.get_database_backend();
        let lost = CancellationToken::new();
        let (reading, writing) = (connection.clone(), connection);
        let (_, pool) =
            watch::channel(Pool { reading, writing, server: None, lost, generation: 0 });
        let (patience, longest) = (Duration::ZERO, Duration::MAX);
        let purpose = Use::Reading;
        Self { pool, purpose, backend, patience, longest, suspicion: None, observer: None }
    }

    /// To the pool that a keeper publishes.
    pub(super) fn kept(
        pool: watch::Receiver<Pool>,
        purpose: Use,
        options: &Options,
        suspicion: Arc<Suspicion>,
    ) -> Self {
        let backend = DbBackend::Postgres;
        // What a node that counts as dead was waiting for, another one has taken over.
        let longest = (options.idle_transaction * 2).max(LEAST);
        let patience = options.acquire_timeout;
        let suspicion = Some(suspicion);
        Self { pool, purpose, backend, patience, longest, suspicion, observer: None }
    }

    /// The same link that tells `observer` of each statement.
    pub(in crate::store) fn observed(self, observer: Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Whether the database answers.
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
        let (inner, pool) = self.ask(begin).await?;
        let held = Held { lost: pool.lost, generation: pool.generation };
        Ok(DatabaseTransaction { inner, link: self.clone(), held })
    }

    /// Says that the keeper should look for the primary.
    pub(in crate::store) fn suspect(&self, reason: Reason, held: &Held) {
        if let Some(suspicion) = &self.suspicion {
            suspicion.raise(reason, held.generation);
        }
    }

    /// How to reach the server of the moment; none on SQLite.
    pub(in crate::store) async fn server(&self) -> Result<Option<(PgConnectOptions, Held)>, DbErr> {
        let pool = self.current().await?;
        let held = Held { lost: pool.lost, generation: pool.generation };
        Ok(pool.server.map(|server| (server, held)))
    }

    /// Closes the pool after its statements in flight; it is not replaced any more.
    pub(in crate::store) async fn close(self) -> Result<(), DbErr> {
        if let Some(suspicion) = &self.suspicion {
            suspicion.closed.cancel();
        }
        let connection = self.pool.borrow().connection(self.purpose).clone();
        // A connection that is half open would be waited for without end.
        Clock::system().timeout(LAST_GRACE, connection.close()).await.unwrap_or(Ok(()))
    }

    /// The pool of the moment; while its server is lost, the next one, if that comes in time.
    async fn current(&self) -> Result<Pool, DbErr> {
        let pool = self.pool.borrow().clone();
        if !pool.lost.is_cancelled() {
            return Ok(pool);
        }
        let mut pools = self.pool.clone();
        let found = pools.wait_for(|pool| !pool.lost.is_cancelled());
        match Clock::system().timeout(self.patience, found).await {
            Ok(Ok(pool)) => Ok(pool.clone()),
            Ok(Err(_)) | Err(_) => {
                if let Some(suspicion) = &self.suspicion {
                    suspicion.raise(Reason::Broken, pool.generation);
                }
                Err(lost())
            }
        }
    }

    /// Asks through the pool of the moment; once more if it was replaced before there was a
    /// connection to be had, for then nothing was sent.
    async fn ask<T>(
        &self,
        ask: impl Fn(DatabaseConnection) -> BoxFuture<'static, Result<T, DbErr>> + Send + Sync,
    ) -> Result<(T, Pool), DbErr> {
        loop {
            let pool = self.current().await?;
            let held = Held { lost: pool.lost.clone(), generation: pool.generation };
            let asked = ask(pool.connection(self.purpose).clone());
            match self.answer(&held, asked).await {
                Err(DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed))
                    if self.pool.borrow().generation > pool.generation => {}
                answer => return answer.map(|answer| (answer, pool)),
            }
        }
    }

    /// Waits for an answer, but not for a server that is lost.
    async fn answer<T>(
        &self,
        held: &Held,
        answer: impl Future<Output = Result<T, DbErr>>,
    ) -> Result<T, DbErr> {
        let Some(suspicion) = &self.suspicion else { return answer.await };
        let clock = Clock::system();
        let mut answer = pin!(answer);
        let early = tokio::select! {
            biased;
            answer = &mut answer => Some(answer),
            () = held.lost.cancelled() => Some(Err(lost())),
            () = clock.sleep(SLOW) => None,
        };
        let answer = match early {
            Some(answer) => answer,
            None => {
                suspicion.raise(Reason::Silence, held.generation);
                tokio::select! {
                    biased;
                    answer = &mut answer => answer,
                    () = held.lost.cancelled() => Err(lost()),
                    () = clock.sleep(self.longest - SLOW) => {
                        suspicion.raise(Reason::Broken, held.generation);
                        Err(lost())
                    }
                }
            }
        };
        if let Err(error) = &answer
            && !held.lost.is_cancelled()
            && let Some(reason) = reason(error)
        {
            suspicion.raise(reason, held.generation);
        }
        answer
    }

    /// The statement's text, if somebody wants to know it.
    fn text(&self, statement: &Statement) -> Option<String> {
        self.observer.is_some().then(|| statement.sql.clone())
    }

    /// Tells the observer of a statement.
    async fn observe<T>(&self, text: Option<String>, answer: impl Future<Output = T>) -> T {
        let (Some(observer), Some(text)) = (&self.observer, text) else { return answer.await };
        let start = Clock::system().instant();
        let answer = answer.await;
        observer(&text, start.elapsed());
        answer
    }
}

#[async_trait]
impl ConnectionTrait for Link {
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

/// A transaction that does not wait for a server that is lost. Rolled back when it is dropped.
#[derive(Debug)]
pub struct DatabaseTransaction {
    inner: sea_orm::DatabaseTransaction,
    link: Link,
    held: Held,
}

impl DatabaseTransaction {
    /// Commits. After an error that the connection broke, it may have been committed or not.
    pub async fn commit(self) -> Result<(), DbErr> {
        self.link.answer(&self.held, self.inner.commit()).await
    }

    /// Takes everything back.
    pub async fn rollback(self) -> Result<(), DbErr> {
        self.link.answer(&self.held, self.inner.rollback()).await
    }
}

#[async_trait]
impl ConnectionTrait for DatabaseTransaction {
    fn get_database_backend(&self) -> DbBackend {
        self.link.backend
    }

    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        let text = self.link.text(&statement);
        let answer = self.link.answer(&self.held, self.inner.execute_raw(statement));
        self.link.observe(text, answer).await
    }

    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.link.answer(&self.held, self.inner.execute_unprepared(sql)).await
    }

    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        let text = self.link.text(&statement);
        let answer = self.link.answer(&self.held, self.inner.query_one_raw(statement));
        self.link.observe(text, answer).await
    }

    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        let text = self.link.text(&statement);
        let answer = self.link.answer(&self.held, self.inner.query_all_raw(statement));
        self.link.observe(text, answer).await
    }
}

/// The error of whoever waited for a server that does not answer any more.
fn lost() -> DbErr {
    let error = io::Error::new(
        io::ErrorKind::ConnectionAborted,
        "the database does not answer; looking for its primary",
    );
    DbErr::Conn(RuntimeErr::SqlxError(Arc::new(sqlx::Error::Io(error))))
}

/// Whether an error is a reason to look for the primary.
fn reason(error: &DbErr) -> Option<Reason> {
    if matches!(error, DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)) {
        return Some(Reason::Silence);
    }
    let (DbErr::Conn(error) | DbErr::Exec(error) | DbErr::Query(error)) = error else {
        return None;
    };
    let RuntimeErr::SqlxError(error) = error else { return None };
    of_driver(error)
}

/// The same for an error of the driver itself.
pub(in crate::store) fn of_driver(error: &sqlx::Error) -> Option<Reason> {
    match error.as_database_error() {
        Some(error) => of_code(error.code()?.as_ref()),
        None => matches!(
            error,
            sqlx::Error::Io(_)
                | sqlx::Error::Tls(_)
                | sqlx::Error::Protocol(_)
                | sqlx::Error::WorkerCrashed
        )
        .then_some(Reason::Broken),
    }
}

fn of_code(code: &str) -> Option<Reason> {
    match code {
        // read_only_sql_transaction: a standby.
        "25006" => Some(Reason::ReadOnly),
        // admin_shutdown, crash_shutdown, cannot_connect_now.
        "57P01" | "57P02" | "57P03" => Some(Reason::Broken),
        // connection_exception.
        code if code.starts_with("08") => Some(Reason::Broken),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_connection_is_a_reason_to_look_and_a_bad_statement_is_none() {
        assert_eq!(reason(&lost()), Some(Reason::Broken));
        assert_eq!(of_code("25006"), Some(Reason::ReadOnly));
        assert_eq!(of_code("57P01"), Some(Reason::Broken));
        for code in ["23505", "40001", "55P03", "42P01"] {
            assert_eq!(of_code(code), None, "{code}");
        }
        assert_eq!(reason(&DbErr::Custom("x".to_owned())), None);
    }

    #[tokio::test]
    async fn the_gravest_reason_is_kept() {
        let suspicion = Suspicion::default();
        suspicion.raise(Reason::Broken, 0);
        suspicion.raise(Reason::Silence, 0);
        assert_eq!(suspicion.raised().await, Reason::Broken);
        assert_eq!(suspicion.take(), None);
        suspicion.generation.store(1, Ordering::Relaxed);
        suspicion.raise(Reason::Broken, 0);
        assert_eq!(suspicion.take(), None, "of a pool that is replaced");
    }
}

//! What the store reads and writes through.

use std::{fmt, future::poll_fn, pin::pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::{FutureExt, future::BoxFuture};
use sea_orm::{
    ConnAcquireErr, ConnectionTrait, DatabaseConnection, DbBackend, DbErr, ExecResult, QueryResult,
    Statement, TransactionOptions, TransactionTrait, sqlx::postgres::PgConnectOptions,
};
use tokio::{
    runtime::{EnterGuard, Handle},
    sync::{Notify, OwnedSemaphorePermit, Semaphore, watch},
};
use tokio_util::sync::CancellationToken;

use super::{
    suspicion::{Reason, Suspicion, lost, reason},
    transaction::DatabaseTransaction,
};
use crate::{
    clock::Clock,
    store::{Options, db::writes::Writes},
};

/// A statement that waits for its answer so long is a reason to look whether its server is still
/// the one to ask.
const SLOW: Duration = Duration::from_secs(5);
/// How long the end of the last statements is waited for.
pub(super) const LAST_GRACE: Duration = Duration::from_secs(5);
/// A statement is given so much time at least, on the busiest of machines.
const MIN: Duration = Duration::from_secs(10);

/// A caller who waits for an answer as long as this has the database asked whether it is there: a
/// statement may take long, a database that is away answers nothing.
const CALLERS_PATIENCE: Duration = Duration::from_secs(1);
/// How long the answer to that may take.
const PROBE: Duration = Duration::from_millis(500);
/// How long a caller waits for a turn to write, or for the database to be found again.
const CALLERS_TURN: Duration = Duration::from_millis(1_500);

/// How long a statement is waited for: what a node that counts as dead was waiting for, another one
/// has taken over.
pub(super) fn longest(options: &Options) -> Duration {
    (options.idle_transaction * 2).max(MIN)
}

/// The connections of the moment.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) reading: DatabaseConnection,
    pub(super) writing: DatabaseConnection,
    /// One connection that nothing else waits for; on SQLite the one that writes.
    pub(super) beating: DatabaseConnection,
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
    /// Saying that the node lives, and hearing who else does.
    Beating,
}

impl Pool {
    fn connection(&self, purpose: Use) -> &DatabaseConnection {
        match purpose {
            Use::Reading => &self.reading,
            Use::Writing => &self.writing,
            Use::Beating => &self.beating,
        }
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
    writes: Arc<Writes>,
    /// Whether somebody waits for each answer, and rather has none than a late one.
    is_for_callers: bool,
    /// The one that opened the database.
    runtime: Option<Handle>,
    /// Transactions that may be open at once, where that is fewer than connections.
    turns: Option<Arc<Semaphore>>,
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
        let [reading, writing, beating] = [connection.clone(), connection.clone(), connection];
        let pool = Pool { reading, writing, beating, server: None, lost, generation: 0 };
        let (_, pool) = watch::channel(pool);
        let (patience, longest) = (Duration::ZERO, Duration::MAX);
        let (purpose, writes) = (Use::Reading, Arc::default());
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

    /// To the pool that a keeper publishes.
    pub(super) fn kept(
        pool: watch::Receiver<Pool>,
        purpose: Use,
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

    /// The way of heartbeats to the same place: what becomes of them counts like all that is
    /// written.
    pub(in crate::store) fn for_heartbeats(&self) -> Self {
        Self { purpose: Use::Beating, ..self.clone() }
    }

    /// The same link for callers: an outage is an error within two seconds.
    pub(in crate::store) fn for_callers(&self) -> Self {
        let patience = self.patience.min(CALLERS_TURN);
        Self { is_for_callers: true, patience, ..self.clone() }
    }

    /// The same link that tells `observer` of each statement.
    pub(in crate::store) fn observed(self, observer: Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// The same link with at most so many transactions at once.
    pub(in crate::store) fn limited(self, transactions: usize) -> Self {
        Self { turns: Some(Arc::new(Semaphore::new(transactions))), ..self }
    }

    /// Waits until one more transaction may be open, as long as for a connection.
    async fn turn(&self) -> Result<Option<OwnedSemaphorePermit>, DbErr> {
        let Some(turns) = &self.turns else { return Ok(None) };
        let turn = Clock::system().timeout(self.patience, turns.clone().acquire_owned()).await;
        match turn {
            Ok(Ok(turn)) => Ok(Some(turn)),
            Ok(Err(_)) | Err(_) => Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)),
        }
    }

    /// Whether somebody waits for each answer.
    pub(in crate::store) fn is_for_callers(&self) -> bool {
        self.is_for_callers
    }

    /// What became of what was written through it.
    pub(in crate::store) fn writes(&self) -> &Writes {
        &self.writes
    }

    /// Tells of each pool that takes the place of another one: what failed may succeed by it.
    pub(in crate::store) fn renewed(&self) -> Arc<Notify> {
        self.suspicion.as_ref().map(|suspicion| suspicion.renewed.clone()).unwrap_or_default()
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
        let begun = async {
            let turn = self.turn().await?;
            Ok((self.ask(begin).await?, turn))
        };
        let begun = if self.is_for_callers {
            // All connections that write are taken, or SQLite's one writer is another process.
            let begun = Clock::system().timeout(CALLERS_TURN, begun).await;
            begun.unwrap_or(Err(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)))
        } else {
            begun.await
        };
        let ((inner, pool), turn) = begun.inspect_err(|error| self.writes.failed(error))?;
        let held = Held { lost: pool.lost, generation: pool.generation };
        Ok(DatabaseTransaction::new(inner, self.clone(), held, turn))
    }

    /// Carries out one statement that writes rows, a transaction by itself.
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
            let asked = self.at_home(ask(pool.connection(self.purpose).clone()));
            match self.answer(&held, asked).await {
                Err(DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed))
                    if self.pool.borrow().generation > pool.generation => {}
                answer => return answer.map(|answer| (answer, pool)),
            }
        }
    }

    /// Polls as if inside the runtime that opened the database. A connection that is made by that is
    /// driven there: it does not hang on how busy the runtime is that happened to ask first.
    pub(super) async fn at_home<T>(&self, asked: impl Future<Output = T>) -> T {
        let mut asked = pin!(asked);
        poll_fn(|cx| {
            let _home = self.enter_home();
            asked.as_mut().poll(cx)
        })
        .await
    }

    /// Enters the runtime that opened the database, until what is given back is dropped.
    pub(super) fn enter_home(&self) -> Option<EnterGuard<'_>> {
        self.runtime.as_ref().map(Handle::enter)
    }

    /// Waits for an answer, but not for a server that is lost. A caller waits for no server that
    /// answers nothing at all.
    pub(super) async fn answer<T>(
        &self,
        held: &Held,
        answer: impl Future<Output = Result<T, DbErr>>,
    ) -> Result<T, DbErr> {
        if !self.is_for_callers || self.suspicion.is_none() {
            return self.answer_by_keeper(held, answer).await;
        }
        let clock = Clock::system();
        let mut answer = pin!(self.answer_by_keeper(held, answer));
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            () = clock.sleep(CALLERS_PATIENCE) => {}
        }
        let beating = self.pool.borrow().beating.clone();
        // In a box: each statement's future would have room for this one, which few need.
        let probe = async move { beating.ping().await }.boxed();
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            probed = clock.timeout(PROBE, self.at_home(probe)) => if !matches!(probed, Ok(Ok(()))) {
                return Err(lost());
            },
        }
        answer.await
    }

    async fn answer_by_keeper<T>(
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
    pub(super) fn text(&self, statement: &Statement) -> Option<String> {
        self.observer.is_some().then(|| statement.sql.clone())
    }

    /// Tells the observer of a statement.
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

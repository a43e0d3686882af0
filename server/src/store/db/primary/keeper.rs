//! Opens the pool of connections, and replaces it when there is a reason.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use sea_orm::{
    DatabaseConnection, DbErr, RuntimeErr, SqlxPostgresConnector,
    sqlx::{
        self, ConnectOptions,
        postgres::{PgConnectOptions, PgPoolOptions},
    },
};
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{
    address::{Address, Host},
    link::{DatabaseLink, LAST_GRACE, longest},
    pool::{ConnectionPurpose, DatabasePool},
    search::{HostAnswer, PrimaryServer, ask_all, choose, reasons},
    suspicion::{Suspicion, SuspicionReason},
    warm::warm,
};
use crate::{clock::Clock, store::Options};

/// Number of connections that stay open: as many as the engine uses at once.
const KEPT_OPEN: u32 = 4;
/// How often the keeper searches for a primary while there is none.
/// This is also the minimum interval between two checks.
const PAUSE: Duration = Duration::from_millis(250);
/// The interval of regular checks if there are several hosts.
const ROUND: Duration = Duration::from_secs(5);
/// Connections to a healthy server are replaced only if they are at least this old.
const MIN_AGE: Duration = Duration::from_secs(2);
/// How long a replaced pool stays open, so that callers that
/// have already obtained it can still use it.
const AFTERGLOW: Duration = Duration::from_secs(1);

/// Finds the primary, opens connections to it for reading and for writing,
/// and follows the primary until the last link is dropped.
pub(in crate::store) async fn open(
    address: Address,
    options: &Options,
) -> Result<(DatabaseLink, DatabaseLink), DbErr> {
    let suspicion = Arc::new(Suspicion::default());
    let (server, pool) = find(&address, options, &suspicion).await?;
    let (pools, pool) = watch::channel(pool);
    let link = |purpose| DatabaseLink::kept(pool.clone(), purpose, options, suspicion.clone());
    let links = (link(ConnectionPurpose::Reading), link(ConnectionPurpose::Writing));
    let (options, suspicion) = (options.clone(), suspicion.clone());
    let (since, retired) = (Clock::system().instant(), None);
    tokio::spawn(
        PrimaryKeeper { address, options, server, pools, suspicion, since, retired }.keep(),
    );
    Ok(links)
}

/// Finds the primary, and opens one temporary connection to it.
pub(in crate::store) async fn open_one(
    address: &Address,
    options: &Options,
) -> Result<DatabaseConnection, DbErr> {
    let suspicion = Arc::new(Suspicion::default());
    let one = |server: PrimaryServer| {
        let host = &address.hosts[server.host];
        let suspicion = &suspicion;
        let session = session(&host.options, options, ConnectionPurpose::Reading);
        async move { pool(&session, options, 1, suspicion, 0).await }
    };
    found(address, options, one).await.map(|(_, connection)| connection)
}

async fn find(
    address: &Address,
    options: &Options,
    suspicion: &Arc<Suspicion>,
) -> Result<(PrimaryServer, DatabasePool), DbErr> {
    let all = |server: PrimaryServer| {
        let lost = CancellationToken::new();
        connect(&address.hosts[server.host], options, suspicion, lost, 0)
    };
    found(address, options, all).await
}

/// Searches for the primary until `connect` has connected to one.
async fn found<T, F>(
    address: &Address,
    options: &Options,
    connect: impl Fn(PrimaryServer) -> F,
) -> Result<(PrimaryServer, T), DbErr>
where
    F: Future<Output = Result<T, DbErr>>,
{
    let clock = Clock::system();
    let start = clock.instant();
    loop {
        let answers = ask_all(address).await;
        let is_over = start.elapsed() >= options.acquire_timeout;
        if let Some(server) = choose(&answers, None) {
            match connect(server).await {
                Ok(connected) => return Ok((server, connected)),
                Err(error) if is_over => return Err(error),
                Err(_) => {}
            }
        } else if is_over || !answers.iter().any(HostAnswer::may_change) {
            return Err(DbErr::Conn(RuntimeErr::Internal(reasons(address, &answers))));
        }
        clock.sleep(PAUSE).await;
    }
}

/// Opens the pools. Half of the connections are for writing, so that readers never keep the engine
/// from writing. Transactions are never nested, so each needs only one connection. One connection
/// is reserved for heartbeats: a node that writes a lot must not be declared dead because of that.
async fn connect(
    host: &Host,
    options: &Options,
    suspicion: &Arc<Suspicion>,
    lost: CancellationToken,
    generation: u64,
) -> Result<DatabasePool, DbErr> {
    let writers = (options.connections / 2).max(1);
    let readers = options.connections.saturating_sub(writers + 1).max(1);
    let to_write = session(&host.options, options, ConnectionPurpose::Writing);
    // Reads wait for locks on tables only until the lock timeout.
    let to_read =
        session(&host.options, options, ConnectionPurpose::Reading).options([LOCK_TIMEOUT]);
    let to_beat = session(&host.options, options, ConnectionPurpose::Beating);
    let writing = pool(&to_write, options, writers, suspicion, generation).await?;
    let reading = pool(&to_read, options, readers, suspicion, generation).await?;
    let beating = pool(&to_beat, options, 1, suspicion, generation).await?;
    Ok(DatabasePool { reading, writing, beating, server: Some(to_read), lost, generation })
}

async fn pool(
    session: &PgConnectOptions,
    options: &Options,
    connections: u32,
    suspicion: &Arc<Suspicion>,
    generation: u64,
) -> Result<DatabaseConnection, DbErr> {
    let suspicion = suspicion.clone();
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        // The first fires of a storm must not wait until a connection opens.
        .min_connections(connections.min(KEPT_OPEN))
        .acquire_timeout(options.acquire_timeout)
        .test_before_acquire(false)
        // A server that was unreachable may come back as a standby, with the same address.
        .after_connect(move |connection, _| {
            let suspicion = suspicion.clone();
            Box::pin(async move {
                let question = sqlx::query_scalar("SELECT pg_is_in_recovery()").persistent(false);
                if !question.fetch_one(&mut *connection).await? {
                    warm(connection, Clock::system().now()).await;
                    return Ok(());
                }
                suspicion.raise(SuspicionReason::ReadOnly, generation);
                Err(sqlx::Error::Protocol("the server is a standby".to_owned()))
            })
        })
        .connect_with(session.clone())
        .await
        .map_err(|error| DbErr::Conn(RuntimeErr::SqlxError(Arc::new(error))))?;
    Ok(SqlxPostgresConnector::from_sqlx_postgres_pool(pool))
}

/// The settings of every session. Carillon's statements are short. But PostgreSQL considers a plan
/// across the ledger's days expensive enough for JIT compilation, which then takes up to a second.
const ALWAYS: [(&str, &str); 5] = [
    ("jit", "off"),
    // Notices are not needed, and the driver's check whether
    // they are logged can swallow the next log line.
    ("client_min_messages", "warning"),
    // The server must notice if this machine disappears.
    ("tcp_keepalives_idle", "60"),
    ("tcp_keepalives_interval", "10"),
    ("tcp_keepalives_count", "3"),
];

/// The settings for writes, which find their rows by key, a few hundred at a time.
/// By default, PostgreSQL scans a table of ten thousand rows completely for them. It would also
/// plan each statement for the keys of its batch, although their number does not affect the plan.
/// A generic plan takes a third of the time, even the first time.
const BY_KEYS: [(&str, &str); 3] = [
    ("enable_seqscan", "off"),
    ("random_page_cost", "1.1"),
    ("plan_cache_mode", "force_generic_plan"),
];

/// The session settings of a connection, by its purpose.
fn session(
    host: &PgConnectOptions,
    options: &Options,
    purpose: ConnectionPurpose,
) -> PgConnectOptions {
    // A node that is frozen or cut off inside a transaction must not keep its locks.
    let idle = options.idle_transaction.as_millis().to_string();
    let idle = [("idle_in_transaction_session_timeout", idle)];
    let session = host.clone().disable_statement_logging().options(ALWAYS).options(idle);
    match purpose {
        ConnectionPurpose::Reading | ConnectionPurpose::Beating => session,
        ConnectionPurpose::Writing => session.options(BY_KEYS),
    }
}

/// How long a reading statement, or one on behalf of an API caller, waits for a lock.
const LOCK_TIMEOUT: (&str, &str) = ("lock_timeout", "1500ms");

struct PrimaryKeeper {
    address: Address,
    options: Options,
    server: PrimaryServer,
    pools: watch::Sender<DatabasePool>,
    suspicion: Arc<Suspicion>,
    /// When the pool was opened.
    since: Instant,
    /// The task that closes the previous pool. It ends when that pool is no longer in use.
    retired: Option<JoinHandle<()>>,
}

impl PrimaryKeeper {
    async fn keep(mut self) {
        let suspicion = self.suspicion.clone();
        let pools = self.pools.clone();
        let work = async {
            loop {
                let reason = self.next_reason().await;
                self.look(reason).await;
                Clock::system().sleep(PAUSE).await;
            }
        };
        tokio::select! {
            () = work => {}
            () = suspicion.closed.cancelled() => {}
            () = pools.closed() => {}
        }
    }

    /// Waits for the next reason to check. An old primary that a promotion left behind may answer
    /// as usual, so other hosts, if there are any, are queried at intervals.
    async fn next_reason(&self) -> SuspicionReason {
        let raised = self.suspicion.raised();
        if self.address.hosts.len() == 1 {
            return raised.await;
        }
        Clock::system().timeout(ROUND, raised).await.unwrap_or(SuspicionReason::Routine)
    }

    /// Checks the servers. Returns when the pool is connected to a primary.
    async fn look(&mut self, mut reason: SuspicionReason) {
        let mut in_vain = 0;
        let began = Clock::system().instant();
        loop {
            let answers = ask_all(&self.address).await;
            // This check also covers reasons that were raised in the meantime.
            reason = self.suspicion.graver(reason);
            let is_lost = self.pools.borrow().lost.is_cancelled();
            match choose(&answers, Some(self.server)) {
                Some(server) if server == self.server && !is_lost => {
                    let is_done = match reason {
                        SuspicionReason::Routine
                        | SuspicionReason::Silence
                        | SuspicionReason::ReadOnly => true,
                        // The server is healthy. If one connection to it broke,
                        // others may have broken, and each would cost a failed statement.
                        // So all are replaced, without disturbing callers that wait for an answer.
                        SuspicionReason::Broken => {
                            !self.may_exchange() || self.replace(server, false).await
                        }
                        SuspicionReason::Deaf => self.replace(server, true).await,
                    };
                    if is_done {
                        return;
                    }
                }
                Some(server) => {
                    let is_there = self.replace(server, true).await;
                    if is_there {
                        let host = &self.address.hosts[server.host].name;
                        let seconds = began.elapsed().as_secs();
                        tracing::warn!(host, seconds, "the database answers again");
                        return;
                    }
                }
                None if !is_lost => {
                    // The server has no free connections.
                    // It may well be the current server, and healthy.
                    if answers.get(self.server.host) == Some(&HostAnswer::Full) {
                        return;
                    }
                    in_vain += 1;
                    // A single check may fail for another reason.
                    if reason >= SuspicionReason::Broken || in_vain >= 2 {
                        let why = reasons(&self.address, &answers);
                        tracing::error!(why, "the database does not answer");
                        self.pools.borrow().lost.cancel();
                    }
                }
                None => {}
            }
            Clock::system().sleep(PAUSE).await;
        }
    }

    /// Whether connections to a healthy server may be replaced. This must not happen as often
    /// as single connections break, nor while the previously replaced ones are in use.
    /// Otherwise statements that wait inside the server would use up all of its connections.
    fn may_exchange(&self) -> bool {
        let is_retired = self.retired.as_ref().is_none_or(JoinHandle::is_finished);
        is_retired && self.since.elapsed() >= MIN_AGE
    }

    /// Connects all links to `server`.
    /// With `gives_up`, callers that wait for an answer on the old connections get an error.
    async fn replace(&mut self, server: PrimaryServer, gives_up: bool) -> bool {
        let host = &self.address.hosts[server.host];
        let (lost, generation) = {
            let old = self.pools.borrow();
            // The token belongs to the life of the server: callers that still use the old
            // connections are notified together with the others.
            let lost = if gives_up { CancellationToken::new() } else { old.lost.clone() };
            (lost, old.generation + 1)
        };
        let pool = connect(host, &self.options, &self.suspicion, lost, generation).await;
        let pool = match pool {
            Ok(pool) => pool,
            Err(error) => {
                let host = &host.name;
                // The connection is tried again and again, and the loss itself was logged.
                tracing::debug!(host, %error, "failed to connect to the database");
                return false;
            }
        };
        // This also discards reports about the old pool.
        self.suspicion.generation.store(generation, Ordering::Relaxed);
        self.suspicion.take();
        let old = self.pools.send_replace(pool);
        if gives_up {
            old.lost.cancel();
        }
        self.suspicion.renewed.notify_waiters();
        self.server = server;
        self.since = Clock::system().instant();
        // Callers that were told that no answer will come need no more time.
        let patience = if gives_up { LAST_GRACE } else { longest(&self.options) };
        self.retired = Some(tokio::spawn(async move {
            let clock = Clock::system();
            clock.sleep(AFTERGLOW).await;
            // Closing waits for the last of the old connections.
            // For a dead connection that wait would never end, because the driver pings
            // a connection when it is returned to the pool.
            let closed = async {
                tokio::join!(old.reading.close(), old.writing.close(), old.beating.close())
            };
            let _ = clock.timeout(patience, closed).await;
        }));
        true
    }
}

//! Opens the pool, and replaces it when there is reason to.

use std::{sync::Arc, time::Duration};

use sea_orm::{
    DatabaseConnection, DbErr, RuntimeErr, SqlxPostgresConnector,
    sqlx::{
        self, ConnectOptions,
        postgres::{PgConnectOptions, PgPoolOptions},
    },
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    address::{Address, Host},
    link::{Link, Pool, Reason, Suspicion, Use},
    search::{Answer, Server, ask_all, choose, reasons},
};
use crate::{clock::Clock, store::Options};

/// Connections that stay open: as many as the engine works with at once.
const KEPT_OPEN: u32 = 4;
/// While there is no primary, one is looked for this often; at most one look follows another so
/// soon.
const PAUSE: Duration = Duration::from_millis(250);
/// A pool that was replaced is closed when whoever took it has come so far as to use it.
const AFTERGLOW: Duration = Duration::from_secs(1);

/// Finds the primary, opens connections to it for reading and for writing, and keeps to it until
/// the last link is dropped.
pub(in crate::store) async fn open(
    address: Address,
    options: &Options,
) -> Result<(Link, Link), DbErr> {
    let suspicion = Arc::new(Suspicion::default());
    let (server, pool) = find(&address, options, &suspicion).await?;
    let (pools, pool) = watch::channel(pool);
    let link = |purpose| Link::kept(pool.clone(), purpose, options, suspicion.clone());
    let links = (link(Use::Reading), link(Use::Writing));
    let (options, suspicion) = (options.clone(), suspicion.clone());
    tokio::spawn(Keeper { address, options, server, pools, suspicion }.keep());
    Ok(links)
}

/// Finds the primary and opens one connection to it, for now.
pub(in crate::store) async fn open_one(
    address: &Address,
    options: &Options,
) -> Result<DatabaseConnection, DbErr> {
    let suspicion = Arc::new(Suspicion::default());
    let one = |server: Server| {
        let host = &address.hosts[server.host];
        let suspicion = &suspicion;
        async move { pool(&session(&host.options, options, Use::Reading), options, 1, suspicion).await }
    };
    found(address, options, one).await.map(|(_, connection)| connection)
}

async fn find(
    address: &Address,
    options: &Options,
    suspicion: &Arc<Suspicion>,
) -> Result<(Server, Pool), DbErr> {
    let all = |server: Server| connect(&address.hosts[server.host], options, suspicion);
    found(address, options, all).await
}

/// Looks for the primary until `connect` has connected to it.
async fn found<T, F>(
    address: &Address,
    options: &Options,
    connect: impl Fn(Server) -> F,
) -> Result<(Server, T), DbErr>
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
        } else if is_over || !answers.iter().any(Answer::may_change) {
            return Err(DbErr::Conn(RuntimeErr::Internal(reasons(address, &answers))));
        }
        clock.sleep(PAUSE).await;
    }
}

/// Half of the connections are for writing, so that readers never keep the engine from it.
async fn connect(
    host: &Host,
    options: &Options,
    suspicion: &Arc<Suspicion>,
) -> Result<Pool, DbErr> {
    let writers = (options.connections / 2).max(2);
    let readers = options.connections.saturating_sub(writers).max(1);
    let to_write = session(&host.options, options, Use::Writing);
    let to_read = session(&host.options, options, Use::Reading);
    let writing = pool(&to_write, options, writers, suspicion).await?;
    let reading = pool(&to_read, options, readers, suspicion).await?;
    Ok(Pool { reading, writing, server: Some(to_read), lost: CancellationToken::new() })
}

async fn pool(
    session: &PgConnectOptions,
    options: &Options,
    connections: u32,
    suspicion: &Arc<Suspicion>,
) -> Result<DatabaseConnection, DbErr> {
    let suspicion = suspicion.clone();
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        // The first fires of a storm are not to wait for a connection.
        .min_connections(connections.min(KEPT_OPEN))
        .acquire_timeout(options.acquire_timeout)
        .test_before_acquire(false)
        // A server that went away may come back as a standby, under the same address.
        .after_connect(move |connection, _| {
            let suspicion = suspicion.clone();
            Box::pin(async move {
                let question = sqlx::query_scalar("SELECT pg_is_in_recovery()").persistent(false);
                if !question.fetch_one(connection).await? {
                    return Ok(());
                }
                suspicion.raise(Reason::ReadOnly);
                Err(sqlx::Error::Protocol("the server is a standby".to_owned()))
            })
        })
        .connect_with(session.clone())
        .await
        .map_err(|error| DbErr::Conn(RuntimeErr::SqlxError(Arc::new(error))))?;
    Ok(SqlxPostgresConnector::from_sqlx_postgres_pool(pool))
}

/// Our statements are short. A plan over the ledger's days looks dear enough to PostgreSQL to be
/// compiled first, which then takes up to a second.
const ALWAYS: [(&str, &str); 4] = [
    ("jit", "off"),
    // When this machine is gone, the server is to find out.
    ("tcp_keepalives_idle", "60"),
    ("tcp_keepalives_interval", "10"),
    ("tcp_keepalives_count", "3"),
];

/// What we write we find by keys, some hundred at a time. Left to itself PostgreSQL reads a table of
/// some ten thousand rows as a whole for them.
const BY_KEYS: [(&str, &str); 2] = [("enable_seqscan", "off"), ("random_page_cost", "1.1")];

/// What each connection asks of its server.
fn session(host: &PgConnectOptions, options: &Options, purpose: Use) -> PgConnectOptions {
    // A node that is frozen or cut off inside a transaction must not keep its locks.
    let idle = options.idle_transaction.as_millis().to_string();
    let idle = [("idle_in_transaction_session_timeout", idle)];
    let session = host.clone().disable_statement_logging().options(ALWAYS).options(idle);
    match purpose {
        Use::Reading => session,
        Use::Writing => session.options(BY_KEYS),
    }
}

struct Keeper {
    address: Address,
    options: Options,
    server: Server,
    pools: watch::Sender<Pool>,
    suspicion: Arc<Suspicion>,
}

impl Keeper {
    async fn keep(mut self) {
        let suspicion = self.suspicion.clone();
        let pools = self.pools.clone();
        let work = async {
            loop {
                let reason = suspicion.raised().await;
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

    /// Comes back when the pool leads to a primary.
    async fn look(&mut self, reason: Reason) {
        loop {
            let answers = ask_all(&self.address).await;
            let is_lost = self.pools.borrow().lost.is_cancelled();
            match choose(&answers, Some(self.server)) {
                Some(server) if server == self.server && !is_lost => {
                    let is_done = match reason {
                        Reason::Silence | Reason::ReadOnly => true,
                        // The server is well. If a connection to it broke, others may have, and
                        // each would cost a failed statement: they are exchanged, and whoever waits
                        // for an answer is not disturbed.
                        Reason::Broken => self.replace(server, false).await,
                        Reason::Deaf => self.replace(server, true).await,
                    };
                    if is_done {
                        return;
                    }
                }
                Some(server) => {
                    let is_there = self.replace(server, true).await;
                    if is_there {
                        let host = &self.address.hosts[server.host].name;
                        tracing::warn!(host, "the database is there; going on with this server");
                        return;
                    }
                }
                // It may well be the one that we have.
                None if answers.get(self.server.host) == Some(&Answer::Full) => return,
                None if !is_lost => {
                    let why = reasons(&self.address, &answers);
                    tracing::error!(why, "the database is lost; looking for its primary");
                    self.pools.borrow().lost.cancel();
                }
                None => {}
            }
            Clock::system().sleep(PAUSE).await;
        }
    }

    /// Leads everybody to `server`. `gives_up`: who waits for an answer by the connections of until
    /// now is told that there will be none.
    async fn replace(&mut self, server: Server, gives_up: bool) -> bool {
        // What was raised against the pool that goes is settled with it.
        self.suspicion.take();
        let host = &self.address.hosts[server.host];
        let pool = connect(host, &self.options, &self.suspicion).await;
        let pool = match pool {
            Ok(pool) => pool,
            Err(error) => {
                let host = &host.name;
                tracing::error!(host, "failed to connect to the database: {error}");
                return false;
            }
        };
        let old = self.pools.send_replace(pool);
        if gives_up {
            old.lost.cancel();
        }
        self.server = server;
        tokio::spawn(async move {
            Clock::system().sleep(AFTERGLOW).await;
            // They end with the last of their connections: nobody waits for that.
            let _ = tokio::join!(old.reading.close(), old.writing.close());
        });
        true
    }
}

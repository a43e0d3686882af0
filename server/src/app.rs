//! The server as a whole: its parts put together, started in order, stopped in order.
//!
//! The port comes first: a second server on the same machine must fail before it joins the nodes
//! under the first one's name. The end is the other way round: new work is refused, running work
//! gets its grace, and only then go the database and the telemetry.

use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use secrecy::ExposeSecret;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    api,
    clock::Clock,
    config::Config,
    engine::{self, Engine, EngineError, Signals, commands::Commands},
    store::{Migrations, Options, Store, StoreError},
    target::{Executor, Policy, TargetError},
    telemetry::Telemetry,
    web::{self, Web},
};

/// How many compiled timings are kept.
const TIMINGS: usize = 50_000;

/// Between these lies how long a transaction may be silent.
const LEAST_IDLE: Duration = Duration::from_secs(5);
const MOST_IDLE: Duration = Duration::from_secs(30);

/// Why the server could not start or go on. Messages read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The port cannot be had.
    #[error("listen on {listen}: {source}; {help}")]
    Listen {
        /// As configured.
        listen: SocketAddr,
        /// What the system says.
        source: io::Error,
        /// What to do.
        help: &'static str,
    },
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The certificates of those that targets are to trust cannot be read.
    #[error("read egress.ca_file '{}': {source}", path.display())]
    CaFile {
        /// As configured.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The targets cannot be carried out.
    #[error("set up the targets: {0}")]
    Target(#[from] TargetError),
    /// The engine cannot start or stop.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// HTTP broke off.
    #[error("serve HTTP: {0}")]
    Serve(#[source] io::Error),
}

/// A running server.
pub struct App {
    config: Arc<Config>,
    store: Store,
    clock: Clock,
    telemetry: Arc<Telemetry>,
    engine: Engine,
    commands: Commands,
    address: SocketAddr,
    /// Ends HTTP.
    stop: CancellationToken,
    http: JoinHandle<io::Result<()>>,
}

impl App {
    /// Takes the port, opens the database, starts the engine and answers requests.
    pub async fn start(
        config: Config,
        telemetry: Arc<Telemetry>,
        clock: Clock,
    ) -> Result<Self, AppError> {
        let listener = listen(config.listen).await?;
        let address = listener.local_addr().map_err(AppError::Serve)?;
        let executor = Arc::new(Executor::new(policy(&config)?, clock.clone())?);
        let store = Store::open(&database(&config)).await?;
        let config = Arc::new(config);

        let timings = Arc::new(timetable::Cache::new(TIMINGS));
        let signals = Signals::default();
        let commands = Commands::new(
            store.clone(),
            clock.clone(),
            timings.clone(),
            executor.clone(),
            signals.clone(),
        )
        .with_retention(retention(&config));
        let engine = Engine::start(
            settings(&config, address),
            store.clone(),
            clock.clone(),
            executor,
            timings,
            signals,
            telemetry.metrics().clone(),
        )
        .await?;

        let stop = CancellationToken::new();
        let cluster = engine.cluster();
        let commands = commands.with_cluster(cluster.clone());
        let schema = api::schema(commands.clone(), config.health.clone(), cluster.clone());
        let (asked, telemetry_of) = (store.clone(), telemetry.clone());
        let web = Web::new(asked, clock.clone(), config.clone(), telemetry_of, schema, cluster);
        let service = web::router(web).into_make_service_with_connect_info::<SocketAddr>();
        let http = axum::serve(listener, service)
            .with_graceful_shutdown(stop.clone().cancelled_owned())
            .into_future();
        tracing::info!(%address, database = %store.dialect().name(), "listening");
        Ok(Self {
            config,
            store,
            clock,
            telemetry,
            engine,
            commands,
            address,
            stop,
            http: tokio::spawn(http),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its database.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What people and tools may order of it.
    pub fn commands(&self) -> &Commands {
        &self.commands
    }

    /// Goes on until `stop` is ready or HTTP breaks off; then ends in good order.
    pub async fn run_until(mut self, stop: impl Future<Output = ()>) -> Result<(), AppError> {
        let broken = tokio::select! {
            () = stop => None,
            ended = &mut self.http => Some(ended),
        };
        let grace = self.config.shutdown_grace.0;
        tracing::info!(?grace, "stopping");
        self.stop.cancel();
        self.engine.shutdown(grace).await?;
        let served = match broken {
            Some(ended) => ended,
            // Requests are short; a connection that holds on longer is cut off with the process.
            None => self.clock.timeout(grace, self.http).await.unwrap_or(Ok(Ok(()))),
        };
        self.store.close().await?;
        let telemetry = self.telemetry;
        let _ = tokio::task::spawn_blocking(move || telemetry.shutdown()).await;
        match served {
            Ok(served) => served.map_err(AppError::Serve),
            Err(panicked) => Err(AppError::Serve(io::Error::other(panicked))),
        }
    }
}

/// How the configured database is opened.
pub fn database(config: &Config) -> Options {
    Options {
        migrations: if config.database.migrate { Migrations::Apply } else { Migrations::Refuse },
        connections: config.database.connections,
        // A node that counts as dead is to keep no locks, nor the row of a lease past its term; but
        // a short expiry must not end a transaction that is only slow.
        idle_transaction: (config.engine.heartbeat_expiry.0 / 2).clamp(LEAST_IDLE, MOST_IDLE),
        ..Options::new(config.database.url.expose_secret())
    }
}

async fn listen(listen: SocketAddr) -> Result<TcpListener, AppError> {
    TcpListener::bind(listen).await.map_err(|source| {
        let kind = source.kind();
        let help = if kind == io::ErrorKind::AddrInUse {
            "stop what listens there, or choose another port by --listen, CARILLON_LISTEN or \
             'listen' in the configuration file"
        } else if kind == io::ErrorKind::PermissionDenied {
            "choose a port above 1023 by --listen"
        } else {
            "choose an address of this machine by --listen"
        };
        AppError::Listen { listen, source, help }
    })
}

fn policy(config: &Config) -> Result<Policy, AppError> {
    let read = |path: &PathBuf| {
        std::fs::read_to_string(path)
            .map_err(|source| AppError::CaFile { path: path.clone(), source })
    };
    Ok(Policy {
        commands: config.allow_commands,
        private_addresses: config.egress.private_addresses,
        output_limit_bytes: usize::try_from(config.targets.output_limit_bytes)
            .unwrap_or(usize::MAX),
        ca_pem: config.egress.ca_file.as_ref().map(read).transpose()?,
    })
}

/// What becomes of old history.
pub fn retention(config: &Config) -> engine::Retention {
    let retention = &config.retention;
    engine::Retention {
        days: i32::try_from(retention.days).unwrap_or(i32::MAX),
        interval: retention.interval.0,
        answers: retention.idempotency.0,
    }
}

fn settings(config: &Config, address: SocketAddr) -> engine::Settings {
    let defaults = engine::Settings::default();
    engine::Settings {
        node_name: config.node_name(address),
        roles: config.node.roles,
        tags: config.node.tags.clone(),
        second_owner_after: config.cluster.second_owner_after.0,
        capacity: match config.node.capacity {
            Some(capacity) => usize::try_from(capacity).unwrap_or(usize::MAX),
            None => defaults.capacity,
        },
        heartbeat_interval: config.engine.heartbeat_interval.0,
        heartbeat_expiry: config.engine.heartbeat_expiry.0,
        recovery_interval: config.engine.recovery_interval.0,
        lost_after: config.engine.lost_after.0,
        retention: Some(retention(config)),
        ..defaults
    }
}

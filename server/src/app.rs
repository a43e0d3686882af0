//! The server as a whole: its parts put together, started in order, stopped in order.
//!
//! The port comes first: a second server on the same machine must fail before it joins the nodes
//! under the first one's name. The end is the other way round: new work is refused, running work
//! gets its grace, and only then go the database and the telemetry.

mod open_files;
mod own_key;
mod runtimes;
mod settings;

use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use open_files::raise_open_files;
use own_key::{make_own_key, with_own_key};
use runtimes::Runtimes;
use secrecy::{ExposeSecret, SecretString};
pub use settings::{database, quotas, retention};
use settings::{limits, policy, settings};
use tokio::{
    net::TcpListener,
    task::{JoinError, JoinHandle},
};
use tokio_util::sync::CancellationToken;

use crate::{
    access::{Elsewhere, oidc::Provider},
    api,
    beacon::{self, Beacon, BeaconError},
    clock::Clock,
    commands::Commands,
    config::{Backend, Config, NoToken, Role, UnreadFile},
    engine::{self, Engine, EngineError, Signals},
    store::{Options, Store, StoreError},
    target::{
        CommandPolicy, Executor, Fetcher, Mailer, Policy, TargetError, UserError, drop_dumpable,
    },
    telemetry::Telemetry,
    vault::{Key, NotAKey, Vault, VaultError},
    web::{self, Web},
};

/// How many compiled timings are kept.
const TIMINGS: usize = 50_000;

/// Where the address for HTTP is given.
const LISTEN: &str = "--listen, CARILLON_LISTEN or 'listen' in the configuration file";

/// Connections to the listener for probes.
const PROBES: usize = 64;

/// How long the last answers may take once all else has ended.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// How long after the grace the server has ended, whatever the database does.
const LAST_GRACE: Duration = Duration::from_millis(4_750);

/// Why the server could not start or go on. Messages read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The zone data that the settings name cannot be used.
    #[error(transparent)]
    ZoneData(#[from] timetable::ZoneDataError),
    /// The port cannot be had.
    #[error("listen on {listen}: {source}; {help}")]
    Listen {
        /// As configured.
        listen: SocketAddr,
        /// What the system says.
        source: io::Error,
        /// What to do.
        help: String,
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
    /// A file with a secret of the configuration cannot be read.
    #[error(transparent)]
    KeyFile(#[from] UnreadFile),
    /// Nor the token of whoever watches.
    #[error(transparent)]
    Watch(#[from] NoToken),
    /// What was given as one is none.
    #[error("use {field} as the key for secrets: {source}")]
    Key {
        /// The setting.
        field: &'static str,
        /// What is wrong.
        source: NotAKey,
    },
    /// There are secrets that cannot be opened.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The targets cannot be carried out.
    #[error("set up the targets: {0}")]
    Target(#[from] TargetError),
    /// Programs cannot run as the user that they are to run as.
    #[error(transparent)]
    User(#[from] UserError),
    /// The process cannot be made unreadable for the programs that it starts.
    #[error("close this process's memory to the programs of its user: {0}")]
    Dumpable(#[source] io::Error),
    /// The nodes' Redis is not to be had.
    #[error(transparent)]
    Beacon(#[from] BeaconError),
    /// The engine cannot start or stop.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// HTTP broke off.
    #[error("serve HTTP: {0}")]
    Serve(#[source] io::Error),
    /// The threads cannot be had.
    #[error("start the runtimes: {0}")]
    Runtime(#[source] io::Error),
    /// A part of the server has panicked.
    #[error("start or stop a part of the server: {0}")]
    Panicked(#[from] JoinError),
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
    /// Ends all of HTTP but probes.
    draining: CancellationToken,
    /// Ends HTTP.
    stop: CancellationToken,
    http: JoinHandle<io::Result<()>>,
    runtimes: Runtimes,
}

impl App {
    /// Takes the port, opens the database, starts the engine and answers requests.
    pub async fn start(
        config: Config,
        telemetry: Arc<Telemetry>,
        clock: Clock,
    ) -> Result<Self, AppError> {
        raise_open_files();
        // Before anything asks for a zone.
        if let Some(path) = &config.time.zone_data {
            let timetable::ZoneData { version, source } = timetable::use_zone_data(path)?;
            tracing::info!(version, %source, "zone data is in use");
        }
        let runtimes = Runtimes::start().map_err(AppError::Runtime)?;
        let (engine_runtime, edge) = (runtimes.engine(), runtimes.edge());
        let listener = edge.spawn(listen(LISTEN, config.listen)).await??;
        let address = listener.local_addr().map_err(AppError::Serve)?;
        let watched_at = config.watch.listen.map(|at| edge.spawn(listen("watch.listen", at)));
        let watched_at = match watched_at {
            Some(listener) => Some(listener.await??),
            None => None,
        };
        let vault = vault(&config)?;
        let policy = policy(&config)?;
        if policy.commands {
            shut_off(&policy.command)?;
        }
        let executor = Executor::new(policy, clock.clone())?.with_mailer(mailer(&config)?);
        let executor = Arc::new(executor);
        let counted = executor.clone();
        telemetry.metrics().brokers(move || counted.broker_counts());
        // Before the database: what is not there must leave nothing half done.
        let beacon = beacon(&config, &clock).await?;
        let options = Options { is_server: true, ..database(&config) };
        let store = engine_runtime.spawn(async move { Store::open(&options).await }).await??;
        vault.check(&store).await?;
        let vault = match vault.check_channels(store.read()).await {
            Ok(()) => make_own_key(vault, &config),
            Err(error) => {
                tracing::error!("messages to a channel wait: failed to {error}");
                vault
            }
        };
        let config = Arc::new(config);

        let timings = Arc::new(timetable::Cache::new(TIMINGS));
        let signals = Signals::default();
        let api_store = store.for_api();
        let commands = Commands::new(
            api_store.clone(),
            clock.clone(),
            timings.clone(),
            executor.clone(),
            signals.clone(),
        )
        .with_retention(retention(&config))
        .with_quotas(quotas(&config))
        .with_vault(vault.clone())
        .with_provider(Elsewhere::of(&config));
        let engine = Engine::start(
            engine::Settings { beacon, vault, ..settings(&config, address) },
            store.clone(),
            clock.clone(),
            executor,
            timings,
            signals,
            telemetry.metrics().clone(),
        );
        let engine = engine_runtime.spawn(engine).await??;

        let stop = CancellationToken::new();
        let cluster = engine.cluster();
        let commands = commands.with_cluster(cluster.clone());
        let schema = api::schema(
            commands.clone(),
            config.health.clone(),
            cluster.clone(),
            config.api.introspection,
        );
        let (asked, telemetry_of) = (api_store, telemetry.clone());
        let (clock_of, config_of) = (clock.clone(), config.clone());
        let asked_by = commands.clone();
        let web = Web::new(asked, clock_of, config_of, telemetry_of, schema, cluster, asked_by)
            .with_oidc(provider(&config, address, &clock)?)
            .with_watch(config.watch.token()?)
            .with_probed(store.for_probes());
        let draining = web.draining();
        edge.spawn(web.clone().sample_until(stop.clone()));
        edge.spawn(web.clone().watch_until(stop.clone()));
        if let Some(listener) = watched_at {
            let at = listener.local_addr().map_err(AppError::Serve)?;
            let limits = web::Limits::with_connections(PROBES);
            let front = web.probe_front(web::probe_router(web.clone()), limits, stop.clone());
            edge.spawn(front.serve(listener));
            tracing::info!(address = %at, "listening for probes");
        }
        let front = web.front(web::router(web.clone()), limits(&config), stop.clone());
        let http = edge.spawn(front.serve(listener));
        if let Some(fires) = config.canary.enabled
            && config.node.roles.has(Role::Scheduler)
        {
            engine_runtime.spawn(commands.clone().keep_canary_until(fires, stop.clone()));
        }
        tracing::info!(%address, database = %store.dialect().name(), "listening");
        Ok(Self {
            config,
            store,
            clock,
            telemetry,
            engine,
            commands,
            address,
            draining,
            stop,
            http,
            runtimes,
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
        let end = self.clock.deadline(grace.saturating_add(LAST_GRACE));
        // Probes are answered until the end: a node that drains is watched like any other.
        self.draining.cancel();
        let engine = self.engine;
        let ended = self.runtimes.engine().spawn(async move { engine.shutdown(grace).await });
        ended.await??;
        self.commands.executor.close();
        self.stop.cancel();
        let served = match broken {
            Some(ended) => ended,
            // Requests have had the time of the engine's end; a connection that holds on longer is
            // cut off with the process.
            None => {
                let served = self.clock.timeout(LAST_ANSWERS, self.http);
                end.limit(served).await.unwrap_or(Ok(Ok(Ok(())))).unwrap_or(Ok(Ok(())))
            }
        };
        match end.limit(self.store.close()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("failed to close the database: {error}"),
            Err(_) => tracing::warn!("the database did not answer when it was closed"),
        }
        let telemetry = self.telemetry;
        let _ = end.limit(tokio::task::spawn_blocking(move || telemetry.shutdown())).await;
        match served {
            Ok(served) => served.map_err(AppError::Serve),
            Err(panicked) => Err(AppError::Serve(io::Error::other(panicked))),
        }
    }
}

/// Keeps what this process holds from the programs that it starts, and says where that is not
/// possible.
fn shut_off(command: &CommandPolicy) -> Result<(), AppError> {
    drop_dumpable().map_err(AppError::Dumpable)?;
    match &command.user {
        Some(user) => tracing::info!(%user, "programs run as a user of their own"),
        None => tracing::warn!(
            help = "run the server as root, which starts programs as commands.user and nothing \
                    else as root; or take allow_commands away",
            "programs run as the server's own user: people who may edit tasks can read its \
             configuration, key files and database, and so become administrators"
        ),
    }
    Ok(())
}

/// The configured keys for secrets, or the one that the server made for itself.
pub fn vault(config: &Config) -> Result<Vault, AppError> {
    let read = |(field, text): (&'static str, Option<SecretString>)| {
        let text = text.as_ref().map(|text| Key::read(text.expose_secret()));
        text.transpose().map_err(|source| AppError::Key { field, source })
    };
    let secrets = with_own_key(config);
    let previous = read(secrets.previous()?)?;
    let current = read(secrets.current()?)?;
    Ok(current.map_or_else(Vault::default, |current| Vault::new(current, previous)))
}

/// The identity provider, if one is configured. It is reached by a policy of its own: it is its
/// operator who says where it is.
pub fn provider(
    config: &Config,
    address: SocketAddr,
    clock: &Clock,
) -> Result<Option<Provider>, AppError> {
    let Some(oidc) = &config.oidc else { return Ok(None) };
    let policy = policy(config)?;
    let policy = Policy { private_addresses: oidc.private_addresses, ..policy };
    let home = config.public_url.clone().unwrap_or_else(|| format!("http://{address}"));
    let (secret, fetcher) = (oidc.secret()?, Fetcher::new(&policy)?);
    Ok(Some(Provider::new(oidc.clone(), secret, home, fetcher, clock.clone())))
}

/// What sends mails, if a server for them is configured.
pub fn mailer(config: &Config) -> Result<Option<Mailer>, AppError> {
    Ok(Mailer::new(&config.smtp, policy(config)?.ca_pem.as_deref())?)
}

/// The way to Redis, where heartbeats are to go there.
pub async fn beacon(config: &Config, clock: &Clock) -> Result<Option<Beacon>, BeaconError> {
    let cluster = &config.cluster;
    let url = cluster.redis_url.clone().filter(|_| cluster.backend == Backend::Redis);
    let Some(url) = url else { return Ok(None) };
    let prefix = cluster.redis_prefix.clone();
    let expiry = config.engine.heartbeat_expiry.0;
    let patience = beacon::Patience::within(expiry);
    let options = beacon::Options { url, prefix, expiry, patience };
    let beacon = Beacon::connect(options, clock.clone()).await?;
    tracing::info!(redis = beacon.address(), "heartbeats go to Redis");
    Ok(Some(beacon))
}

async fn listen(setting: &'static str, listen: SocketAddr) -> Result<TcpListener, AppError> {
    TcpListener::bind(listen).await.map_err(|source| {
        let kind = source.kind();
        let help = if kind == io::ErrorKind::AddrInUse {
            "stop what listens there, or choose another port"
        } else if kind == io::ErrorKind::PermissionDenied {
            "choose a port above 1023"
        } else {
            "choose an address of this machine"
        };
        let help = format!("{help} by {setting}");
        AppError::Listen { listen, source, help }
    })
}

//! The server as a whole: its parts put together, started in order, stopped in order.
//!
//! The port comes first: a second server on the same machine must fail before it joins the nodes
//! under the first one's name. The end is the other way round: new work is refused, running work
//! gets its grace, and only then go the database and the telemetry.
//!
//! - `ports`: what it listens on; `parts`: what it is put together of
//! - `runtimes`: its threads; `settings`: what its parts are told of the configuration
//! - `own_key`: the key for secrets that it makes for itself; `open_files`: its limit of files

mod open_files;
mod own_key;
mod parts;
mod ports;
mod runtimes;
mod settings;

use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use open_files::raise_open_files;
use own_key::with_own_key;
use parts::AppParts;
use ports::Ports;
use runtimes::Runtimes;
use secrecy::{ExposeSecret, SecretString};
use settings::policy;
pub use settings::{database, quotas, retention};
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    access::oidc::Provider,
    beacon::{self, Beacon, BeaconError},
    clock::Clock,
    commands::Commands,
    config::{Backend, Config, NoToken, Role, UnreadFile},
    engine::{Engine, EngineError},
    store::{Store, StoreError},
    target::{Fetcher, Mailer, Policy, TargetError, UserError},
    telemetry::Telemetry,
    vault::{Key, NotAKey, Vault, VaultError},
};

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
    /// The certificate authorities that targets should trust cannot be read.
    #[error("read egress.ca_file '{}': {source}", path.display())]
    CaFile {
        /// As configured.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file that holds a secret of the configuration cannot be read.
    #[error(transparent)]
    KeyFile(#[from] UnreadFile),
    /// The token for monitoring cannot be read.
    #[error(transparent)]
    Watch(#[from] NoToken),
    /// A configured key is not a valid key.
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
    /// The targets cannot be set up.
    #[error("set up the targets: {0}")]
    Target(#[from] TargetError),
    /// Programs cannot run as the configured user.
    #[error(transparent)]
    User(#[from] UserError),
    /// The process cannot be made unreadable for the programs that it starts.
    #[error("close this process's memory to the programs of its user: {0}")]
    Dumpable(#[source] io::Error),
    /// The nodes' Redis is not reachable.
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
        use_zone_data(&config)?;
        let runtimes = Runtimes::start().map_err(AppError::Runtime)?;
        let ports = Ports::open(&config, runtimes.edge()).await?;
        let mut parts = AppParts::set_up(config, &telemetry, &clock, &runtimes).await?;
        let config = parts.config.clone();
        let store = parts.store.clone();
        let (engine, commands) = parts.start_engine(ports.address, &runtimes).await?;
        let stop = CancellationToken::new();
        let web = parts.web(ports.address, &engine, &commands)?;
        let (address, draining) = (ports.address, web.draining());
        let http = ports.serve(&web, &config, &stop, runtimes.edge())?;
        if let Some(fires) = config.canary.enabled
            && config.node.roles.has(Role::Scheduler)
        {
            let canary = commands.clone().keep_canary_until(fires, stop.clone());
            runtimes.engine().spawn(canary);
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

/// Reads the zone data that the settings name: before anything asks for a zone.
fn use_zone_data(config: &Config) -> Result<(), AppError> {
    if let Some(path) = &config.time.zone_data {
        let timetable::ZoneData { version, source } = timetable::use_zone_data(path)?;
        tracing::info!(version, %source, "zone data is in use");
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

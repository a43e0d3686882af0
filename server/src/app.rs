//! The server as a whole: assembles its parts, and starts and stops them in order.
//!
//! The server binds its port first, so that a second server on the same machine fails before it
//! joins the nodes under the first one's name. The shutdown goes in reverse: new work is refused,
//! running work gets its grace period, and then the database and the telemetry are closed.
//!
//! - `ports`: its listeners; `parts`: its components
//! - `runtimes`: its threads; `settings`: the configuration of its parts
//! - `own_key`: the key for secrets that it creates itself; `open_files`: its open-file limit

mod file_mode;
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
    config::{Backend, Config, NoToken, NodeRole, UnreadFile},
    engine::{Engine, EngineError},
    store::{Store, StoreError},
    target::{Fetcher, Mailer, Policy, TargetError, UserError},
    telemetry::Telemetry,
    vault::{EncryptionKey, NotAKey, Vault, VaultError},
};

/// Timeout for the last responses, once everything else has ended.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// The server ends at most this long after the grace period, whatever the database does.
const LAST_GRACE: Duration = Duration::from_millis(4_750);

/// Why the server could not start, or had to stop. Messages are printed after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The configured zone data cannot be used.
    #[error(transparent)]
    ZoneData(#[from] timetable::ZoneDataError),
    /// The port is not available.
    #[error("listen on {listen}: {source}; {help}")]
    Listen {
        /// The configured address.
        listen: SocketAddr,
        /// The system's error.
        source: io::Error,
        /// What to do about the problem.
        help: String,
    },
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The certificate authorities that targets should trust cannot be read.
    #[error("read egress.ca_file '{}': {source}", path.display())]
    CaFile {
        /// The configured path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file with a configured secret cannot be read.
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
        /// What is wrong with the key.
        source: NotAKey,
    },
    /// There are secrets that cannot be decrypted.
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
    /// Redis is configured but not reachable.
    #[error(transparent)]
    Beacon(#[from] BeaconError),
    /// The engine cannot start or stop.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// HTTP stopped unexpectedly.
    #[error("serve HTTP: {0}")]
    Serve(#[source] io::Error),
    /// The threads could not be created.
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
    /// Refuses all HTTP requests except those of probes and the reports of workers.
    draining: CancellationToken,
    /// Ends all HTTP connections.
    stop: CancellationToken,
    http: JoinHandle<io::Result<()>>,
    runtimes: Runtimes,
}

impl App {
    /// Binds the port, opens the database, starts the engine and answers requests.
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
            && config.node.roles.has(NodeRole::Scheduler)
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

    /// The address on which the app listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The app's database.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The commands that people and tools may call.
    pub fn commands(&self) -> &Commands {
        &self.commands
    }

    /// Runs until `stop` is ready or HTTP stops; then shuts down in order.
    pub async fn run_until(mut self, stop: impl Future<Output = ()>) -> Result<(), AppError> {
        let broken = tokio::select! {
            () = stop => None,
            ended = &mut self.http => Some(ended),
        };
        let grace = self.config.shutdown_grace.0;
        tracing::info!(?grace, "stopping");
        let end = self.clock.deadline(grace.saturating_add(LAST_GRACE));
        // Probes are answered until the end, because monitoring continues while a node drains, and
        // the reports of workers, because attempts of this node wait for them.
        self.draining.cancel();
        let engine = self.engine;
        let ended = self.runtimes.engine().spawn(async move { engine.shutdown(grace).await });
        ended.await??;
        self.commands.executor.close();
        self.stop.cancel();
        let served = match broken {
            Some(ended) => ended,
            // Requests in progress had as long as the engine needed to stop. A connection that
            // lasts longer is cut off with the process.
            None => {
                let served = self.clock.timeout(LAST_ANSWERS, self.http);
                end.limit(served).await.unwrap_or(Ok(Ok(Ok(())))).unwrap_or(Ok(Ok(())))
            }
        };
        match end.limit(self.store.close()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "failed to close the database"),
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

/// Reads the configured zone data. Must be called before anything needs a zone.
fn use_zone_data(config: &Config) -> Result<(), AppError> {
    if let Some(path) = &config.time.zone_data {
        let timetable::ZoneData { version, source } = timetable::use_zone_data(path)?;
        tracing::info!(version, %source, "zone data is in use");
    }
    Ok(())
}

/// The configured keys for secrets, or the one that the server created itself.
pub fn vault(config: &Config) -> Result<Vault, AppError> {
    let read = |(field, text): (&'static str, Option<SecretString>)| {
        let text = text.as_ref().map(|text| EncryptionKey::read(text.expose_secret()));
        text.transpose().map_err(|source| AppError::Key { field, source })
    };
    let secrets = with_own_key(config);
    let previous = read(secrets.previous()?)?;
    let current = read(secrets.current()?)?;
    Ok(current.map_or_else(Vault::default, |current| Vault::new(current, previous)))
}

/// The identity provider, if one is configured. Requests to it have their own egress policy,
/// because its operator decides where it runs.
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

/// The mailer, if a mail server is configured.
pub fn mailer(config: &Config) -> Result<Option<Mailer>, AppError> {
    Ok(Mailer::new(&config.smtp, policy(config)?.ca_pem.as_deref())?)
}

/// The connection to Redis, if heartbeats are configured to go there.
pub async fn beacon(config: &Config, clock: &Clock) -> Result<Option<Beacon>, BeaconError> {
    let cluster = &config.cluster;
    let url = cluster.redis_url.clone().filter(|_| cluster.backend == Backend::Redis);
    let Some(url) = url else { return Ok(None) };
    let prefix = cluster.redis_prefix.clone();
    let expiry = config.engine.heartbeat_expiry.0;
    let patience = beacon::Patience::within(expiry);
    let options = beacon::BeaconOptions { url, prefix, expiry, patience };
    let beacon = Beacon::connect(options, clock.clone()).await?;
    tracing::info!(redis = beacon.address(), "heartbeats go to Redis");
    Ok(Some(beacon))
}

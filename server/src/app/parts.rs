//! Assembles the server, from its settings to its engine and its API.

use std::{net::SocketAddr, sync::Arc};

use super::{
    AppError, beacon, database,
    file_mode::warn_of_readers,
    mailer,
    own_key::make_own_key,
    provider, quotas, retention,
    runtimes::Runtimes,
    settings::{policy, settings},
    vault,
};
use crate::{
    access::GroupGrantLimits,
    api,
    beacon::Beacon,
    clock::Clock,
    commands::Commands,
    config::Config,
    engine::{self, Engine, Signals},
    store::{Options, Store, backup},
    target::{CommandPolicy, Executor, drop_dumpable},
    telemetry::Telemetry,
    vault::Vault,
    web::Web,
};

/// How many compiled timings are cached.
const TIMINGS: usize = 50_000;

/// The parts that exist before the engine and the API.
pub(super) struct AppParts {
    pub(super) config: Arc<Config>,
    pub(super) store: Store,
    clock: Clock,
    telemetry: Arc<Telemetry>,
    executor: Arc<Executor>,
    vault: Vault,
    beacon: Option<Beacon>,
}

impl AppParts {
    /// Sets up targets, keys and heartbeats, and opens the database last: if a part is missing, the
    /// database must not be left half set up.
    pub(super) async fn set_up(
        config: Config,
        telemetry: &Arc<Telemetry>,
        clock: &Clock,
        runtimes: &Runtimes,
    ) -> Result<Self, AppError> {
        let (telemetry, clock) = (telemetry.clone(), clock.clone());
        let vault = vault(&config)?;
        let policy = policy(&config)?;
        if policy.commands {
            shut_off(&policy.command)?;
        }
        let executor = Executor::new(policy, clock.clone())?.with_mailer(mailer(&config)?);
        let executor = Arc::new(executor);
        let counted = executor.clone();
        telemetry.metrics().brokers(move || counted.broker_counts());
        let beacon = beacon(&config, &clock).await?;
        let options = Options { is_server: true, ..database(&config) };
        if let Ok(file) = backup::file_of(&options.url) {
            warn_of_readers(&file);
        }
        let opened = runtimes.engine().spawn(async move { Store::open(&options).await });
        let store = opened.await??;
        vault.check(&store).await?;
        let vault = match vault.check_channels(store.read()).await {
            Ok(()) => make_own_key(vault, &config),
            Err(error) => {
                tracing::error!(%error, "messages to a channel wait");
                vault
            }
        };
        let config = Arc::new(config);
        Ok(Self { config, store, clock, telemetry, executor, vault, beacon })
    }

    /// Starts the engine, and stores the parts through which commands reach it.
    pub(super) async fn start_engine(
        &mut self,
        address: SocketAddr,
        runtimes: &Runtimes,
    ) -> Result<(Engine, Commands), AppError> {
        let timings = Arc::new(timetable::Cache::new(TIMINGS));
        let signals = Signals::default();
        let commands = Commands::new(
            self.store.for_api(),
            self.clock.clone(),
            timings.clone(),
            self.executor.clone(),
            signals.clone(),
        )
        .with_retention(retention(&self.config))
        .with_quotas(quotas(&self.config))
        .with_vault(self.vault.clone())
        .with_provider(GroupGrantLimits::of(&self.config));
        let (vault, beacon) = (self.vault.clone(), self.beacon.take());
        let engine = Engine::start(
            engine::EngineSettings { beacon, vault, ..settings(&self.config, address) },
            self.store.clone(),
            self.clock.clone(),
            self.executor.clone(),
            timings,
            signals,
            self.telemetry.metrics().clone(),
        );
        let engine = runtimes.engine().spawn(engine).await??;
        let commands = commands.with_cluster(engine.cluster());
        Ok((engine, commands))
    }

    /// The HTTP service.
    pub(super) fn web(
        self,
        address: SocketAddr,
        engine: &Engine,
        commands: &Commands,
    ) -> Result<Web, AppError> {
        let Self { config, store, clock, telemetry, .. } = self;
        let cluster = engine.cluster();
        let schema = api::schema(
            commands.clone(),
            config.health.clone(),
            cluster.clone(),
            config.api.introspection,
        );
        let provider = provider(&config, address, &clock)?;
        let token = config.watch.token()?;
        let asked = commands.store.clone();
        let web = Web::new(asked, clock, config, telemetry, schema, cluster, commands.clone())
            .with_oidc(provider)
            .with_watch(token)
            .with_probed(store.for_probes());
        Ok(web)
    }
}

/// Protects the memory of this process from the programs that it starts. If that is impossible, it
/// logs so.
fn shut_off(command: &CommandPolicy) -> Result<(), AppError> {
    drop_dumpable().map_err(AppError::Dumpable)?;
    for (namespace, user) in &command.user_of {
        if let Some(user) = user {
            tracing::info!(%namespace, %user, "programs of a namespace run as a user of their own");
        }
    }
    match &command.user {
        Some(user) => tracing::info!(%user, "programs run as a user of their own"),
        None => tracing::warn!(
            help = "run the server as root, which starts programs as commands.user and nothing \
                    else as root; or remove allow_commands",
            "programs run as the server's own user: people who may edit tasks can read its \
             configuration, key files and database, and so become administrators"
        ),
    }
    Ok(())
}

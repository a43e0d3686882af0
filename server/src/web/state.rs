use std::{ops::Deref, sync::Arc};

use secrecy::SecretString;
use tokio::sync::Semaphore;

use super::{auth::Looks, console::Files, metrics::Sampler, watch::Watch};
use crate::{
    api,
    clock::Clock,
    config::Config,
    engine::{
        cluster::Cluster,
        commands::Commands,
        people::{Guesses, Holder, Limiter, oidc::Provider},
    },
    store::{Store, StoreError},
    telemetry::Telemetry,
};

/// Exports of the audit log under way at once.
const EXPORTS: usize = 2;

/// Calendars that are made at once.
const FEEDS: usize = 2;

/// What the handlers share. Cheap to clone: each request does so some ten times.
#[derive(Clone)]
pub struct Web(Arc<Parts>);

/// What that is.
#[derive(Clone)]
pub struct Parts {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) cluster: Cluster,
    pub(super) config: Arc<Config>,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) schema: api::Schema,
    pub(super) files: Files,
    pub(super) commands: Commands,
    /// Whose the tokens are that requests come with.
    pub(super) tokens: Arc<Looks<Option<Holder>, Arc<StoreError>>>,
    /// Guesses at passwords.
    pub(super) guesses: Arc<Guesses>,
    /// Guesses at the tokens of calendars.
    pub(super) feed_limiter: Arc<Limiter>,
    pub(super) sampler: Arc<Sampler>,
    pub(super) exports: Arc<Semaphore>,
    /// By whom people sign in, beside their passwords.
    pub(super) oidc: Option<Arc<Provider>>,
    pub(super) feeds: Arc<Semaphore>,
    /// Who may read the instruments.
    pub(super) watch: Watch,
}

impl Web {
    /// The state for a server with those parts.
    pub fn new(
        store: Store,
        clock: Clock,
        config: Arc<Config>,
        telemetry: Arc<Telemetry>,
        schema: api::Schema,
        cluster: Cluster,
        commands: Commands,
    ) -> Self {
        let files = Files::find(config.console.dist.as_deref());
        let exports = Arc::new(Semaphore::new(EXPORTS));
        let feeds = Arc::new(Semaphore::new(FEEDS));
        let sampler = Arc::new(Sampler::default());
        let guesses = commands.guesses();
        let feed_limiter = Arc::new(Limiter::new(clock.clone()));
        Self(Arc::new(Parts {
            store,
            clock,
            cluster,
            config,
            telemetry,
            schema,
            files,
            commands,
            // By the machine's own time, as those wait who change rights.
            tokens: Arc::new(Looks::new(Clock::system())),
            guesses,
            feed_limiter,
            sampler,
            exports,
            feeds,
            oidc: None,
            watch: Watch::default(),
        }))
    }

    /// The same for a server with an identity provider, if it has one.
    #[must_use]
    pub fn with_oidc(mut self, provider: Option<Provider>) -> Self {
        Arc::make_mut(&mut self.0).oidc = provider.map(Arc::new);
        self
    }

    /// The same for a server whose instruments are closed to those without that token.
    #[must_use]
    pub fn with_watch(mut self, token: Option<SecretString>) -> Self {
        Arc::make_mut(&mut self.0).watch = Watch::by(token);
        self
    }
}

impl Deref for Web {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

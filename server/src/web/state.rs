use std::{
    ops::Deref,
    sync::{Arc, atomic::AtomicBool},
};

use axum::Router;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    ConnectionLimits, Front, auth::LookupCache, console::Files, hosts::Hosts, memory::LastAnswer,
    metrics::FRESH, refusals::Refusals, sockets::Sockets, watch::ScrapeToken,
};
use crate::{
    access::{Guesses, Limiter, TokenHolder, oidc::Provider},
    api,
    bulkhead::Bulkhead,
    clock::Clock,
    commands::Commands,
    config::Config,
    engine::{cluster::Cluster, maintenance::health::Check},
    store::{Store, StoreError},
    telemetry::{Instruments, Sampled, Telemetry},
};

/// Maximum number of concurrent exports of the audit log: of all callers, and of each. An export
/// lasts as long as its caller reads.
const EXPORTS: usize = 6;
const EXPORTS_OF_CALLER: usize = 2;

/// Maximum number of concurrent health checks of a namespace or a tag, likewise.
const NARROWED: usize = 8;
const NARROWED_OF_CALLER: usize = 4;

/// Maximum number of calendars built at once: of all namespaces, and of each.
const FEEDS: usize = 6;
const FEEDS_OF_NAMESPACE: usize = 2;

/// The state that the handlers share. Cheap to clone, which each request does about ten times.
#[derive(Clone)]
pub struct Web(Arc<WebParts>);

/// The parts of the state.
#[derive(Clone)]
pub struct WebParts {
    pub(super) store: Store,
    /// The store that probes use.
    pub(super) probed: Store,
    pub(super) clock: Clock,
    pub(super) cluster: Cluster,
    pub(super) config: Arc<Config>,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) schema: api::Schema,
    pub(super) files: Files,
    pub(super) commands: Commands,
    /// The owners of the tokens in recent requests.
    pub(super) tokens: Arc<LookupCache<Option<TokenHolder>, Arc<StoreError>>>,
    /// Whether a user has signed in, or had a week to do so.
    pub(super) has_been_used: Arc<AtomicBool>,
    /// Counts guesses at passwords.
    pub(super) guesses: Arc<Guesses>,
    /// Counts guesses at the tokens of calendars.
    pub(super) feed_limiter: Arc<Limiter>,
    /// Limits the concurrent exports, by caller.
    pub(super) exports: Arc<Bulkhead<Uuid>>,
    /// The identity provider, if one is configured.
    pub(super) oidc: Option<Arc<Provider>>,
    /// Limits the feeds that are built at once, by namespace.
    pub(super) feeds: Arc<Bulkhead<Uuid>>,
    /// Who may read the monitoring endpoints.
    pub(super) watch: ScrapeToken,
    /// Whether the database answers.
    pub(super) database: LastAnswer<()>,
    /// The health of all namespaces.
    pub(super) health: LastAnswer<Vec<Check>>,
    /// The counts for the metrics.
    pub(super) counts: LastAnswer<Sampled>,
    /// Limits the concurrent health checks of a namespace or tag, by caller.
    pub(super) narrowed: Arc<Bulkhead<Uuid>>,
    /// Refusals, counted for the log.
    pub(super) refusals: Refusals,
    /// The host names under which the server may be addressed.
    pub(super) hosts: Arc<Hosts>,
    pub(super) sockets: Sockets,
    /// Cancelled when the server begins to shut down.
    pub(super) draining: CancellationToken,
}

impl Web {
    /// The state for a server with these parts.
    pub fn new(
        store: Store,
        clock: Clock,
        config: Arc<Config>,
        telemetry: Arc<Telemetry>,
        schema: api::Schema,
        cluster: Cluster,
        commands: Commands,
    ) -> Self {
        let (hosts, sockets) = (Arc::new(Hosts::of(&config)), Sockets::new(&config.connections));
        let files = Files::find(config.console.dist.as_deref());
        let exports = Arc::new(Bulkhead::new(EXPORTS, EXPORTS_OF_CALLER));
        let feeds = Arc::new(Bulkhead::new(FEEDS, FEEDS_OF_NAMESPACE));
        let narrowed = Arc::new(Bulkhead::new(NARROWED, NARROWED_OF_CALLER));
        let guesses = commands.guesses();
        let feed_limiter = Arc::new(Limiter::new(clock.clone()));
        Self(Arc::new(WebParts {
            probed: store.clone(),
            store,
            clock,
            cluster,
            config,
            telemetry,
            schema,
            files,
            commands,
            // The cache uses the machine's own time, like the wait after a change of rights.
            tokens: Arc::new(LookupCache::new(Clock::system())),
            has_been_used: Arc::default(),
            guesses,
            feed_limiter,
            exports,
            feeds,
            oidc: None,
            watch: ScrapeToken::default(),
            // Probes wait in real time, not on the application's clock.
            database: LastAnswer::new("whether it answers", Clock::system()),
            health: LastAnswer::new("how healthy it is", Clock::system()),
            counts: LastAnswer::new("what the metrics count", Clock::system()).fresh_for(FRESH),
            narrowed,
            refusals: Refusals::new(Clock::system()),
            hosts,
            sockets,
            draining: CancellationToken::new(),
        }))
    }

    /// Adds the identity provider, if one is configured.
    #[must_use]
    pub fn with_oidc(mut self, provider: Option<Provider>) -> Self {
        Arc::make_mut(&mut self.0).oidc = provider.map(Arc::new);
        self
    }

    /// Gives the probes their own database connections.
    #[must_use]
    pub fn with_probed(mut self, store: Store) -> Self {
        Arc::make_mut(&mut self.0).probed = store;
        self
    }

    /// The token that is cancelled when the server begins to shut down. From then on, the server
    /// only answers probes.
    pub fn draining(&self) -> CancellationToken {
        self.draining.clone()
    }

    /// A front that answers connections with this state, within `limits`, until `stop`.
    pub fn front(
        &self,
        router: Router,
        limits: ConnectionLimits,
        stop: CancellationToken,
    ) -> Front {
        self.counted_front(router, limits, stop, self.telemetry.metrics().clone())
    }

    /// A front for the probes' listener, whose connections are not counted in the gauges.
    pub fn probe_front(
        &self,
        router: Router,
        limits: ConnectionLimits,
        stop: CancellationToken,
    ) -> Front {
        self.counted_front(router, limits, stop, Instruments::unread(self.clock.clone()))
    }

    fn counted_front(
        &self,
        router: Router,
        limits: ConnectionLimits,
        stop: CancellationToken,
        metrics: Instruments,
    ) -> Front {
        Front::new(router, limits, self.clock.clone(), metrics)
            .with_proxies(self.config.trusted_proxies.clone())
            .with_refusals(self.refusals.clone())
            .until(self.draining.clone(), stop)
    }

    /// Makes the monitoring endpoints require this token.
    #[must_use]
    pub fn with_watch(mut self, token: Option<SecretString>) -> Self {
        Arc::make_mut(&mut self.0).watch = ScrapeToken::by(token);
        self
    }
}

impl Deref for Web {
    type Target = WebParts;

    fn deref(&self) -> &WebParts {
        &self.0
    }
}

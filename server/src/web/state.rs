use std::sync::Arc;

use super::{auth::Limiter, console::Files, metrics::Sampler};
use crate::{
    api, clock::Clock, config::Config, engine::cluster::Cluster, store::Store, telemetry::Telemetry,
};

/// What the handlers share. Cheap to clone.
#[derive(Clone)]
pub struct Web {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) cluster: Cluster,
    pub(super) config: Arc<Config>,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) schema: api::Schema,
    pub(super) files: Files,
    pub(super) limiter: Arc<Limiter>,
    pub(super) sampler: Arc<Sampler>,
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
    ) -> Self {
        let files = Files::find(config.console.dist.as_deref());
        let limiter = Arc::new(Limiter::new(clock.clone()));
        let sampler = Arc::new(Sampler::default());
        Self { store, clock, cluster, config, telemetry, schema, files, limiter, sampler }
    }
}

//! The engine as a server starts it, with its default settings.

use std::sync::Arc;

use anyhow::Result;
use carillon::{
    clock::Clock,
    engine::{Engine, Settings, Signals},
    store::Store,
    target::{Executor, Policy},
    telemetry::Metrics,
};

/// Starts it.
pub(crate) async fn start(store: &Store, clock: &Clock) -> Result<Engine> {
    let executor = Executor::new(Policy::default(), clock.clone())?;
    Ok(Engine::start(
        Settings::default(),
        store.clone(),
        clock.clone(),
        Arc::new(executor),
        Arc::new(timetable::Cache::new(10_000)),
        Signals::default(),
        Metrics::unread(clock.clone()),
    )
    .await?)
}

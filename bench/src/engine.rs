//! The engine as a server starts it, with its default settings.

use std::sync::Arc;

use anyhow::Result;
use carillon::{
    clock::Clock,
    engine::{Engine, EngineSettings, Signals},
    store::Store,
    target::{CommandPolicy, Executor, Policy, programs_user},
    telemetry::Instruments,
};

/// Starts an engine. Targets may reach this machine and run programs, as in the demo.
pub(crate) async fn start(store: &Store, clock: &Clock) -> Result<Engine> {
    let command =
        CommandPolicy { user: programs_user(None)?, is_apart: true, ..CommandPolicy::default() };
    let policy = Policy { commands: true, command, private_addresses: true, ..Policy::default() };
    let executor = Executor::new(policy, clock.clone())?;
    Ok(Engine::start(
        EngineSettings::default(),
        store.clone(),
        clock.clone(),
        Arc::new(executor),
        Arc::new(timetable::Cache::new(10_000)),
        Signals::default(),
        Instruments::unread(clock.clone()),
    )
    .await?)
}

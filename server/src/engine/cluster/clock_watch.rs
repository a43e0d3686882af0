//! Watches the wall clock for steps. Services sleep until instants on this clock; when it is set,
//! each one computes its next instant again.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::engine::{core::Core, signals::SignalKind};

/// The interval between two checks: a step is noticed within this time.
const INTERVAL: Duration = Duration::from_millis(500);

/// Runs until `stop`. It ignores a manual clock: the test that sets one wakes the services it
/// needs.
pub(in crate::engine) async fn run(core: Arc<Core>, stop: CancellationToken) {
    while core.clock.is_system() && !stop.is_cancelled() {
        if let Some(step) = core.cluster.look_at_clock(&core.clock) {
            tracing::warn!(
                step_ms = step.num_milliseconds(),
                "the wall clock was stepped; the next fires are looked up anew"
            );
            // The heartbeat service compares the clock with the database's.
            for kind in [
                SignalKind::Pulse,
                SignalKind::Planner,
                SignalKind::Dispatcher,
                SignalKind::Backfill,
            ] {
                core.signals.wake_here(kind);
            }
        }
        stop.run_until_cancelled(core.clock.sleep(INTERVAL)).await;
    }
}

//! Notices when the wall clock is set. Services sleep until instants on this clock, so after a step
//! each of them must compute its next instant again.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::engine::{core::Core, signals::SignalKind};

/// The interval between two checks of the clock: a step is noticed within this time.
const INTERVAL: Duration = Duration::from_millis(500);

/// Runs until `stop`.
/// A manual clock is ignored, because the test that sets it also wakes the services that it needs.
pub(in crate::engine) async fn run(core: Arc<Core>, stop: CancellationToken) {
    while core.clock.is_system() && !stop.is_cancelled() {
        if let Some(step) = core.cluster.look_at_clock(&core.clock) {
            tracing::warn!(
                step_ms = step.num_milliseconds(),
                "the wall clock was stepped; the next fires are looked up again"
            );
            // The heartbeat service compares the clock with that of the database.
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

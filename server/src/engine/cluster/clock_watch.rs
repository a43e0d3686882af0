//! Watches the wall clock for steps. Services sleep until instants that it shows; when it is set,
//! each looks anew when it has to.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::engine::{core::Core, signals::Kind};

/// Between two looks: a step is noticed within that time.
const INTERVAL: Duration = Duration::from_millis(500);

/// Goes on until `stop`. A manual clock is set by a test, which wakes what it wants to be woken.
pub(in crate::engine) async fn run(core: Arc<Core>, stop: CancellationToken) {
    while core.clock.is_system() && !stop.is_cancelled() {
        if let Some(step) = core.cluster.look_at_clock(&core.clock) {
            tracing::warn!(
                step_ms = step.num_milliseconds(),
                "the wall clock was stepped; the next fires are looked up anew"
            );
            // The heartbeat compares it with the database's clock.
            for kind in [Kind::Pulse, Kind::Planner, Kind::Dispatcher, Kind::Backfill] {
                core.signals.wake_here(kind);
            }
        }
        stop.run_until_cancelled(core.clock.sleep(INTERVAL)).await;
    }
}

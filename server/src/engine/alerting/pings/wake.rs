//! Wakes the service when runs change.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{clock::Clock, engine::core::Core};

/// The shortest interval between two wake-ups.
const PAUSE: Duration = Duration::from_millis(500);

/// Wakes the service soon after each write of this or another node, until `stop`. The service's own
/// interval is longer than many runs: by then a run would have ended, and the call about its start
/// would be outdated.
pub(in crate::engine) async fn wake_on_changes(core: Arc<Core>, stop: CancellationToken) {
    let mut changes = core.store.changes().follow();
    let waking = async {
        // The sender lives as long as the store.
        while changes.changed().await.is_ok() {
            core.pings.notify_one();
            // Real time rather than the application's clock: this only limits the load.
            Clock::system().sleep(PAUSE).await;
        }
    };
    stop.run_until_cancelled(waking).await;
}

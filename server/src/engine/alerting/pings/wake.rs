//! Wakes the service for pings when runs change.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{clock::Clock, engine::core::Core};

/// The shortest interval between two wake-ups.
const PAUSE: Duration = Duration::from_millis(500);

/// Wakes the service soon after each write of this or another node, until `stop`.
/// The service's own interval is longer than many runs: a run would end within it,
/// and the call about its start would be outdated.
pub(in crate::engine) async fn wake_on_changes(core: Arc<Core>, stop: CancellationToken) {
    let mut changes = core.store.changes().follow();
    let waking = async {
        // The channel stays open: its sender lives as long as the store.
        while changes.changed().await.is_ok() {
            core.pings.notify_one();
            // This pause uses real time, not the
            // application's clock, because it only limits the load.
            Clock::system().sleep(PAUSE).await;
        }
    };
    stop.run_until_cancelled(waking).await;
}

//! Wakes the service when runs change.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{clock::Clock, engine::core::Core};

/// The shortest interval between two wake-ups.
const PAUSE: Duration = Duration::from_millis(500);

/// Wakes the service soon after each write, on this node or another, until `stop`. Its own interval
/// is longer than many runs: by then a run would have ended, and its start would be old news.
pub(in crate::engine) async fn wake_on_changes(core: Arc<Core>, stop: CancellationToken) {
    let mut changes = core.store.changes().follow();
    let waking = async {
        // The sender lives as long as the store.
        while changes.changed().await.is_ok() {
            core.pings.notify_one();
            // Real time, whatever the application's clock shows: it only limits the load.
            Clock::system().sleep(PAUSE).await;
        }
    };
    stop.run_until_cancelled(waking).await;
}

//! Work that computes for a while: on a blocking thread, with a few places for each namespace, so
//! that no namespace keeps the others waiting.

use std::time::Duration;

use uuid::Uuid;

use super::{CommandError, Commands};

/// Maximum number of pieces of work that one namespace computes at once on a node.
pub(super) const OF_A_NAMESPACE: usize = 2;

/// How long a call waits for a place.
const PATIENCE: Duration = Duration::from_secs(10);

impl Commands {
    /// Computes on a blocking thread, in one of the namespace's places. Must not be called while
    /// holding a transaction: it may take a while.
    ///
    /// # Errors
    ///
    /// [`CommandError::Busy`] if there was no place in time.
    pub(in crate::commands) async fn compute<T: Send + 'static>(
        &self,
        namespace: Uuid,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, CommandError> {
        let place = self.computing.enter_within(namespace, &self.clock, PATIENCE).await;
        let place = place.ok_or(CommandError::Busy)?;
        let computed = tokio::task::spawn_blocking(move || {
            // Held until the thread is free again, even if the caller is gone.
            let _place = place;
            work()
        });
        computed.await.map_err(|error| {
            CommandError::conflict(format!("the server did not compute it: {error}"), "try again")
        })
    }
}

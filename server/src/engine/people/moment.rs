//! For how long a node goes by what it has found out about somebody.
//!
//! Nodes do not look at a token for each request: what one has found holds for [`LASTS`] from when
//! it began to look. And whoever changes what somebody may do is answered that much after the
//! commit. So the change counts for every request that comes after the answer, on all nodes, and
//! none has to tell the others.

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};

use crate::{
    clock::Clock,
    store::{DatabaseTransaction, Store, StoreError},
};

/// So long.
pub const LASTS: Duration = Duration::from_millis(100);

/// When somebody began to look. It is the machine's own time, whatever clock schedules live by: it
/// is between processes.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    instant: Instant,
    at: DateTime<Utc>,
}

impl Moment {
    /// This one.
    pub fn now() -> Self {
        let clock = Clock::system();
        Self { instant: clock.instant(), at: clock.now() }
    }

    /// Whether what was found by then still holds.
    pub fn is_recent(&self) -> bool {
        let now = Self::now();
        // While a machine sleeps the one clock stands still; the other one may be set.
        let lasts = TimeDelta::from_std(LASTS).unwrap_or_default();
        now.instant.duration_since(self.instant) < LASTS && (now.at - self.at).abs() < lasts
    }
}

/// Commits a change of what somebody may do. It counts everywhere when this returns.
pub(in crate::engine) async fn commit_rights(
    store: &Store,
    tx: DatabaseTransaction,
) -> Result<(), StoreError> {
    store.commit(tx).await?;
    rights_count().await;
    Ok(())
}

/// Waits until what was committed counts everywhere.
pub(in crate::engine) async fn rights_count() {
    Clock::system().sleep(LASTS).await;
}

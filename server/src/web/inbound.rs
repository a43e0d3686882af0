//! How many bytes a connection may still send. A stranger's WebSocket may send one small message,
//! with which they sign in; an unfinished large one would hold memory.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Means that there is no limit.
const UNLIMITED: u64 = u64::MAX;

/// The remaining bytes of a connection. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Inbound(Arc<AtomicU64>);

impl Default for Inbound {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(UNLIMITED)))
    }
}

impl Inbound {
    /// From now on the connection may send this many bytes.
    pub(super) fn limit(&self, bytes: u64) {
        self.0.store(bytes, Ordering::Relaxed);
    }

    /// From now on it may send any number of bytes.
    pub(super) fn lift(&self) {
        self.0.store(UNLIMITED, Ordering::Relaxed);
    }

    /// Whether it has sent all that it may.
    pub(super) fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Records that it has sent `bytes`.
    pub(super) fn spend(&self, bytes: u64) {
        let left = |left| (left != UNLIMITED).then(|| u64::saturating_sub(left, bytes));
        // An error means that there is no limit.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
    }
}

//! Limits how many more bytes a connection may send. An unauthenticated caller's WebSocket may send
//! one small message, which signs them in; an unfinished large one would occupy memory.
//!
//! Bytes are counted twice: as they are read from the connection, which limits the size of an
//! unfinished message, and again as messages, which include bytes that came with the upgrade
//! request and were read before the limit began.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// How many bytes a socket may send before its client signs in: just enough for the sign-in.
pub(super) const STRANGERS_SOCKET: u64 = 4 * 1024;
/// The value that stands for no limit.
const UNLIMITED: u64 = u64::MAX;

/// The remaining bytes of a connection. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Inbound(Arc<InboundAllowance>);

#[derive(Debug)]
struct InboundAllowance {
    raw: AtomicU64,
    in_messages: AtomicU64,
}

impl Default for Inbound {
    fn default() -> Self {
        let unlimited = || AtomicU64::new(UNLIMITED);
        Self(Arc::new(InboundAllowance { raw: unlimited(), in_messages: unlimited() }))
    }
}

impl Inbound {
    /// Limits the bytes that the connection may send from now on.
    pub(super) fn limit(&self, bytes: u64) {
        self.0.raw.store(bytes, Ordering::Relaxed);
        self.0.in_messages.store(bytes, Ordering::Relaxed);
    }

    /// Lifts the limit from now on.
    pub(super) fn lift(&self) {
        self.limit(UNLIMITED);
    }

    /// Fails if the connection has sent all the bytes that it may send.
    pub(super) fn check(&self) -> io::Result<()> {
        if self.0.raw.load(Ordering::Relaxed) == 0 { Err(too_much()) } else { Ok(()) }
    }

    /// Records that the connection has sent `bytes`.
    pub(super) fn spend(&self, bytes: u64) {
        spend(&self.0.raw, bytes);
    }

    /// Records a message of `bytes`; refuses one that exceeds the limit.
    pub(super) fn hear(&self, bytes: usize) -> io::Result<()> {
        let left = spend(&self.0.in_messages, bytes as u64);
        if left < bytes as u64 { Err(too_much()) } else { Ok(()) }
    }
}

/// Subtracts `bytes`; returns the amount that was left before.
fn spend(left: &AtomicU64, bytes: u64) -> u64 {
    let spent = |left| (left != UNLIMITED).then(|| u64::saturating_sub(left, bytes));
    // `Err` means that the connection has no limit.
    let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spent);
    before.unwrap_or(UNLIMITED)
}

fn too_much() -> io::Error {
    let text = format!("more than {STRANGERS_SOCKET} bytes before signing in");
    io::Error::new(io::ErrorKind::QuotaExceeded, text)
}

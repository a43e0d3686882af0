//! Wake-ups between services and between nodes.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicU8, Ordering},
};

use chrono::TimeDelta;
use entity::Timestamp;
use tokio::sync::Notify;

/// Something that becomes due later than this is noticed by the other nodes
/// on their own, because they look more often.
const SOON: TimeDelta = TimeDelta::minutes(2);

/// The service that a wake-up is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SignalKind {
    Planner,
    Dispatcher,
    Canceller,
    Backfill,
    /// The service of maintenance windows.
    Windows,
    Pulse,
    /// The followers of the change feed.
    Followers,
    /// The requests that wait for runs to settle.
    Settled,
}

impl SignalKind {
    pub(crate) const ALL: [Self; 8] = [
        Self::Planner,
        Self::Dispatcher,
        Self::Canceller,
        Self::Backfill,
        Self::Windows,
        Self::Pulse,
        Self::Followers,
        Self::Settled,
    ];

    /// The letter that stands for this kind in a call between nodes.
    pub(crate) fn letter(self) -> char {
        match self {
            Self::Planner => 'p',
            Self::Dispatcher => 'd',
            Self::Canceller => 'c',
            Self::Backfill => 'b',
            Self::Windows => 'm',
            Self::Pulse => 'n',
            Self::Followers => 'f',
            Self::Settled => 's',
        }
    }
}

/// A set of [`SignalKind`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SignalKinds(u8);

impl SignalKinds {
    pub(crate) fn of(kind: SignalKind) -> Self {
        Self(1 << kind as u8)
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = SignalKind> {
        SignalKind::ALL.into_iter().filter(move |kind| self.0 & Self::of(*kind).0 != 0)
    }
}

/// Wakes services. Cheap to clone; a signal is kept until a service waits for it.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    planner: Notify,
    /// When this node's planner next looks on its own, in milliseconds.
    /// It is `i64::MAX` while the planner is looking, and on nodes without a planner.
    planner_looks_at: AtomicI64,
    dispatcher: Notify,
    canceller: Notify,
    backfill: Notify,
    windows: Notify,
    pulse: Notify,
    /// The wake-ups to send to the other nodes, as bits.
    to_tell: AtomicU8,
    told: Notify,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            planner: Notify::default(),
            planner_looks_at: AtomicI64::new(i64::MAX),
            dispatcher: Notify::default(),
            canceller: Notify::default(),
            backfill: Notify::default(),
            windows: Notify::default(),
            pulse: Notify::default(),
            to_tell: AtomicU8::default(),
            told: Notify::default(),
        }
    }
}

impl Signals {
    /// Called when a schedule was created, edited, paused or resumed.
    pub fn wake_planner(&self) {
        self.wake(SignalKind::Planner);
    }

    /// Called when schedules were created and committed, the first of which is due at `at`.
    /// A planner that looks again before then need not be woken.
    /// Thousands of schedules can be created in a second, and most are due only in hours.
    pub(crate) fn schedules_made(&self, at: Timestamp, now: Timestamp) {
        // A planner that is reading the tables right now may have missed the new rows.
        // After a step of the clock, it may sleep beyond the instant that it has announced.
        let looks_at = self.inner.planner_looks_at.load(Ordering::SeqCst);
        if at.0 < looks_at || looks_at <= now.0 {
            self.wake_here(SignalKind::Planner);
        }
        if at.utc() - now.utc() <= SOON {
            self.tell(SignalKind::Planner);
        }
    }

    /// Called when the planner begins to look at the tables.
    pub(crate) fn planner_looks(&self) {
        self.inner.planner_looks_at.store(i64::MAX, Ordering::SeqCst);
    }

    /// Called when the planner has looked; it will look again at `at`.
    pub(crate) fn planner_looks_again(&self, at: Timestamp) {
        self.inner.planner_looks_at.store(at.0, Ordering::SeqCst);
    }

    /// Called when a run was queued.
    pub fn wake_dispatcher(&self) {
        self.wake(SignalKind::Dispatcher);
    }

    /// Called when a user or a service requested that a run be stopped.
    pub fn wake_canceller(&self) {
        self.wake(SignalKind::Canceller);
    }

    /// Called when a backfill was created, changed or stopped, or one of its runs has settled.
    pub fn wake_backfill(&self) {
        self.wake(SignalKind::Backfill);
    }

    /// Called when a maintenance window was planned, changed or cancelled.
    pub fn wake_windows(&self) {
        self.wake(SignalKind::Windows);
    }

    fn wake(&self, kind: SignalKind) {
        self.wake_here(kind);
        self.tell(kind);
    }

    /// Wakes a service only on this node: for events that concern no other
    /// node, and for wake-ups that another node sent.
    pub(crate) fn wake_here(&self, kind: SignalKind) {
        match kind {
            SignalKind::Planner => self.inner.planner.notify_one(),
            SignalKind::Dispatcher => self.inner.dispatcher.notify_one(),
            SignalKind::Canceller => self.inner.canceller.notify_one(),
            SignalKind::Backfill => self.inner.backfill.notify_one(),
            SignalKind::Windows => self.inner.windows.notify_one(),
            SignalKind::Pulse => self.inner.pulse.notify_one(),
            // Followers wait for a signal of the store instead.
            SignalKind::Followers => {}
            // The engine's core knows whether any request waits.
            SignalKind::Settled => {}
        }
    }

    /// Wakes a service only on the other nodes.
    pub(crate) fn tell(&self, kind: SignalKind) {
        self.inner.to_tell.fetch_or(SignalKinds::of(kind).0, Ordering::Relaxed);
        self.inner.told.notify_one();
    }

    /// Waits until there is a wake-up to send to the other nodes.
    pub(crate) async fn something_to_tell(&self) -> SignalKinds {
        loop {
            let kinds = SignalKinds(self.inner.to_tell.swap(0, Ordering::Relaxed));
            if !kinds.is_empty() {
                return kinds;
            }
            self.inner.told.notified().await;
        }
    }

    /// Called when a node has joined, is draining or has left: the membership must be read again.
    pub fn wake_pulse(&self) {
        self.wake(SignalKind::Pulse);
    }

    pub(crate) fn planner(&self) -> &Notify {
        &self.inner.planner
    }

    pub(crate) fn dispatcher(&self) -> &Notify {
        &self.inner.dispatcher
    }

    pub(crate) fn canceller(&self) -> &Notify {
        &self.inner.canceller
    }

    pub(crate) fn backfill(&self) -> &Notify {
        &self.inner.backfill
    }

    pub(crate) fn windows(&self) -> &Notify {
        &self.inner.windows
    }

    pub(crate) fn pulse(&self) -> &Notify {
        &self.inner.pulse
    }
}

//! The wake-ups between services, and between nodes.

use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicU8, Ordering},
};

use chrono::TimeDelta;
use entity::Timestamp;
use tokio::sync::Notify;

/// What falls due later than this the other nodes find by their own looks, which are more frequent.
const SOON: TimeDelta = TimeDelta::minutes(2);

/// Whom a wake-up is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Planner,
    Dispatcher,
    Canceller,
    Backfill,
    Pulse,
    /// Who follows what is written.
    Followers,
    /// Who waits for runs to settle.
    Settled,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] = [
        Self::Planner,
        Self::Dispatcher,
        Self::Canceller,
        Self::Backfill,
        Self::Pulse,
        Self::Followers,
        Self::Settled,
    ];

    /// Its letter in a call between nodes.
    pub(crate) fn letter(self) -> char {
        match self {
            Self::Planner => 'p',
            Self::Dispatcher => 'd',
            Self::Canceller => 'c',
            Self::Backfill => 'b',
            Self::Pulse => 'n',
            Self::Followers => 'f',
            Self::Settled => 's',
        }
    }
}

/// A set of [`Kind`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) fn of(kind: Kind) -> Self {
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

    pub(crate) fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.0 & Self::of(*kind).0 != 0)
    }
}

/// Wakes the services. Cheap to clone; a signal that nobody waits for yet is kept.
///
/// What is woken here is woken on the other nodes, too, by the `relay`: which of them has room, or
/// holds the run, is not known here.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    planner: Notify,
    /// When the planner of this node looks again by itself, in milliseconds; the greatest number
    /// while it looks, and where there is none.
    planner_looks_at: AtomicI64,
    dispatcher: Notify,
    canceller: Notify,
    backfill: Notify,
    pulse: Notify,
    /// What the other nodes are to be told.
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
            pulse: Notify::default(),
            to_tell: AtomicU8::default(),
            told: Notify::default(),
        }
    }
}

impl Signals {
    /// A schedule was made, edited, paused or resumed.
    pub fn wake_planner(&self) {
        self.wake(Kind::Planner);
    }

    /// Schedules were made, of which the first is due at `at`, and they are committed. A planner
    /// that looks again before then need not be told: thousands are made in a second, and mostly
    /// they are due in hours.
    pub(crate) fn schedules_made(&self, at: Timestamp, now: Timestamp) {
        // Whoever looks at the tables at this moment may have passed the new rows by. After a step of
        // the clock a planner may sleep past the instant that it has named.
        let looks_at = self.inner.planner_looks_at.load(Ordering::SeqCst);
        if at.0 < looks_at || looks_at <= now.0 {
            self.wake_here(Kind::Planner);
        }
        if at.utc() - now.utc() <= SOON {
            self.tell(Kind::Planner);
        }
    }

    /// The planner begins to look.
    pub(crate) fn planner_looks(&self) {
        self.inner.planner_looks_at.store(i64::MAX, Ordering::SeqCst);
    }

    /// The planner has looked, and will look again at `at`.
    pub(crate) fn planner_looks_again(&self, at: Timestamp) {
        self.inner.planner_looks_at.store(at.0, Ordering::SeqCst);
    }

    /// A run was queued.
    pub fn wake_dispatcher(&self) {
        self.wake(Kind::Dispatcher);
    }

    /// Somebody asked to stop a run.
    pub fn wake_canceller(&self) {
        self.wake(Kind::Canceller);
    }

    /// A backfill was made, changed or stopped, or one of its runs has settled.
    pub fn wake_backfill(&self) {
        self.wake(Kind::Backfill);
    }

    fn wake(&self, kind: Kind) {
        self.wake_here(kind);
        self.tell(kind);
    }

    /// Wakes a service of this node: for what concerns no other, and for what another one said.
    pub(crate) fn wake_here(&self, kind: Kind) {
        match kind {
            Kind::Planner => self.inner.planner.notify_one(),
            Kind::Dispatcher => self.inner.dispatcher.notify_one(),
            Kind::Canceller => self.inner.canceller.notify_one(),
            Kind::Backfill => self.inner.backfill.notify_one(),
            Kind::Pulse => self.inner.pulse.notify_one(),
            // They wait on the store.
            Kind::Followers => {}
            // The core knows whether anybody does.
            Kind::Settled => {}
        }
    }

    /// Tells the other nodes alone.
    pub(crate) fn tell(&self, kind: Kind) {
        self.inner.to_tell.fetch_or(Kinds::of(kind).0, Ordering::Relaxed);
        self.inner.told.notify_one();
    }

    /// Waits until there is something to tell the other nodes.
    pub(crate) async fn something_to_tell(&self) -> Kinds {
        loop {
            let kinds = Kinds(self.inner.to_tell.swap(0, Ordering::Relaxed));
            if !kinds.is_empty() {
                return kinds;
            }
            self.inner.told.notified().await;
        }
    }

    /// A node has joined, drains or has left: look who is there.
    pub fn wake_pulse(&self) {
        self.wake(Kind::Pulse);
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

    pub(crate) fn pulse(&self) -> &Notify {
        &self.inner.pulse
    }
}

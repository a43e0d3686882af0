//! The wake-ups between the rooms, and between the nodes.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use tokio::sync::Notify;

/// Whom a wake-up is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
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
    pub(super) const ALL: [Self; 7] = [
        Self::Planner,
        Self::Dispatcher,
        Self::Canceller,
        Self::Backfill,
        Self::Pulse,
        Self::Followers,
        Self::Settled,
    ];

    /// Its letter in a call between nodes.
    pub(super) fn letter(self) -> char {
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
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) fn of(kind: Kind) -> Self {
        Self(1 << kind as u8)
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Kind> {
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

#[derive(Debug, Default)]
struct Inner {
    planner: Notify,
    dispatcher: Notify,
    canceller: Notify,
    backfill: Notify,
    pulse: Notify,
    /// What the other nodes are to be told.
    to_tell: AtomicU8,
    told: Notify,
}

impl Signals {
    /// A schedule was made, edited, paused or resumed.
    pub fn wake_planner(&self) {
        self.wake(Kind::Planner);
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
    pub(super) fn wake_here(&self, kind: Kind) {
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
    pub(super) fn tell(&self, kind: Kind) {
        self.inner.to_tell.fetch_or(Kinds::of(kind).0, Ordering::Relaxed);
        self.inner.told.notify_one();
    }

    /// Waits until there is something to tell the other nodes.
    pub(super) async fn something_to_tell(&self) -> Kinds {
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

    pub(super) fn planner(&self) -> &Notify {
        &self.inner.planner
    }

    pub(super) fn dispatcher(&self) -> &Notify {
        &self.inner.dispatcher
    }

    pub(super) fn canceller(&self) -> &Notify {
        &self.inner.canceller
    }

    pub(super) fn backfill(&self) -> &Notify {
        &self.inner.backfill
    }

    pub(super) fn pulse(&self) -> &Notify {
        &self.inner.pulse
    }
}

//! The wake-ups between the rooms.

use std::sync::Arc;

use tokio::sync::Notify;

/// Wakes the services. Cheap to clone; a signal that nobody waits for yet is kept.
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
}

impl Signals {
    /// A schedule was made, edited, paused or resumed.
    pub fn wake_planner(&self) {
        self.inner.planner.notify_one();
    }

    /// A run was queued.
    pub fn wake_dispatcher(&self) {
        self.inner.dispatcher.notify_one();
    }

    /// Somebody asked to stop a run.
    pub fn wake_canceller(&self) {
        self.inner.canceller.notify_one();
    }

    /// A backfill was made, changed or stopped, or one of its runs has settled.
    pub fn wake_backfill(&self) {
        self.inner.backfill.notify_one();
    }

    /// A node has joined, drains or has left: look who is there.
    pub fn wake_pulse(&self) {
        self.inner.pulse.notify_one();
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

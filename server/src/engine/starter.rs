//! Starts services, each with the signal that wakes it.

use std::sync::Arc;

use tokio::sync::{Notify, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    core::Core,
    service::{Service, Wakes, drive},
};

/// The signal that wakes a service before its next round is due.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wake {
    Planner,
    Dispatcher,
    Canceller,
    Backfill,
    Windows,
    NotificationSender,
    Pings,
    Pulse,
    Never,
}

struct WakeOf {
    core: Arc<Core>,
    wake: Wake,
    never: Notify,
}

impl AsRef<Notify> for WakeOf {
    fn as_ref(&self) -> &Notify {
        match self.wake {
            Wake::Planner => self.core.signals.planner(),
            Wake::Dispatcher => self.core.signals.dispatcher(),
            Wake::Canceller => self.core.signals.canceller(),
            Wake::Backfill => self.core.signals.backfill(),
            Wake::Windows => self.core.signals.windows(),
            Wake::NotificationSender => &self.core.outbox,
            Wake::Pings => &self.core.pings,
            Wake::Pulse => self.core.signals.pulse(),
            Wake::Never => &self.never,
        }
    }
}

/// Starts services that stop together.
pub(super) struct Starter<'a> {
    pub(super) core: &'a Arc<Core>,
    /// Stops the services.
    pub(super) stop: &'a CancellationToken,
    pub(super) tracker: &'a TaskTracker,
}

impl Starter<'_> {
    /// Starts a service. Returns the reports of its rounds.
    pub(super) fn service<S: Service + 'static>(
        &self,
        service: S,
        wake: Wake,
    ) -> watch::Receiver<(u64, S::Report)> {
        self.service_if(true, service, wake)
    }

    /// Starts a service if this node's roles include it. Otherwise the service never runs a round.
    pub(super) fn service_if<S: Service + 'static>(
        &self,
        does_it: bool,
        service: S,
        wake: Wake,
    ) -> watch::Receiver<(u64, S::Report)> {
        let (reports, last) = watch::channel((0, S::Report::default()));
        let wake = WakeOf { core: self.core.clone(), wake, never: Notify::new() };
        let clock = self.core.clock.clone();
        if does_it {
            let wakes = Wakes { wake, renewed: self.core.store.renewed() };
            self.tracker.spawn(drive(service, clock, wakes, self.stop.clone(), reports));
        }
        last
    }
}

use std::{collections::HashMap, sync::Arc, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use entity::maintenance_window::{Model, State};
use uuid::Uuid;

use super::turn::{Turn, WindowsReport};
use crate::{
    engine::{EngineError, cluster::lead, core::Core, service::Service},
    store::maintenance,
};

/// The name of the lease of the node that works on the windows.
const LEASE: &str = Windows::NAME;
/// The length of a term of that lease.
const TERM: Duration = Duration::from_secs(30);

/// How often schedules that have been created, or that have come to match, are looked for.
const SWEEP: TimeDelta = TimeDelta::seconds(5);
/// The same for windows that begin later than this.
const FAR: TimeDelta = TimeDelta::hours(1);
const FAR_SWEEP: TimeDelta = TimeDelta::seconds(10);
/// The last look for them comes this long before a window begins.
const SHORTLY: TimeDelta = TimeDelta::seconds(1);
/// How long schedules whose pause cannot begin yet are left alone: the planner still has to claim
/// instants from before the pause, or another transaction has locked them.
const SOON: TimeDelta = TimeDelta::milliseconds(100);
const LATER: TimeDelta = TimeDelta::seconds(1);

/// The service that carries out maintenance windows.
#[derive(Debug)]
pub(in crate::engine) struct Windows {
    core: Arc<Core>,
    /// When the schedules of each window were last compared with its search, and the window as it
    /// was then.
    swept: HashMap<Uuid, (DateTime<Utc>, Model)>,
    /// When the next window needs work; `None` if no window is open.
    next: Option<DateTime<Utc>>,
}

impl Windows {
    pub(in crate::engine) fn new(core: Arc<Core>) -> Self {
        Self { core, swept: HashMap::new(), next: None }
    }

    /// Whether a window has changed since its schedules were last compared with its search.
    fn is_changed(&self, window: &Model) -> bool {
        self.swept.get(&window.id).is_none_or(|(_, was)| {
            (was.starts_at, was.ends_at, &was.search, was.state)
                != (window.starts_at, window.ends_at, &window.search, window.state)
        })
    }

    /// Whether the schedules of a window must be compared with its search.
    fn is_sweep_due(&self, window: &Model, now: DateTime<Utc>) -> bool {
        let Some((at, _)) = self.swept.get(&window.id) else { return true };
        let starts_at = window.starts_at.utc();
        let is_beginning = window.state == State::Planned && starts_at - SHORTLY <= now;
        let every = if starts_at - now > FAR { FAR_SWEEP } else { SWEEP };
        // The clock may have been stepped back.
        is_beginning || now < *at || *at + every <= now
    }

    /// When a window needs work again.
    fn next_of(&self, window: &Model, is_waiting: bool, now: DateTime<Utc>) -> DateTime<Utc> {
        if is_waiting {
            let is_new = now - window.starts_at.utc() < TimeDelta::seconds(10);
            return now + if is_new { SOON } else { LATER };
        }
        let (starts_at, ends_at) = (window.starts_at.utc(), window.ends_at.utc());
        let shortly = starts_at - SHORTLY;
        let next = match window.state {
            State::Planned if now < shortly => shortly,
            State::Planned => starts_at,
            State::Active => ends_at,
            State::Ended | State::Cancelled => now + LATER,
        };
        let every = if starts_at - now > FAR { FAR_SWEEP } else { SWEEP };
        next.min(now + every)
    }

    fn look_again(&mut self, at: DateTime<Utc>) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }
}

impl Service for Windows {
    type Report = WindowsReport;
    const NAME: &'static str = "maintenance";

    async fn run_once(&mut self, _now: DateTime<Utc>) -> Result<WindowsReport, EngineError> {
        let core = self.core.clone();
        let mut report = WindowsReport::default();
        self.next = None;
        let open = maintenance::open(core.store.rounds()).await?;
        self.swept.retain(|id, _| open.iter().any(|window| window.id == *id));
        if open.is_empty() {
            return Ok(report);
        }
        let now = core.agreed_now().await;
        let Some(term) = lead(&core, LEASE, TERM).await? else {
            // Another node works on them. If it dies, this node takes over.
            self.look_again(now + SWEEP);
            return Ok(report);
        };
        // If the pauses of a window end early, their schedules may belong to another window, which
        // must mark them before. So cancelled windows come last.
        let (cancelled, mut open): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|window| window.state == State::Cancelled);
        let is_any_changed =
            !cancelled.is_empty() || open.iter().any(|window| self.is_changed(window));
        open.extend(cancelled);
        let mut failed = None;
        for window in open {
            let sweeps = is_any_changed || self.is_sweep_due(&window, now);
            let mut turn = Turn { core: &core, term: &term, window, now };
            match turn.take(sweeps, &mut report).await {
                Ok(is_waiting) => {
                    let window = turn.window;
                    self.look_again(self.next_of(&window, is_waiting, now));
                    if sweeps {
                        self.swept.insert(window.id, (now, window));
                    }
                }
                // The failure of one window must not delay the others.
                Err(error) if !error.is_transient() => {
                    tracing::error!(
                        window_id = %turn.window.id,
                        %error,
                        "failed to carry out a maintenance window"
                    );
                    failed.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        if report != WindowsReport::default() {
            // A pause that has begun or ended, or a mark that is gone, changes what is due next.
            core.signals.wake_planner();
        }
        failed.map_or(Ok(report), Err)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        // A wake-up from another node may be lost.
        let interval = self.core.settings.maintenance_interval;
        let latest = now + TimeDelta::from_std(interval).unwrap_or(FAR_SWEEP);
        self.next.map_or(latest, |next| next.clamp(now, latest))
    }

    fn is_notable(report: &WindowsReport) -> bool {
        *report != WindowsReport::default()
    }
}

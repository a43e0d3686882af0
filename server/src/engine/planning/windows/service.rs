//! The service that goes through the open maintenance windows.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

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

/// Interval between two searches for schedules that are new or match only now, while a window is
/// active or about to begin.
///
/// A search reads all schedules of the namespace, which is too much for a window that begins in a
/// year. A schedule needs its mark when the window begins, and the last search, [`SHORTLY`] before,
/// marks all that match by then. Earlier searches let users see on a schedule what is planned for
/// it, and cover the case that no node runs at the last one. So the interval grows with the time
/// that is left. Marking a schedule in the transaction that changes it would not replace them: the
/// search may also ask for what changes without such a transaction, for example lost fires.
const SWEEP: TimeDelta = TimeDelta::seconds(5);
/// The same for a window that begins in an hour or later.
const RARE_SWEEP: TimeDelta = TimeDelta::minutes(1);
/// The interval is this part of the time until the window begins, within the two bounds.
const PART: i32 = 60;
/// The last search takes place this long before a window begins.
const SHORTLY: TimeDelta = TimeDelta::seconds(1);
/// The delay before the service tries again to begin a pause: the planner still has to claim
/// instants from before the pause, or another transaction has locked the schedule. It is `SOON` for
/// a window that has just begun.
const SOON: TimeDelta = TimeDelta::milliseconds(100);
const LATER: TimeDelta = TimeDelta::seconds(1);

/// The service that carries out maintenance windows.
#[derive(Debug)]
pub(in crate::engine) struct Windows {
    core: Arc<Core>,
    /// The last complete turn of each window that compared its schedules with its search.
    swept: HashMap<Uuid, Sweep>,
    /// When the next window needs work; `None` if no window is open.
    next: Option<DateTime<Utc>>,
}

/// A comparison of schedules with the search of a window.
#[derive(Debug)]
struct Sweep {
    at: DateTime<Utc>,
    /// The window as it was then.
    window: Model,
    /// Whether another window of the namespace has released schedules since then.
    is_outdated: bool,
}

/// Interval between two searches for a window that begins in `left`.
fn pace(left: TimeDelta) -> TimeDelta {
    (left / PART).clamp(SWEEP, RARE_SWEEP)
}

impl Windows {
    pub(in crate::engine) fn new(core: Arc<Core>) -> Self {
        Self { core, swept: HashMap::new(), next: None }
    }

    /// Whether a window has changed since its last complete turn, apart from its number of pauses.
    fn is_changed(&self, window: &Model) -> bool {
        self.swept
            .get(&window.id)
            .is_none_or(|sweep| sweep.window != Model { held: sweep.window.held, ..window.clone() })
    }

    /// Whether the schedules of a window must be compared with its search.
    fn is_sweep_due(&self, window: &Model, now: DateTime<Utc>) -> bool {
        let Some(sweep) = self.swept.get(&window.id) else { return true };
        let starts_at = window.starts_at.utc();
        let is_beginning = window.state == State::Planned && starts_at - SHORTLY <= now;
        let every = if sweep.is_outdated { SWEEP } else { pace(starts_at - now) };
        // The clock may have been stepped back.
        is_beginning || now < sweep.at || sweep.at + every <= now
    }

    /// Notes that a window has released schedules: other windows of the namespace may mark them.
    fn outdate(&mut self, namespace: Uuid, now: DateTime<Utc>) {
        let swept = self.swept.values_mut();
        for sweep in swept.filter(|sweep| sweep.window.namespace_id == namespace) {
            sweep.is_outdated = true;
        }
        self.look_again(now + SWEEP);
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
        next.min(now + pace(starts_at - now))
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
            // Another node works on them. If it dies, this node takes over, and does not know what
            // the other one has done.
            self.swept.clear();
            self.look_again(now + SWEEP);
            return Ok(report);
        };
        // A change of one window may concern the schedules of others in its namespace.
        let is_new = |window: &&Model| window.state == State::Cancelled || self.is_changed(window);
        let changed: HashSet<Uuid> =
            open.iter().filter(is_new).map(|window| window.namespace_id).collect();
        // If the pauses of a window end early, their schedules may belong to another window, which
        // must mark them before. So cancelled windows come last.
        let (cancelled, mut open): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|window| window.state == State::Cancelled);
        open.extend(cancelled);
        let mut failed = None;
        for window in open {
            let (id, namespace) = (window.id, window.namespace_id);
            let is_changed = self.is_changed(&window);
            let sweeps = changed.contains(&namespace) || self.is_sweep_due(&window, now);
            let freed = report.freed();
            let mut turn =
                Turn { core: &core, term: &term, window, now, is_changed, is_cut: false };
            let taken = turn.take(sweeps, &mut report).await;
            if report.freed() != freed {
                self.outdate(namespace, now);
            }
            match taken {
                // The next round takes the turn again.
                Ok(_) if turn.is_cut => {
                    self.swept.remove(&id);
                    self.look_again(now + LATER);
                }
                Ok(is_waiting) => {
                    let window = turn.window;
                    self.look_again(self.next_of(&window, is_waiting, now));
                    if sweeps {
                        self.swept.insert(id, Sweep { at: now, window, is_outdated: false });
                    }
                }
                // The failure of one window must not delay the others.
                Err(error) if !error.is_transient() => {
                    tracing::error!(
                        window_id = %id,
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
        let interval = self.core.settings.windows_interval;
        let latest = now + TimeDelta::from_std(interval).unwrap_or(RARE_SWEEP);
        self.next.map_or(latest, |next| next.clamp(now, latest))
    }

    fn is_notable(report: &WindowsReport) -> bool {
        *report != WindowsReport::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_become_more_frequent_as_the_beginning_comes_near() {
        assert_eq!(pace(TimeDelta::days(365)), RARE_SWEEP);
        assert_eq!(pace(TimeDelta::hours(1)), RARE_SWEEP);
        assert_eq!(pace(TimeDelta::minutes(30)), TimeDelta::seconds(30));
        assert_eq!(pace(TimeDelta::minutes(5)), SWEEP);
        assert_eq!(pace(TimeDelta::hours(-10)), SWEEP, "the window is active");
    }
}

//! Subscriptions with their variables.

use super::{
    Ask,
    calls::within,
    operations::{
        AlertEvents, BackfillEvents, ClusterEvents, FireEvents, HealthEvents, LogLines, RunEvents,
        ScheduleEvents, alert_events, backfill_events, cluster_events, fire_events, health_events,
        log_lines, run_events, schedule_events,
    },
};
use crate::model::{Changed, ClusterEvent, HealthEvent, LogEvent, RunEvent, ScheduleEvent};

/// A subscription whose events are `T`s.
pub(crate) struct Feed<T> {
    pub(crate) events: Ask<T>,
    /// Whether the server completes the feed, as it does for the log of a run that has ended.
    pub(crate) ends: bool,
}

impl Feed<RunEvent> {
    /// Changes of runs in one namespace or in all: of every run, of a schedule's runs, or of one
    /// run.
    pub(crate) fn runs(
        namespace: String,
        schedule_id: Option<String>,
        run_id: Option<String>,
    ) -> Self {
        let namespace = within(namespace);
        let variables = run_events::Variables { namespace, schedule_id, run_id, since: None };
        Self { events: Ask::new::<RunEvents>(variables), ends: false }
    }
}

impl Feed<ScheduleEvent> {
    /// Changes of schedules in one namespace or in all: of the given schedules, or of every
    /// schedule.
    pub(crate) fn schedules(namespace: String, ids: Option<Vec<String>>) -> Self {
        let namespace = within(namespace);
        let variables = schedule_events::Variables { namespace, ids, since: None };
        Self { events: Ask::new::<ScheduleEvents>(variables), ends: false }
    }
}

impl Feed<Changed> {
    /// Fires whose outcome or run changes, in one namespace or in all. Fires that wait for their due time or their
    /// hand-off cause no event.
    pub(crate) fn fires(namespace: String) -> Self {
        let namespace = within(namespace);
        let variables = fire_events::Variables { namespace, schedule_id: None, since: None };
        Self { events: Ask::new::<FireEvents>(variables), ends: false }
    }

    /// Changes of alerts in one namespace or in all.
    pub(crate) fn alerts(namespace: String) -> Self {
        let variables = alert_events::Variables { namespace: within(namespace), since: None };
        Self { events: Ask::new::<AlertEvents>(variables), ends: false }
    }

    /// Changes of backfills and of their progress, in one namespace or in all.
    pub(crate) fn backfills(namespace: String) -> Self {
        let namespace = within(namespace);
        let variables = backfill_events::Variables { namespace, backfill_id: None, since: None };
        Self { events: Ask::new::<BackfillEvents>(variables), ends: false }
    }

    /// Changes of one backfill and of its progress.
    pub(crate) fn backfill(id: String) -> Self {
        let variables =
            backfill_events::Variables { namespace: None, backfill_id: Some(id), since: None };
        Self { events: Ask::new::<BackfillEvents>(variables), ends: false }
    }
}

impl Feed<ClusterEvent> {
    /// Nodes as they join, send heartbeats and leave.
    pub(crate) fn nodes() -> Self {
        let variables = cluster_events::Variables { since: None };
        Self { events: Ask::new::<ClusterEvents>(variables), ends: false }
    }
}

impl Feed<HealthEvent> {
    /// The health of a namespace, or of all, whenever its findings change.
    pub(crate) fn health(namespace: Option<String>) -> Self {
        let variables = health_events::Variables { namespace, since: None };
        Self { events: Ask::new::<HealthEvents>(variables), ends: false }
    }
}

impl Feed<LogEvent> {
    /// A run's log: from its first line on, then new lines as they are written.
    pub(crate) fn log(run_id: String) -> Self {
        let variables = log_lines::Variables { run_id, since: None };
        Self { events: Ask::new::<LogLines>(variables), ends: true }
    }
}

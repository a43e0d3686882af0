//! What can be followed: a subscription with its variables.

use super::{
    Ask,
    calls::within,
    operations::{
        ClusterEvents, HealthEvents, LogLines, RunEvents, ScheduleEvents, cluster_events,
        health_events, log_lines, run_events, schedule_events,
    },
};
use crate::model::{ClusterEvent, HealthEvent, LogEvent, RunEvent, ScheduleEvent};

/// Something that can be followed.
pub(crate) struct Feed<T> {
    pub(crate) events: Ask<T>,
    /// Whether it comes to an end by itself, as the log of a run does.
    pub(crate) ends: bool,
}

impl Feed<RunEvent> {
    /// Runs of a namespace, or of all, as they change: all, those of a schedule, or one.
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
    /// Schedules of a namespace, or of all, as they change: these, or all.
    pub(crate) fn schedules(namespace: String, ids: Option<Vec<String>>) -> Self {
        let namespace = within(namespace);
        let variables = schedule_events::Variables { namespace, ids, since: None };
        Self { events: Ask::new::<ScheduleEvents>(variables), ends: false }
    }
}

impl Feed<ClusterEvent> {
    /// Nodes as they come, beat and go.
    pub(crate) fn nodes() -> Self {
        let variables = cluster_events::Variables { since: None };
        Self { events: Ask::new::<ClusterEvents>(variables), ends: false }
    }
}

impl Feed<HealthEvent> {
    /// The health of a namespace, or of all, as what is wrong changes.
    pub(crate) fn health(namespace: Option<String>) -> Self {
        let variables = health_events::Variables { namespace, since: None };
        Self { events: Ask::new::<HealthEvents>(variables), ends: false }
    }
}

impl Feed<LogEvent> {
    /// A run's log from its first line on, and further while it is written.
    pub(crate) fn log(run_id: String) -> Self {
        let variables = log_lines::Variables { run_id, since: None };
        Self { events: Ask::new::<LogLines>(variables), ends: true }
    }
}

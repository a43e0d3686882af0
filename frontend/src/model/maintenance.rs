//! Maintenance windows: planned pauses of schedules.

use serde::Deserialize;

use super::{CatchUp, MaintenanceState, Row, run::ScheduleRef};
use crate::time::Moment;

/// A maintenance window.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MaintenanceWindow {
    pub(crate) id: String,
    pub(crate) namespace: String,
    pub(crate) title: String,
    pub(crate) ticket: Option<String>,
    /// Which schedules it pauses; without it, every schedule of the namespace.
    pub(crate) search: Option<String>,
    pub(crate) starts_at: Moment,
    pub(crate) ends_at: Moment,
    /// What becomes of the fires that fall into it.
    pub(crate) missed: CatchUp,
    pub(crate) state: MaintenanceState,
    pub(crate) planned_by: String,
    pub(crate) planned_at: Moment,
    pub(crate) cancelled_by: Option<String>,
    pub(crate) cancelled_at: Option<Moment>,
    pub(crate) cancel_reason: Option<String>,
    /// The module that declares it.
    pub(crate) module: Option<String>,
    pub(crate) schedule_count: i64,
}

impl MaintenanceWindow {
    /// The search that selects its schedules; empty for all of the namespace.
    pub(crate) fn search(&self) -> &str {
        self.search.as_deref().unwrap_or_default()
    }

    /// Whether it still holds back fires, or will.
    pub(crate) fn is_open(&self) -> bool {
        match self.state {
            MaintenanceState::Planned | MaintenanceState::Active => true,
            MaintenanceState::Ended | MaintenanceState::Cancelled => false,
        }
    }
}

impl Row for MaintenanceWindow {
    fn id(&self) -> &str {
        &self.id
    }
}

/// What a window would hold back.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MaintenancePreview {
    pub(crate) schedule_count: i64,
    pub(crate) already_paused: i64,
    pub(crate) fire_count: i64,
    pub(crate) is_fire_count_complete: bool,
    /// The first of the schedules.
    pub(crate) sample: Vec<ScheduleRef>,
    /// The other windows at the same time.
    pub(crate) overlapping: Vec<MaintenanceWindow>,
}

/// A window by its title.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct WindowLink {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) ticket: Option<String>,
}

/// The pause that a window has planned for a schedule.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct PlannedPause {
    pub(crate) from: Moment,
    pub(crate) until: Moment,
    pub(crate) missed: CatchUp,
    pub(crate) window: WindowLink,
}

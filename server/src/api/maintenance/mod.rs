//! Maintenance windows: planned pauses of the schedules that match a search.
//!
//! - `window`: a window; `query`, `preview`, `mutation`: the fields of the roots
//! - `planned`: the pause that a window plans for a schedule, and the fires that it leaves

mod mutation;
mod planned;
mod preview;
mod query;
mod window;

pub(super) use mutation::OrderingMaintenance;
pub(super) use planned::{PlannedPause, timetable};
pub(super) use query::ReadingMaintenance;
pub(super) use window::MaintenanceWindow;

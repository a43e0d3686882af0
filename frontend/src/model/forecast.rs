//! The upcoming fires of a window, and how a zone's clock changes affect them.

use serde::Deserialize;

use super::{GapPolicy, OverlapHourPolicy, PreviewFire, run::ScheduleRef};
use crate::time::Moment;

/// The upcoming fires.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Forecast {
    pub(crate) to: Moment,
    pub(crate) is_complete: bool,
    pub(crate) hours: Vec<ForecastHour>,
    pub(crate) fires: Vec<Upcoming>,
}

/// An upcoming fire.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Upcoming {
    pub(crate) at: Moment,
    pub(crate) schedule: ScheduleRef,
}

/// One hour of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(crate) struct ForecastHour {
    pub(crate) at: Moment,
    pub(crate) fires: i64,
    pub(crate) schedules: i64,
}

/// A schedule with its fires around a clock change.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ZoneSchedule {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) timing: ZoneTiming,
    pub(crate) next_fires: Vec<PreviewFire>,
}

/// Its timing, with its policies for clock changes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ZoneTiming {
    pub(crate) zone: String,
    pub(crate) expressions: Vec<String>,
    pub(crate) gap: GapPolicy,
    pub(crate) overlap: OverlapHourPolicy,
}

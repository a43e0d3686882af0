//! What is to come in a window, and what the clocks of a zone do to it.

use serde::Deserialize;

use super::{GapPolicy, OverlapHourPolicy, PreviewFire, Upcoming};
use crate::time::Moment;

/// The fires to come.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Forecast {
    pub(crate) to: Moment,
    pub(crate) is_complete: bool,
    pub(crate) hours: Vec<ForecastHour>,
    pub(crate) fires: Vec<Upcoming>,
}

/// One hour of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(crate) struct ForecastHour {
    pub(crate) at: Moment,
    pub(crate) fires: i64,
    pub(crate) schedules: i64,
}

/// A schedule with what it does around a change of the clocks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ZoneSchedule {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) timing: ZoneTiming,
    pub(crate) next_fires: Vec<PreviewFire>,
}

/// Its timing, with what it says of changes of the clocks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ZoneTiming {
    pub(crate) zone: String,
    pub(crate) expressions: Vec<String>,
    pub(crate) gap: GapPolicy,
    pub(crate) overlap: OverlapHourPolicy,
}

//! Calendars: named sets of local time that suppress fires.

use serde::{Deserialize, Serialize};

use super::{CalendarMode, Row, Weekday, run::ZoneRef};
use crate::time::Moment;

/// A calendar.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Calendar {
    pub(crate) id: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) mode: CalendarMode,
    pub(crate) version: i64,
    pub(crate) dates: Vec<String>,
    pub(crate) yearly: Vec<String>,
    pub(crate) weekdays: Vec<Weekday>,
    pub(crate) ranges: Vec<Range>,
    pub(crate) windows: Vec<Window>,
    pub(crate) module: Option<String>,
    /// How many schedules refer to the calendar.
    pub(crate) schedules: i64,
    pub(crate) updated_at: Moment,
}

/// A range from one day or local time to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Range {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// A range of time within the day; without weekdays, it applies to every day.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Window {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) weekdays: Vec<Weekday>,
}

/// A schedule that refers to a calendar.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct CalendarUser {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) timing: ZoneRef,
}

impl Row for Calendar {
    fn id(&self) -> &str {
        &self.id
    }
}

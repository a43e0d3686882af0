use chrono::{DateTime, FixedOffset, NaiveDateTime, Utc};
use serde::{Deserialize, Serialize};

/// One instant at which a timetable fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fire {
    /// The instant of the fire. Together with the schedule's id, it identifies the fire.
    pub at: DateTime<Utc>,
    /// The wall-clock time in the timetable's zone at that instant.
    pub local: NaiveDateTime,
    /// How far the zone's clock is ahead of UTC at that instant.
    pub offset: FixedOffset,
    /// How a nearby clock change affects the fire.
    pub kind: FireKind,
}

/// How a clock change affects a fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FireKind {
    /// The fire's local time occurs once on its date.
    Normal,
    /// The fire's local time occurs twice on its date, and this is the first time.
    FirstOfTwo,
    /// The fire's local time occurs twice on its date, and this is the second time.
    SecondOfTwo,
    /// The scheduled local time does not exist on this
    /// date; this is the first instant after the gap.
    Shifted,
}

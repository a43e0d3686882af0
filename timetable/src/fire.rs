use chrono::{DateTime, FixedOffset, NaiveDateTime, Utc};
use serde::{Deserialize, Serialize};

/// One instant at which a timetable fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fire {
    /// The instant. With the schedule's id, this is the fire's identity.
    pub at: DateTime<Utc>,
    /// The wall-clock time in the timetable's zone at that instant.
    pub local: NaiveDateTime,
    /// How far that clock is ahead of UTC at that instant.
    pub offset: FixedOffset,
    /// How a clock change affects it, if one is near.
    pub kind: FireKind,
}

/// How a clock change affects a fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FireKind {
    /// Its local time occurs once.
    Normal,
    /// Its local time occurs twice on this date, and this is the first.
    FirstOfTwo,
    /// Its local time occurs twice on this date, and this is the second.
    SecondOfTwo,
    /// The scheduled local time does not exist on this date; this is the first instant after the
    /// gap.
    Shifted,
}

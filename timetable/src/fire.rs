use chrono::{DateTime, FixedOffset, NaiveDateTime, Utc};
use serde::{Deserialize, Serialize};

/// One instant at which a timetable fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fire {
    /// The instant. With the schedule's id, this is the fire's identity.
    pub at: DateTime<Utc>,
    /// What the wall clock in the timetable's zone shows at that instant.
    pub local: NaiveDateTime,
    /// How far that clock is ahead of UTC at that instant.
    pub offset: FixedOffset,
    /// What the clock change made of it, if one is near.
    pub kind: FireKind,
}

/// What a clock change made of a fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FireKind {
    /// Its local time comes once.
    Normal,
    /// Its local time comes twice on this date, and this is the first.
    FirstOfTwo,
    /// Its local time comes twice on this date, and this is the second.
    SecondOfTwo,
    /// The time that was asked for does not exist on this date; this is the first instant after.
    Shifted,
}

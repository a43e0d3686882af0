use chrono::{DateTime, SubsecRound, Utc};
use sea_orm::DeriveValueType;
use serde::{Deserialize, Serialize};

/// An instant in UTC, in whole milliseconds since 1970-01-01: the type of every time column.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    DeriveValueType,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The same instant as a chrono type. A value outside chrono's range (some 260,000 years away)
    /// becomes the nearest instant in that range.
    pub fn utc(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0).unwrap_or(if self.0 < 0 {
            DateTime::<Utc>::MIN_UTC
        } else {
            DateTime::<Utc>::MAX_UTC
        })
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(at: DateTime<Utc>) -> Self {
        Self(at.trunc_subsecs(3).timestamp_millis())
    }
}

impl From<Timestamp> for DateTime<Utc> {
    fn from(at: Timestamp) -> Self {
        at.utc()
    }
}

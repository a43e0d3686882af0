use std::time::Duration;

use chrono::{DateTime, Utc};
use timetable::{Definition, DstPolicy, Timetable, TimingError};

/// A definition with one expression and nothing else asked for.
pub(crate) fn definition(expression: &str, zone: &str) -> Definition {
    Definition {
        expressions: vec![expression.to_owned()],
        zone: zone.to_owned(),
        dst: DstPolicy::default(),
        anchor: DateTime::UNIX_EPOCH,
        start: None,
        end: None,
        jitter: Duration::ZERO,
        seed: [0; 16],
    }
}

pub(crate) fn parse(expression: &str, zone: &str) -> Result<Timetable, TimingError> {
    Timetable::new(&definition(expression, zone))
}

pub(crate) fn timetable(expression: &str, zone: &str) -> Timetable {
    parse(expression, zone).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn instant(text: &str) -> DateTime<Utc> {
    text.parse().unwrap_or_else(|error| panic!("{text:?} is an instant: {error}"))
}

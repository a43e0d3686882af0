//! The instants at which a timing fires, saved or not.

use async_graphql::{Enum, SimpleObject};
use chrono::{DateTime, TimeDelta, Utc};
use timetable::Timetable;

use super::{
    error::Result,
    page::bounded,
    scalar::Instant,
    timing::{TimingProblem, TimingWarning, lint},
};
use crate::commands::BadInput;

/// How a clock change affects a fire.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "entity::fire::Kind")]
pub(crate) enum FireKind {
    /// The local time occurs once.
    Normal,
    /// The local time does not exist; the schedule fires at the end of the gap.
    Shifted,
    /// The local time occurs twice; this is the first occurrence.
    FirstOfTwo,
    /// The local time occurs twice; this is the second occurrence.
    SecondOfTwo,
}

/// An instant at which a timing fires.
#[derive(SimpleObject)]
pub(crate) struct PreviewFire {
    /// The instant, before jitter.
    at: Instant,
    /// Wall-clock time in the schedule's zone, without offset: 2026-03-29T03:00:00
    local: String,
    /// UTC offset, such as +02:00
    offset: String,
    /// How a clock change affects the instant.
    kind: FireKind,
    /// The name of the calendar that suppresses the fire, if one does: then it does not run. For a
    /// fire in a maintenance window, the reason of the pause: `Maintenance: ` and the title.
    suppressed_by: Option<String>,
}

/// The format of wall-clock times.
pub(crate) const LOCAL: &str = "%Y-%m-%dT%H:%M:%S";

impl PreviewFire {
    pub(super) fn of(timetable: &Timetable, fire: timetable::Fire) -> Self {
        Self {
            at: fire.at.into(),
            local: fire.local.format(LOCAL).to_string(),
            offset: fire.offset.to_string(),
            kind: fire.kind.into(),
            suppressed_by: timetable.suppressed_by(fire.at).map(|name| name.to_string()),
        }
    }
}

impl From<timetable::FireKind> for FireKind {
    fn from(kind: timetable::FireKind) -> Self {
        match kind {
            timetable::FireKind::Normal => Self::Normal,
            timetable::FireKind::Shifted => Self::Shifted,
            timetable::FireKind::FirstOfTwo => Self::FirstOfTwo,
            timetable::FireKind::SecondOfTwo => Self::SecondOfTwo,
        }
    }
}

/// The next `count` fires after `from`, including those that a calendar suppresses.
pub(crate) fn next(
    timetable: &Timetable,
    from: DateTime<Utc>,
    count: i32,
) -> Result<Vec<PreviewFire>> {
    let count = usize::try_from(bounded("count", count)?).unwrap_or_default();
    let fires = timetable.fires(from, DateTime::<Utc>::MAX_UTC);
    Ok(fires.take(count).map(|fire| PreviewFire::of(timetable, fire)).collect())
}

/// The fires up to and including the last of the `left` fires that may still run.
pub(crate) fn next_of(fires: Vec<PreviewFire>, left: i64) -> Vec<PreviewFire> {
    let mut left = left;
    let mut kept = Vec::with_capacity(fires.len());
    for fire in fires {
        if left <= 0 {
            break;
        }
        left -= i64::from(fire.suppressed_by.is_none());
        kept.push(fire);
    }
    kept
}

/// What a timing would do, before it is saved.
#[derive(SimpleObject)]
pub(crate) struct SchedulePreview {
    /// The timing in words; null if it cannot be used.
    description: Option<String>,
    /// The next instants of the timing, in order.
    fires: Vec<PreviewFire>,
    /// Likely mistakes in the timing.
    warnings: Vec<TimingWarning>,
    /// Why the timing cannot be used; null if it can.
    problem: Option<TimingProblem>,
    /// Fires in the next 365 days that no calendar suppresses; null if there are too many windows
    /// to count.
    fires_per_year: Option<u64>,
}

impl SchedulePreview {
    /// The preview of a valid timing.
    pub(crate) fn of(timetable: &Timetable, from: DateTime<Utc>, count: i32) -> Result<Self> {
        let year = from.checked_add_signed(TimeDelta::days(365));
        Ok(Self {
            description: Some(timetable.describe()),
            fires: next(timetable, from, count)?,
            warnings: lint(timetable, from),
            problem: None,
            fires_per_year: year.and_then(|until| {
                if timetable.has_calendars() {
                    timetable.count_allowed(from, until)
                } else {
                    Some(timetable.count(from, until))
                }
            }),
        })
    }

    /// The preview of a timing without a schedule. The real schedule will get its own `H`.
    pub(crate) fn example(timetable: &Timetable, from: DateTime<Utc>, count: i32) -> Result<Self> {
        let mut preview = Self::of(timetable, from, count)?;
        preview.warnings.extend(timetable.example().map(Into::into));
        Ok(preview)
    }

    /// The preview of an invalid timing.
    pub(crate) fn refused(problem: BadInput) -> Self {
        Self {
            description: None,
            fires: vec![],
            warnings: vec![],
            problem: Some(problem.into()),
            fires_per_year: None,
        }
    }
}

//! Whether a schedule will fire, and if not, why.

use async_graphql::{Enum, SimpleObject};
use entity::schedule;

use super::scalar::Instant;
use crate::store::reads::schedules::ScheduleStatus;

/// The state of a schedule.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "ScheduleStatus")]
pub(crate) enum ScheduleState {
    /// The schedule will fire.
    Active,
    /// The schedule is paused.
    Paused,
    /// The schedule has no fires left, because `endAt` has passed or its timing has no more
    /// instants.
    Finished,
    /// The schedule has fired `maxFires` times.
    Exhausted,
}

impl ScheduleState {
    pub(super) fn of(schedule: &schedule::Model) -> Self {
        if !schedule.enabled {
            Self::Paused
        } else if schedule.next_scheduled_at.is_none() && !is_manual(schedule) {
            if fires_left(schedule) == Some(0) { Self::Exhausted } else { Self::Finished }
        } else {
            Self::Active
        }
    }
}

/// Who paused a schedule, and why.
#[derive(SimpleObject)]
pub(crate) struct Pause {
    /// The reason that they gave.
    reason: String,
    /// The name of the user or token that paused it.
    by: String,
    /// When it was paused.
    at: Instant,
    /// When the schedule resumes automatically.
    until: Option<Instant>,
}

impl Pause {
    /// The pause of a schedule; `None` if it is not paused.
    pub(super) fn of(schedule: &schedule::Model) -> Option<Self> {
        let at = schedule.paused_at.filter(|_| !schedule.enabled)?;
        Some(Self {
            reason: schedule.paused_reason.clone().unwrap_or_default(),
            by: schedule.paused_by.clone().unwrap_or_default(),
            at: at.into(),
            until: schedule.paused_until.map(Into::into),
        })
    }
}

/// How many more fires a schedule may start; `None` if there is no limit.
pub(super) fn fires_left(schedule: &schedule::Model) -> Option<i64> {
    schedule.max_fires.map(|max| (max - schedule.fire_count).max(0))
}

/// Whether it never fires on its own, so that it cannot be finished.
fn is_manual(schedule: &schedule::Model) -> bool {
    matches!(&schedule.expressions.0[..], [only] if only.trim().eq_ignore_ascii_case("@manually"))
}

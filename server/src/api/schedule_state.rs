//! Whether a schedule will fire, and if not, why.

use async_graphql::{ComplexObject, Context, Enum, SimpleObject};
use entity::schedule;
use uuid::Uuid;

use super::{
    error::Result, maintenance::MaintenanceWindow, scalar::Instant, schedule_policy::CatchUp,
};
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
#[graphql(complex)]
pub(crate) struct Pause {
    /// The reason that they gave.
    reason: String,
    /// The name of the user or token that paused it.
    by: String,
    /// When it was paused.
    at: Instant,
    /// When the schedule resumes automatically.
    until: Option<Instant>,
    /// What becomes of the fires that fell into the pause when the schedule resumes automatically;
    /// null if it does not.
    missed: Option<CatchUp>,
    #[graphql(skip)]
    window_id: Option<Uuid>,
}

/// Who paused a schedule, and why.
#[ComplexObject]
impl Pause {
    /// The maintenance window that began the pause; null if a user did.
    async fn window(&self, cx: &Context<'_>) -> Result<Option<MaintenanceWindow>> {
        MaintenanceWindow::load(cx, self.window_id).await
    }
}

impl Pause {
    /// The pause of a schedule; `None` if it is not paused.
    pub(super) fn of(schedule: &schedule::Model) -> Option<Self> {
        let at = schedule.paused_at.filter(|_| !schedule.enabled)?;
        let missed = schedule.paused_missed;
        Some(Self {
            reason: schedule.paused_reason.clone().unwrap_or_default(),
            by: schedule.paused_by.clone().unwrap_or_default(),
            at: at.into(),
            until: schedule.paused_until.map(Into::into),
            missed: schedule.paused_until.map(|_| missed.map_or(CatchUp::Skip, Into::into)),
            window_id: schedule.paused_window_id,
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

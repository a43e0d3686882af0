//! What a schedule does about missed fires and about runs that overlap.

use async_graphql::{Enum, SimpleObject};
use entity::schedule;

/// What to do about missed fires.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "schedule::CatchUp")]
pub(crate) enum CatchUp {
    /// None of the missed fires runs.
    Skip,
    /// Only the last of the missed fires runs, in place of all of them.
    Latest,
    /// Each missed fire runs, up to a limit.
    All,
}

/// What to do about a fire while a run of the schedule is alive.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "schedule::Overlap")]
pub(crate) enum OverlapPolicy {
    /// The fire is skipped.
    Skip,
    /// The fire waits until the run has settled; while one fire waits, later ones are skipped.
    BufferOne,
    /// The fire waits until the run has settled, after those that are already waiting, up to
    /// `bufferLimit`.
    BufferAll,
    /// The run is cancelled, and the fire waits until it has settled. A fire that is already
    /// waiting is skipped in favour of the later one.
    CancelOther,
    /// The run is stopped at once, and the fire starts.
    TerminateOther,
    /// The new run starts beside the live one.
    Allow,
}

/// What to do about missed fires.
#[derive(SimpleObject)]
pub(crate) struct Misfire {
    /// Which missed fires run.
    catch_up: CatchUp,
    /// A fire that is claimed more than this long after it was due counts as missed.
    grace_seconds: i64,
    /// Only for ALL: the maximum number of fires that run.
    max: i32,
    /// Only for ALL: the time between two of these fires.
    spacing_seconds: i64,
    /// Fires missed longer ago than this never run.
    window_seconds: i64,
}

impl Misfire {
    pub(super) fn of(schedule: &schedule::Model) -> Self {
        Self {
            catch_up: schedule.catch_up.into(),
            grace_seconds: schedule.grace_ms / 1_000,
            max: schedule.catch_up_max,
            spacing_seconds: schedule.catch_up_spacing_ms / 1_000,
            window_seconds: schedule.catch_up_window_ms / 1_000,
        }
    }
}

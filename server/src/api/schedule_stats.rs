use async_graphql::SimpleObject;
use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    loaders::{FiguresOf, StatsRange},
    run_stats::Percentiles,
    scalar::{Instant, Long},
};
use crate::{
    commands::BadInput,
    store::reads::schedule_stats::{MAX_RUNS, RunFigures},
};

/// The default range.
pub(super) const USUAL: TimeDelta = TimeDelta::days(7);
/// The cost of reading the runs of one schedule.
pub(super) const COST: usize = 100;

/// The requested range; the last 7 days by default.
pub(super) fn range(
    cx: &async_graphql::Context<'_>,
    from: Option<Instant>,
    until: Option<Instant>,
) -> Result<StatsRange> {
    // Rounded to the second, so that all schedules of a list ask for the same range.
    let now = chrono::SubsecRound::trunc_subsecs(cx.commands().clock.now(), 0);
    let until = until.map_or(now + TimeDelta::seconds(1), |until| until.0);
    let earliest = || until.checked_sub_signed(USUAL).unwrap_or(DateTime::<Utc>::MIN_UTC);
    let from = from.map_or_else(earliest, |from| from.0);
    if from >= until {
        let help = "give an instant before 'until'";
        return Err(BadInput::new("from", from.to_rfc3339(), "is not before it", help).into());
    }
    Ok(StatsRange { from: Timestamp::from(from), until: Timestamp::from(until) })
}

/// Statistics of a schedule's runs.
#[derive(SimpleObject)]
pub(crate) struct ScheduleStats {
    /// Inclusive.
    from: Instant,
    /// The end of the range, exclusive.
    until: Instant,
    /// Runs that were created in the range, alive or not.
    runs: i64,
    /// Runs that succeeded.
    succeeded: i64,
    /// Runs that failed or timed out.
    failed: i64,
    /// Runs that were stopped on request or by the overlap policy.
    cancelled: i64,
    /// The time from start to end; null if no run has started and ended.
    durations: Option<Percentiles>,
    /// The longest time from start to end.
    max_duration_ms: Option<Long>,
    /// The time from due time to hand-off, of runs started by fires; null if there are none.
    latenesses: Option<Percentiles>,
    /// The longest time from due time to hand-off, of runs started by fires.
    max_lateness_ms: Option<Long>,
    /// False if there were 500 runs or more: then only the newest 500 are counted.
    is_complete: bool,
}

impl ScheduleStats {
    /// The statistics of one schedule; requests made at the same moment share a statement.
    pub(super) async fn of(
        cx: &async_graphql::Context<'_>,
        schedule: Uuid,
        from: Option<Instant>,
        until: Option<Instant>,
    ) -> Result<Self> {
        let range = range(cx, from, until)?;
        let found = cx.rows().load_one(FiguresOf(schedule, range)).await?;
        Ok(Self::told(range, &found.unwrap_or_default()))
    }

    fn told(range: StatsRange, figures: &RunFigures) -> Self {
        let last = |sorted: &[i64]| sorted.last().map(|ms| (*ms).into());
        Self {
            from: range.from.into(),
            until: range.until.into(),
            runs: figures.runs,
            succeeded: figures.succeeded,
            failed: figures.failed,
            cancelled: figures.cancelled,
            durations: Percentiles::exact(&figures.durations),
            max_duration_ms: last(&figures.durations),
            latenesses: Percentiles::exact(&figures.latenesses),
            max_lateness_ms: last(&figures.latenesses),
            is_complete: u64::try_from(figures.runs).is_ok_and(|runs| runs < MAX_RUNS),
        }
    }
}

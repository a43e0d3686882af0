//! How a live run compares with the usual runs of its schedule, and whether it will delay the next
//! fire.

use async_graphql::{Context, SimpleObject};
use chrono::{DateTime, TimeDelta, Utc};
use entity::run;

use super::{
    context::ContextExt,
    error::Result,
    loaders::{FiguresOf, ScheduleRow, StatsRange},
    scalar::{Instant, Long},
    schedule::Schedule,
};
use crate::model::UsualDuration;

/// How far back runs are read to determine the usual duration.
const LOOKED_AT: TimeDelta = TimeDelta::days(30);
/// The cost of reading these runs.
pub(super) const COST: usize = super::schedule_stats::COST;

/// How a live run compares with the runs of its schedule that succeeded in the last 30 days; at
/// most the newest 500.
#[derive(SimpleObject)]
pub(crate) struct RunForecast {
    /// The median duration of these runs.
    usual_ms: Long,
    /// The 95th percentile of the durations of the earlier runs.
    p95_ms: Long,
    /// How many times the usual duration this run has taken so far.
    ratio: f64,
    /// When the run is likely to end: after the median duration of earlier runs that took longer
    /// than it has taken so far. Null if none took longer.
    likely_end_at: Option<Instant>,
    /// The next fire of the run's schedule; null if there is none.
    next_fire_at: Option<Instant>,
    /// Whether the run is likely to still be running when the next fire is due. A run that has
    /// taken longer than all earlier ones is expected to take as long again.
    overlaps_next_fire: bool,
}

impl RunForecast {
    /// The forecast of a run that has started and has not ended. None for other runs, and if fewer
    /// than 5 runs of its schedule have succeeded.
    pub(super) async fn of(cx: &Context<'_>, run: &run::Model) -> Result<Option<Self>> {
        let (Some(id), Some(started)) = (run.schedule_id, run.started_at) else { return Ok(None) };
        if !run.state.is_live() {
            return Ok(None);
        }
        // Rounded to the minute, so that all runs of a list share one range.
        let now = cx.commands().clock.now();
        let until =
            chrono::DurationRound::duration_trunc(now, TimeDelta::minutes(1)).unwrap_or(now);
        let until = until + TimeDelta::minutes(1);
        let range = StatsRange { from: (until - LOOKED_AT).into(), until: until.into() };
        let figures = cx.rows().load_one(FiguresOf(id, range)).await?.unwrap_or_default();
        let Some(usual) = UsualDuration::of(figures.successes) else { return Ok(None) };
        let schedule = cx.rows().load_one(ScheduleRow(id)).await?.map(Schedule);
        let next = match schedule {
            Some(schedule) => schedule.next_fire(cx).await?,
            None => None,
        };
        Ok(Some(Self::told(&usual, started.utc(), next, now)))
    }

    fn told(
        usual: &UsualDuration,
        started: DateTime<Utc>,
        next: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Self {
        let elapsed = (now - started).num_milliseconds().max(0);
        let until_next = next.map(|next| (next - now).num_milliseconds().max(0));
        let end = |likely: i64| started.checked_add_signed(TimeDelta::milliseconds(likely));
        Self {
            usual_ms: usual.median_ms().into(),
            p95_ms: usual.p95_ms().into(),
            ratio: usual.ratio(elapsed),
            likely_end_at: usual.likely_ms(elapsed).and_then(end).map(Instant),
            next_fire_at: next.map(Instant),
            overlaps_next_fire: until_next.is_some_and(|more| usual.outlasts(elapsed, more)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_takes_longer_than_any_is_expected_to_block_the_next_fire() {
        let usual = UsualDuration::of(vec![600_000; 9]).unwrap();
        let started = DateTime::<Utc>::UNIX_EPOCH;
        let at = |minutes| started + TimeDelta::minutes(minutes);
        let slow = RunForecast::told(&usual, started, Some(at(29)), at(23));
        assert!((slow.ratio - 2.3).abs() < 1e-9 && slow.overlaps_next_fire);
        assert!(slow.likely_end_at.is_none());
        let usual = RunForecast::told(&usual, started, Some(at(60)), at(5));
        assert_eq!(usual.likely_end_at.map(|end| end.0), Some(at(10)));
        assert!(!usual.overlaps_next_fire);
    }
}

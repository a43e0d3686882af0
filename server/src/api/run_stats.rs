//! Roll-ups of runs for charts.

use async_graphql::SimpleObject;
use chrono::{DateTime, Utc};
use entity::Timestamp;

use super::{
    error::Result,
    metrics::share,
    scalar::{Instant, Long},
};
use crate::{
    commands::BadInput,
    model::percentile,
    store::{
        Store,
        counts::Rollup,
        hours::{HOUR_MS, by_minute_since},
        reads::{
            run_series::{self, ChartSubject},
            stats,
        },
        spread::DurationSpread,
    },
};

/// Run statistics for a chart.
#[derive(SimpleObject)]
pub(crate) struct RunStats {
    /// Start of the first step: a whole multiple of the step length.
    from: Instant,
    /// End of the last step.
    until: Instant,
    /// The length of a step.
    step_seconds: i64,
    /// One entry per step, the oldest first; at most 1500.
    #[graphql(complexity = "100 * child_complexity")]
    points: Vec<RunStat>,
    /// False if more than 50,000 runs or fires matched the tag or schedule: then only the newest of
    /// them are counted, and the first steps are incomplete.
    is_complete: bool,
}

/// The counts of one step.
#[derive(SimpleObject)]
pub(crate) struct RunStat {
    /// Start of the step.
    at: Instant,
    /// Runs that ended.
    ended: Long,
    /// Runs that succeeded.
    succeeded: Long,
    /// Runs whose attempts all failed.
    failed: Long,
    /// Runs whose last attempt took too long.
    timed_out: Long,
    /// Runs that were stopped on request or by the overlap policy.
    cancelled: Long,
    /// Runs that recovery had started or taken over.
    recovered: Long,
    /// Instants that were missed.
    missed: Long,
    /// Instants that were skipped.
    skipped: Long,
    /// Fires that were abandoned before they had a run; a run that was given up counts as failed.
    abandoned: Long,
    /// Average time from start to end; null if no ended run had started.
    average_duration_ms: Option<f64>,
    /// The longest time from start to end; null if no ended run had started.
    max_duration_ms: Option<Long>,
    /// Average time from due time to hand-off, of runs started by fires; null if there are none.
    average_lateness_ms: Option<f64>,
    /// The longest time from due time to hand-off, of runs started by fires; null if there are
    /// none.
    max_lateness_ms: Option<Long>,
    /// Durations of these runs; null if no ended run had started.
    durations: Option<Percentiles>,
    /// How late runs started by fires were; null if there are none.
    latenesses: Option<Percentiles>,
    /// The average number of runs that waited for a node or for their group, counted every few
    /// seconds; null with `tag` or `scheduleId`, because queues are counted by namespace.
    average_waiting_runs: Option<f64>,
    /// The average number of jobs that waited for a worker, counted likewise.
    average_waiting_jobs: Option<f64>,
}

/// Percentiles in milliseconds, with an error of at most a sixteenth.
#[derive(Clone, Copy, SimpleObject)]
pub(crate) struct Percentiles {
    /// The median.
    p50: Long,
    /// The 95th percentile.
    p95: Long,
    /// The 99th percentile.
    p99: Long,
}

impl Percentiles {
    /// None if there are no values. No percentile exceeds the maximum, which is known exactly.
    pub(super) fn of(spread: &DurationSpread, max: i64) -> Option<Self> {
        let of = |percent| Some(spread.percentile(percent)?.min(max).into());
        Some(Self { p50: of(50)?, p95: of(95)?, p99: of(99)? })
    }
}

impl Percentiles {
    /// Exact percentiles of sorted values; None if there are none.
    pub(super) fn exact(sorted: &[i64]) -> Option<Self> {
        let of = |percent| Some(percentile(sorted, percent)?.into());
        Some(Self { p50: of(50)?, p95: of(95)?, p99: of(99)? })
    }
}

const MINUTE: i64 = 60;
const HOUR: i64 = HOUR_MS / 1_000;

/// How many steps a range may have.
pub(super) struct StepLimits {
    /// Maximum number of steps.
    pub(super) max: i64,
    /// Maximum number of steps if the caller specifies no step length.
    pub(super) usual: i64,
}

/// The steps of a chart.
const CHART: StepLimits = StepLimits { max: 1_500, usual: 400 };

/// A range divided into steps, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChartSteps {
    /// The start of the first step.
    first: i64,
    /// The end of the last step.
    last: i64,
    /// The length of a step.
    pub(super) length: i64,
}

impl ChartSteps {
    /// The start of the first step.
    pub(super) fn begin(self) -> Timestamp {
        instant(self.first)
    }

    /// The end of the last step.
    pub(super) fn end(self) -> Timestamp {
        instant(self.last)
    }

    pub(super) fn length_ms(self) -> i64 {
        self.length * 1_000
    }

    /// The figures of all steps, from the roll-ups of those that have any, in order.
    pub(super) fn points(self, found: Vec<(i64, Rollup)>, now: DateTime<Utc>) -> Vec<RunStat> {
        let mut found = found.into_iter().peekable();
        (0..(self.last - self.first) / self.length)
            .map(|index| {
                let rollup = found.next_if(|(step, _)| *step == index).unwrap_or_default().1;
                let from = self.first + index * self.length;
                RunStat::of(instant(from), &rollup, past_ms(from, from + self.length, now))
            })
            .collect()
    }

    /// How much of the range is past, in milliseconds.
    pub(super) fn past_ms(self, now: DateTime<Utc>) -> i64 {
        past_ms(self.first, self.last, now)
    }
}

/// How much of a period is past, in milliseconds; at least a second, so that a period that begins
/// has averages.
fn past_ms(from: i64, until: i64, now: DateTime<Utc>) -> i64 {
    ((until * 1_000).min(now.timestamp_millis()) - from * 1_000).max(1_000)
}

fn instant(seconds: i64) -> Timestamp {
    Timestamp(seconds.saturating_mul(1_000))
}

/// Default step lengths in seconds, chosen so that a chart is easy to read.
const USUAL: [i64; 7] = [60, 5 * 60, 15 * 60, 3_600, 6 * 3_600, 24 * 3_600, 7 * 24 * 3_600];

impl RunStats {
    /// Reads the statistics of a namespace or a part of it, between two instants.
    pub(super) async fn read(
        store: &Store,
        of: &ChartSubject,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
        step: Option<i32>,
        now: DateTime<Utc>,
    ) -> Result<Self> {
        let by_minute = if of.is_whole() { by_minute_since(now) } else { Timestamp(i64::MIN) };
        let steps = CHART.steps(from, until, step, by_minute)?;
        let (begin, end, step_ms) = (steps.begin(), steps.end(), steps.length_ms());
        let (found, is_complete) = if of.is_whole() {
            (stats::steps(store, &of.within, begin, end, step_ms).await?, true)
        } else {
            let series = run_series::steps(store, of, begin, end, step_ms).await?;
            (series.steps, series.is_complete)
        };
        let mut points = steps.points(found, now);
        if !of.is_whole() {
            points.iter_mut().for_each(RunStat::forget_queues);
        }
        let (from, until) = (begin.into(), end.into());
        Ok(Self { from, until, step_seconds: steps.length, points, is_complete })
    }
}

impl RunStat {
    /// The figures of a period of which `past_ms` milliseconds are past.
    pub(super) fn of(
        at: Timestamp,
        Rollup { counts: sums, durations, latenesses }: &Rollup,
        past_ms: i64,
    ) -> Self {
        Self {
            at: at.into(),
            ended: sums.ended().into(),
            succeeded: sums.succeeded.into(),
            failed: sums.failed.into(),
            timed_out: sums.timed_out.into(),
            cancelled: sums.cancelled.into(),
            recovered: sums.recovered.into(),
            missed: sums.missed.into(),
            skipped: sums.skipped.into(),
            abandoned: sums.abandoned.into(),
            average_duration_ms: share(sums.duration_sum_ms, sums.started),
            max_duration_ms: (sums.started > 0).then_some(sums.duration_max_ms.into()),
            average_lateness_ms: share(sums.lateness_sum_ms, sums.fired),
            max_lateness_ms: (sums.fired > 0).then_some(sums.lateness_max_ms.into()),
            durations: Percentiles::of(durations, sums.duration_max_ms),
            latenesses: Percentiles::of(latenesses, sums.lateness_max_ms),
            average_waiting_runs: share(sums.runs_waited_ms, past_ms),
            average_waiting_jobs: share(sums.jobs_waited_ms, past_ms),
        }
    }

    /// Removes the figures of the queues, which are not known for a tag or a schedule.
    fn forget_queues(&mut self) {
        (self.average_waiting_runs, self.average_waiting_jobs) = (None, None);
    }
}

impl StepLimits {
    /// Divides a range into steps. No step is shorter than an hour before `by_minute`, because
    /// roll-ups from that time are hourly.
    pub(super) fn steps(
        &self,
        from: DateTime<Utc>,
        until: DateTime<Utc>,
        step: Option<i32>,
        by_minute: Timestamp,
    ) -> std::result::Result<ChartSteps, BadInput> {
        let (from_s, until_s) = (from.timestamp(), until.timestamp());
        if from_s >= until_s {
            let help = "give an instant before 'until'";
            return Err(BadInput::new("from", from.to_rfc3339(), "is not before 'until'", help));
        }
        let range = until_s - from_s;
        let step = match step.map(i64::from) {
            Some(step) if step < MINUTE || step % MINUTE != 0 => {
                let help = "give a multiple of 60: roll-ups are by minute";
                return Err(BadInput::new("step", step, "is not a whole number of minutes", help));
            }
            Some(step) => step,
            None => {
                let fits = |step: &&i64| range / **step <= self.usual;
                let longest = range / self.usual / MINUTE * MINUTE + MINUTE;
                USUAL.iter().find(fits).copied().unwrap_or(longest)
            }
        };
        if range / step > self.max {
            let problem = format!("makes {} steps", range / step);
            let help = format!("give at least {}", (range / self.max / MINUTE + 1) * MINUTE);
            return Err(BadInput::new("step", step, problem, help));
        }
        let first = |step: i64| from_s.div_euclid(step) * step;
        let is_by_hour = first(step).saturating_mul(1_000) < by_minute.0;
        let length = if is_by_hour { (step + HOUR - 1) / HOUR * HOUR } else { step };
        let last = until_s.div_euclid(length) * length;
        let last = if last < until_s { last + length } else { last };
        Ok(ChartSteps { first: first(length), last, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    /// For roll-ups that are all by the minute.
    const AGES_AGO: Timestamp = Timestamp(i64::MIN);

    fn steps(
        from: DateTime<Utc>,
        until: DateTime<Utc>,
        step: Option<i32>,
        by_minute: Timestamp,
    ) -> std::result::Result<(i64, i64, i64), BadInput> {
        let steps = CHART.steps(from, until, step, by_minute)?;
        Ok((steps.first, steps.last, steps.length))
    }

    #[test]
    fn a_step_that_lasts_is_as_long_as_its_past() {
        let past = [-30, 0, 59, 61, 250, 300, 900].map(|now| past_ms(0, 300, at(now)));
        assert_eq!(past, [1_000, 1_000, 59_000, 61_000, 250_000, 300_000, 300_000]);
        let later = at(59) + chrono::TimeDelta::milliseconds(250);
        assert_eq!(past_ms(0, 300, later), 59_250);
    }

    #[test]
    fn old_statistics_have_steps_of_hours() {
        let since = Timestamp(7_200_000);
        assert_eq!(steps(at(7_200), at(7_500), Some(60), since), Ok((7_200, 7_500, 60)));
        assert_eq!(steps(at(7_199), at(7_500), Some(60), since), Ok((3_600, 10_800, 3_600)));
        assert_eq!(steps(at(0), at(7_500), Some(5_400), since), Ok((0, 14_400, 7_200)));
        assert_eq!(steps(at(0), at(86_400), None, since), Ok((0, 86_400, 3_600)));
    }

    #[test]
    fn steps_begin_at_whole_multiples_of_their_length_and_reach_to_the_end() {
        assert_eq!(steps(at(61), at(3_601), None, AGES_AGO), Ok((60, 3_660, 60)));
        assert_eq!(steps(at(0), at(3_600), Some(600), AGES_AGO), Ok((0, 3_600, 600)));
        assert_eq!(steps(at(-1), at(1), Some(60), AGES_AGO), Ok((-60, 60, 60)));
    }

    #[test]
    fn without_a_step_a_chart_has_a_few_hundred() {
        let day = 86_400;
        assert_eq!(steps(at(0), at(day), None, AGES_AGO).map(|(_, _, step)| step), Ok(300));
        assert_eq!(
            steps(at(0), at(45 * day), None, AGES_AGO).map(|(_, _, step)| step),
            Ok(6 * 3_600)
        );
        let (first, last, step) = steps(at(0), at(40_000 * day), None, AGES_AGO).unwrap();
        assert!((last - first) / step <= CHART.usual + 1 && step % 60 == 0, "{step}");
    }

    #[test]
    fn a_chart_is_bounded() {
        let error = steps(at(0), at(60 * 1_501), Some(60), AGES_AGO).unwrap_err();
        assert_eq!(error.to_string(), "step \"60\": makes 1501 steps; give at least 120");
        let error = steps(at(0), at(3_600), Some(90), AGES_AGO).unwrap_err();
        assert!(error.to_string().contains("not a whole number of minutes"), "{error}");
        assert!(steps(at(60), at(60), None, AGES_AGO).is_err());
    }
}

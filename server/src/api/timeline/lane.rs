//! One lane of the timeline.

use std::{collections::BTreeSet, ops::Bound};

use async_graphql::{ID, Object, SimpleObject};
use entity::{Timestamp, schedule::Model};
use uuid::Uuid;

use super::planned::TimelinePlan;
use crate::{
    api::{
        fire::{ReasonCode, Verdict},
        page::DECLARED,
        run::RunState,
        scalar::{Instant, Long},
        schedule::Schedule,
    },
    store::reads::{
        lane_history::{LaneHistory, LaneMark, LaneRun, RunStep},
        timeline::TimelineRange,
    },
};

/// What one schedule did and will do in a range of time.
pub(crate) struct TimelineLane {
    row: Model,
    runs: Vec<TimelineRun>,
    folds: Vec<TimelineFold>,
    marks: Vec<TimelineMark>,
    plans: Vec<TimelinePlan>,
    overlaps: Vec<Instant>,
    usual_ms: Option<i64>,
    is_complete: bool,
}

impl TimelineLane {
    pub(super) fn new(
        row: Model,
        history: LaneHistory,
        plans: Vec<TimelinePlan>,
        usual_ms: Option<i64>,
        range: &TimelineRange,
    ) -> Self {
        let LaneHistory { runs, steps, marks, is_complete } = history;
        Self {
            row,
            overlaps: overlaps(&runs, &marks, range),
            folds: folds(&steps, range),
            marks: marks.into_iter().map(TimelineMark::from).collect(),
            runs: runs.into_iter().map(TimelineRun::from).collect(),
            plans,
            usual_ms,
            is_complete,
        }
    }

    pub(super) fn id(&self) -> Uuid {
        self.row.id
    }

    pub(super) fn name(&self) -> &str {
        &self.row.name
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
            && self.folds.is_empty()
            && self.marks.is_empty()
            && self.plans.is_empty()
    }
}

/// What one schedule did and will do in a range of time.
#[Object]
impl TimelineLane {
    /// The schedule.
    async fn schedule(&self) -> Schedule {
        Schedule(self.row.clone())
    }

    /// The runs that were alive at some time in the range, in the order in which they began; empty
    /// if there are more than 200, which are in `folds`.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn runs(&self) -> &[TimelineRun] {
        &self.runs
    }

    /// The runs counted in bars, if there are more than 200 in the range.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn folds(&self) -> &[TimelineFold] {
        &self.folds
    }

    /// The fires that have no run. Those with the same verdict in the same 120th of the range are
    /// one mark.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn marks(&self) -> &[TimelineMark] {
        &self.marks
    }

    /// The upcoming fires in the range, if nothing changes.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn planned(&self) -> &[TimelinePlan] {
        &self.plans
    }

    /// The instants of the schedule at which an earlier run of it was still alive; empty if its
    /// runs are counted in bars.
    async fn overlaps(&self) -> &[Instant] {
        &self.overlaps
    }

    /// How long a run usually takes: the median of those of the schedule's newest 10 runs in the
    /// last 30 days that succeeded. Null if there is no such run, or if the range ends in the past.
    async fn usual_ms(&self) -> Option<Long> {
        self.usual_ms.map(Long)
    }

    /// False if the schedule has too many runs and fires in the range to read them all: then the
    /// oldest ones are left out.
    async fn is_complete(&self) -> bool {
        self.is_complete
    }
}

/// A run of a lane.
#[derive(SimpleObject)]
pub(crate) struct TimelineRun {
    /// The run's id.
    id: ID,
    /// Whether the run waits or is running, or how it ended.
    state: RunState,
    /// The instant that the run is for, before jitter.
    scheduled_at: Instant,
    /// When the run was created.
    created_at: Instant,
    /// When the first attempt started; null if none has.
    started_at: Option<Instant>,
    /// When the run ended; null if it has not.
    finished_at: Option<Instant>,
}

impl From<LaneRun> for TimelineRun {
    fn from(run: LaneRun) -> Self {
        Self {
            id: run.id.into(),
            state: run.state.into(),
            scheduled_at: run.scheduled_at.into(),
            created_at: run.created_at.into(),
            started_at: run.started_at.map(Instant::from),
            finished_at: run.finished_at.map(Instant::from),
        }
    }
}

/// Many runs of a lane as one bar. Runs of which none failed and others are in different bars.
#[derive(Debug, PartialEq, Eq, SimpleObject)]
pub(crate) struct TimelineFold {
    /// When the first of the runs began.
    from: Instant,
    /// When the last of them ended; now if it has not.
    to: Instant,
    /// How many runs there are.
    runs: Long,
    /// How many of them failed or timed out.
    failed: Long,
    /// How many of them have not ended.
    live: Long,
}

/// Fires of a lane without a run.
#[derive(SimpleObject)]
pub(crate) struct TimelineMark {
    /// The first instant.
    at: Instant,
    /// The last instant: `at` if there is one.
    last_at: Instant,
    /// What became of the fires.
    verdict: Verdict,
    /// Why the fires have this verdict; null if the reasons differ.
    reason: Option<ReasonCode>,
    /// How many instants there are, including those of the same ledger row outside the range.
    fires: Long,
}

impl From<LaneMark> for TimelineMark {
    fn from(mark: LaneMark) -> Self {
        Self {
            at: mark.first_at.into(),
            last_at: mark.last_at.into(),
            verdict: mark.verdict.into(),
            reason: (mark.reasons == 1).then(|| mark.reason.into()),
            fires: mark.fires.into(),
        }
    }
}

/// Adjacent steps as one bar, apart from those in which runs failed.
fn folds(steps: &[RunStep], range: &TimelineRange) -> Vec<TimelineFold> {
    let mut bars: Vec<TimelineFold> = Vec::new();
    let mut before: Option<(i64, bool)> = None;
    for step in steps {
        let has_failed = step.failed > 0;
        let is_next = before == Some((step.step - 1, has_failed));
        before = Some((step.step, has_failed));
        let to = Instant::from(step.ended.min(range.until));
        match bars.last_mut().filter(|_| is_next) {
            Some(bar) => {
                bar.to = bar.to.max(to);
                bar.runs.0 += step.runs;
                bar.failed.0 += step.failed;
                bar.live.0 += step.live;
            }
            None => bars.push(TimelineFold {
                from: step.begun.into(),
                to,
                runs: step.runs.into(),
                failed: step.failed.into(),
                live: step.live.into(),
            }),
        }
    }
    bars
}

/// The instants in the range at which an earlier run was alive, in order. They are the instants that
/// the ledger has, so an edit of the timing does not move them.
fn overlaps(runs: &[LaneRun], marks: &[LaneMark], range: &TimelineRange) -> Vec<Instant> {
    let of_fires = runs.iter().filter(|run| run.fire_id.is_some()).map(|run| run.scheduled_at);
    let of_marks = marks.iter().flat_map(|mark| [mark.first_at, mark.last_at]);
    let instants: BTreeSet<Timestamp> = of_fires.chain(of_marks).collect();
    let met = |run: &LaneRun| {
        let after = run.scheduled_at.max(run.created_at);
        let next = instants.range((Bound::Excluded(run.scheduled_at), Bound::Unbounded));
        let end = run.finished_at.unwrap_or(range.now).min(range.until);
        next.copied().find(|at| *at >= after).filter(|at| *at < end && *at >= range.from)
    };
    let all: BTreeSet<Timestamp> = runs.iter().filter_map(met).collect();
    all.into_iter().map(Instant::from).collect()
}

#[cfg(test)]
mod tests {
    use entity::{
        fire::{Reason, Verdict},
        run::State,
    };

    use super::*;

    const RANGE: TimelineRange =
        TimelineRange { from: Timestamp(0), until: Timestamp(1_200), now: Timestamp(1_000) };

    fn step(step: i64, runs: i64, failed: i64) -> RunStep {
        let (begun, ended) = (Timestamp(step * 10), Timestamp(step * 10 + 12));
        RunStep { schedule_id: Uuid::nil(), step, runs, failed, live: 0, begun, ended }
    }

    fn run(at: i64, to: Option<i64>) -> LaneRun {
        LaneRun {
            id: Uuid::nil(),
            schedule_id: Uuid::nil(),
            state: State::Running,
            fire_id: Some(Uuid::nil()),
            scheduled_at: Timestamp(at),
            created_at: Timestamp(at),
            started_at: Some(Timestamp(at)),
            finished_at: to.map(Timestamp),
        }
    }

    #[test]
    fn adjacent_steps_are_one_bar_apart_from_failures() {
        let steps = [step(0, 9, 0), step(1, 10, 0), step(2, 10, 2), step(3, 10, 0), step(9, 1, 0)];
        let bars = folds(&steps, &RANGE);
        let counts: Vec<_> = bars.iter().map(|bar| (bar.runs.0, bar.failed.0)).collect();
        assert_eq!(counts, [(19, 0), (10, 2), (10, 0), (1, 0)]);
        assert_eq!(bars.first().map(|bar| bar.to), Some(Instant::from(Timestamp(22))));
    }

    #[test]
    fn a_run_that_is_alive_at_the_next_instant_overlaps_it() {
        let skipped = LaneMark {
            schedule_id: Uuid::nil(),
            verdict: Verdict::Skipped,
            reason: Reason::Overlap,
            reasons: 1,
            fires: 1,
            rows: 1,
            first_at: Timestamp(400),
            last_at: Timestamp(400),
        };
        let runs = [run(100, Some(150)), run(200, Some(200)), run(300, Some(450)), run(900, None)];
        let at = |at: i64| Instant::from(Timestamp(at));
        assert_eq!(overlaps(&runs, std::slice::from_ref(&skipped), &RANGE), [at(400)]);
        let runs = [run(100, Some(250)), run(200, Some(210)), run(300, None)];
        assert_eq!(overlaps(&runs, std::slice::from_ref(&skipped), &RANGE), [at(200), at(400)]);
        assert!(overlaps(&[], &[], &RANGE).is_empty());
    }
}

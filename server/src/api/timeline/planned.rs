//! The upcoming fires of a lane: one by one, or counted by the step of the range if there are many.

use async_graphql::SimpleObject;
use chrono::TimeDelta;
use entity::Timestamp;

use crate::{
    api::{
        scalar::{Instant, Long},
        upcoming::{FiresLeft, count},
    },
    store::reads::timeline::{STEPS, TimelineRange},
};

/// Maximum number of upcoming fires of a lane that are listed one by one.
const MAX_PLANNED: u64 = 200;
const MOMENT: TimeDelta = TimeDelta::milliseconds(1);

/// An upcoming fire, or many adjacent ones as one bar.
#[derive(Clone, Debug, PartialEq, Eq, SimpleObject)]
pub(crate) struct TimelinePlan {
    /// The instant of the fire, before jitter; the first instant that the bar covers if there are
    /// many.
    pub(super) at: Instant,
    /// When the run ends if it takes as long as usual: the median of those of the schedule's newest
    /// 10 runs in the last 30 days that succeeded; null if there is no such run. The end of the bar
    /// if there are many fires.
    pub(super) to: Option<Instant>,
    /// How many fires the bar covers: 1 unless there are many in the range.
    pub(super) starts: Long,
}

/// The upcoming fires in the range.
pub(super) fn planned(
    left: &FiresLeft,
    range: &TimelineRange,
    usual_ms: Option<i64>,
) -> Vec<TimelinePlan> {
    let until = range.until.utc();
    if left.after >= until {
        return Vec::new();
    }
    let all = count(&left.timetable, left.after, until - MOMENT).min(left.left);
    if all > MAX_PLANNED {
        return counted(left, range);
    }
    let mut plans = Vec::new();
    let mut after = left.after;
    for _ in 0..all {
        let Some(fire) = left.timetable.next_allowed(after).filter(|fire| fire.at < until) else {
            break;
        };
        let end = usual_ms.map(|usual| Timestamp(Timestamp::from(fire.at).0.saturating_add(usual)));
        plans.push(TimelinePlan {
            at: fire.at.into(),
            to: end.map(Instant::from),
            starts: Long(1),
        });
        after = fire.at;
    }
    plans
}

/// The fires counted by step; adjacent steps with fires are one bar.
fn counted(left: &FiresLeft, range: &TimelineRange) -> Vec<TimelinePlan> {
    let mut remaining = left.left;
    let mut bars: Vec<TimelinePlan> = Vec::new();
    for step in 0..=STEPS {
        let begin = range.from.0 + step * range.step_ms();
        let end = Timestamp((begin + range.step_ms()).min(range.until.0));
        let after = (Timestamp(begin).utc() - MOMENT).max(left.after);
        if end.utc() - MOMENT <= after || remaining == 0 {
            continue;
        }
        let fires = count(&left.timetable, after, end.utc() - MOMENT).min(remaining);
        remaining -= fires;
        if fires == 0 {
            continue;
        }
        let (at, fires) = (Instant::from(after + MOMENT), Long::from(fires));
        match bars.last_mut() {
            Some(bar) if bar.to == Some(at) => {
                bar.to = Some(end.into());
                bar.starts.0 += fires.0;
            }
            Some(_) | None => bars.push(TimelinePlan { at, to: Some(end.into()), starts: fires }),
        }
    }
    bars
}

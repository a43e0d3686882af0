//! How many runs were executed at once.

use async_graphql::SimpleObject;
use entity::Timestamp;

use crate::{
    api::scalar::Instant,
    store::reads::timeline::{Execution, MAX_EXECUTIONS, TimelineRange},
};

const MINUTE_MS: i64 = 60_000;
/// The lengths of a step in minutes, and the maximum number of steps.
const STEPS: [i64; 5] = [1, 5, 15, 30, 120];
const MAX_STEPS: i64 = 400;

/// How many runs were executed at once.
#[derive(Debug, PartialEq, Eq, SimpleObject)]
pub(crate) struct TimelineLoad {
    /// Start of the first step: a whole number of steps since 1970.
    from: Instant,
    /// The length of a step in seconds: a minute, or longer for a range of more than 400 minutes.
    step_seconds: i32,
    /// The largest number of runs that were executed at the same time in each step, from `from` on:
    /// one number per step up to now or the end of the range. A run counts from the start of its
    /// first attempt to its end.
    peaks: Vec<u32>,
    /// False if there were more than 50,000 runs: then the oldest of them are left out.
    is_complete: bool,
}

impl TimelineLoad {
    pub(super) fn of(executions: &[Execution], range: &TimelineRange) -> Self {
        let length = range.until.0 - range.from.0;
        let fits = |minutes: &i64| length <= minutes * MINUTE_MS * (MAX_STEPS - 1);
        let minutes = STEPS.into_iter().find(fits).unwrap_or(120);
        let step_ms = minutes * MINUTE_MS;
        let from = Timestamp(range.from.0.div_euclid(step_ms) * step_ms);
        let until = range.until.min(Timestamp(range.now.0 + 1));
        Self {
            from: from.into(),
            step_seconds: i32::try_from(minutes * 60).unwrap_or(i32::MAX),
            peaks: peaks(executions, from.0, until.0, step_ms),
            is_complete: u64::try_from(executions.len()).is_ok_and(|read| read < MAX_EXECUTIONS),
        }
    }
}

/// The largest number of concurrent executions in each step from `from` up to `until`. A run that
/// ends when another one starts is not concurrent with it.
fn peaks(executions: &[Execution], from: i64, until: i64, step_ms: i64) -> Vec<u32> {
    let steps = ((until - from).max(0) + step_ms - 1) / step_ms;
    let mut peaks = vec![0_u32; usize::try_from(steps).unwrap_or_default()];
    let mut changes = Vec::with_capacity(executions.len() * 2);
    for one in executions {
        let begin = one.started_at.0.max(from);
        // An execution that took no time still counts.
        let end = one.finished_at.map_or(until, |end| end.0.max(begin + 1)).min(until);
        if begin < end {
            changes.push((begin, 1_i64));
            changes.push((end, -1));
        }
    }
    changes.sort_unstable();
    let (mut alive, mut step) = (0_i64, 0_usize);
    for group in changes.chunk_by(|one, other| one.0 == other.0) {
        let Some((at, _)) = group.first() else { continue };
        let here = usize::try_from((at - from) / step_ms).unwrap_or_default();
        let is_begin = (at - from) % step_ms == 0;
        // Those that were alive before this instant were alive in all steps since the last change,
        // but not in one that begins at this instant.
        while step < here {
            step += 1;
            if let Some(peak) = peaks.get_mut(step).filter(|_| step < here || !is_begin) {
                *peak = u32::try_from(alive).unwrap_or_default();
            }
        }
        alive += group.iter().map(|(_, change)| change).sum::<i64>();
        if let Some(peak) = peaks.get_mut(here) {
            *peak = (*peak).max(u32::try_from(alive).unwrap_or_default());
        }
    }
    peaks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execution(from: i64, to: Option<i64>) -> Execution {
        Execution { started_at: Timestamp(from), finished_at: to.map(Timestamp) }
    }

    #[test]
    fn each_step_has_the_most_that_were_executed_at_once() {
        let runs = [
            execution(-5, Some(12)),
            execution(3, Some(4)),
            execution(4, Some(5)),
            execution(25, None),
            execution(41, Some(41)),
        ];
        assert_eq!(peaks(&runs, 0, 45, 10), [2, 1, 1, 1, 2]);
        assert_eq!(peaks(&[], 0, 20, 10), [0, 0]);
        assert_eq!(peaks(&[execution(0, Some(10)), execution(10, Some(30))], 0, 30, 10), [1, 1, 1]);
        assert!(peaks(&runs, 10, 10, 10).is_empty());
    }

    #[test]
    fn a_long_range_has_long_steps() {
        let load = |hours: i64| {
            let until = Timestamp(hours * 60 * MINUTE_MS);
            let range = TimelineRange { from: Timestamp(0), until, now: until };
            let load = TimelineLoad::of(&[], &range);
            (load.step_seconds, load.peaks.len())
        };
        assert_eq!([load(1), load(6)], [(60, 60), (60, 360)]);
        assert_eq!(
            [load(24), load(24 * 7), load(24 * 31)],
            [(300, 288), (1_800, 336), (7_200, 372)]
        );
    }
}

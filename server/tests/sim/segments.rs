//! The segments of a schedule's life: in each of them its fires stay the same. Each has the
//! instants that the oracle computes.

use std::{collections::BTreeMap, ops::Bound};

use carillon::model::Timing;
use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, fire};

use super::{misfires::Span, oracle};

/// A part of a life in which the fires stay the same.
pub(crate) struct Segment {
    pub(crate) timing: Timing,
    pub(crate) first_version: i32,
    /// All instants of the segment come after this time.
    pub(crate) after: DateTime<Utc>,
    /// `Some` once the segment has ended.
    pub(crate) over: Option<Over>,
}

/// The point up to which an ended segment is accounted for.
pub(crate) struct Over {
    /// Instants before this time must be accounted for.
    pub(crate) must_before: DateTime<Utc>,
    /// Instants up to this time may be accounted for.
    pub(crate) may_until: DateTime<Utc>,
}

pub(crate) const TICK: TimeDelta = TimeDelta::milliseconds(1);

/// The instants of a segment.
pub(crate) struct Instants {
    /// All instants that any claim may have seen. Some may come after the end of the segment: if a
    /// clock was set back before an edit, the segment ends before instants that a claim has already
    /// seen.
    pub(crate) all: BTreeMap<DateTime<Utc>, fire::Kind>,
    /// Instants up to this time may be accounted for.
    pub(crate) may_until: DateTime<Utc>,
    /// Instants before this time must be accounted for.
    pub(crate) must_before: DateTime<Utc>,
}

impl Segment {
    /// The instants of the segment up to `end`, and beyond it up to the last instant that was
    /// skipped `ahead` or that a claim has `seen`.
    pub(crate) fn instants(
        &self,
        anchor: DateTime<Utc>,
        end: DateTime<Utc>,
        ahead: Option<DateTime<Utc>>,
        seen: Option<DateTime<Utc>>,
    ) -> Instants {
        let jitter = TimeDelta::seconds(self.timing.jitter_seconds);
        let (must_before, may_until) = match &self.over {
            None => (end - jitter + TICK, end),
            Some(over) => (over.must_before, over.may_until),
        };
        let until = may_until.max(must_before - TICK).min(end);
        let may_until = ahead.map_or(until, |ahead| ahead.max(until));
        let last = seen.map_or(may_until, |seen| seen.max(may_until));
        let timing = oracle_timing(&self.timing, anchor);
        Instants { all: oracle::fires(&timing, self.after, last), may_until, must_before }
    }
}

/// Converts a timing to the form that the oracle accepts.
pub(crate) fn oracle_timing(timing: &Timing, anchor: DateTime<Utc>) -> oracle::Timing<'_> {
    oracle::Timing {
        expressions: timing.expressions.iter().map(String::as_str).collect(),
        zone: timing.zone.parse().expect("a zone that chrono-tz knows"),
        gap: timing.gap,
        overlap: timing.overlap,
        anchor,
        bounds: (timing.start_at, timing.end_at),
    }
}

/// Those of the `instants` that lie within a span. The span may end before it begins; then it
/// contains none.
pub(crate) fn within<T>(
    instants: &BTreeMap<DateTime<Utc>, T>,
    (behind, until): Span,
) -> impl Iterator<Item = (&DateTime<Utc>, &T)> {
    let instant = |ms: i64| Timestamp(ms).utc();
    let span = (Bound::Excluded(instant(behind)), Bound::Included(instant(until)));
    (behind < until).then(|| instants.range(span)).into_iter().flatten()
}

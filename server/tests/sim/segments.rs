//! The parts of a schedule's life in which its fires stay the same, and the instants of each
//! according to the oracle.

use std::{collections::BTreeMap, ops::Bound};

use carillon::model::Timing;
use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, fire};

use super::{misfires::Span, oracle};

/// A part of a life in which the fires stay the same.
pub(crate) struct Segment {
    pub(crate) timing: Timing,
    pub(crate) first_version: i32,
    /// The segment's instants lie after this one.
    pub(crate) after: DateTime<Utc>,
    /// Set when the segment is over.
    pub(crate) over: Option<Over>,
}

/// How far a segment got.
pub(crate) struct Over {
    /// Instants before this must be accounted for.
    pub(crate) must_before: DateTime<Utc>,
    /// Instants up to this may be accounted for.
    pub(crate) may_until: DateTime<Utc>,
}

pub(crate) const TICK: TimeDelta = TimeDelta::milliseconds(1);

/// The instants of a segment.
pub(crate) struct Instants {
    /// All instants that any claim may have seen. They may reach further than the segment: an edit
    /// on a clock that was set back ends it before instants that a claim has seen.
    pub(crate) all: BTreeMap<DateTime<Utc>, fire::Kind>,
    /// Instants up to this may be accounted for.
    pub(crate) may_until: DateTime<Utc>,
    /// Instants before this must be accounted for.
    pub(crate) must_before: DateTime<Utc>,
}

impl Segment {
    /// The segment's instants up to the `end`, or further if instants were skipped `ahead`, and up
    /// to those that a claim has `seen`.
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

/// The `instants` within a span, which may end before it begins.
pub(crate) fn within<T>(
    instants: &BTreeMap<DateTime<Utc>, T>,
    (behind, until): Span,
) -> impl Iterator<Item = (&DateTime<Utc>, &T)> {
    let instant = |ms: i64| Timestamp(ms).utc();
    let span = (Bound::Excluded(instant(behind)), Bound::Included(instant(until)));
    (behind < until).then(|| instants.range(span)).into_iter().flatten()
}

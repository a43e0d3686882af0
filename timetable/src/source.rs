use std::sync::Arc;

use crate::{
    definition::DstPolicy,
    fire::FireKind,
    lane::{self, Lane},
    pattern::Pattern,
    zone::Zone,
};

/// One compiled expression, as a source of fires. Instants are unix milliseconds.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Cron(Arc<Pattern>),
    Every(Every),
    At(i64),
    /// Never fires.
    Never,
}

/// A fire of a source: the unix millisecond, the clock's offset at that time, and the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) at: i64,
    pub(crate) offset: i64,
    pub(crate) kind: FireKind,
}

impl Source {
    /// The first fire after `after`.
    pub(crate) fn next(&self, zone: &Zone, dst: DstPolicy, after: i64) -> Option<Moment> {
        match self {
            Source::Cron(pattern) => {
                let from = after.div_euclid(1_000) + 1;
                Lane { pattern, zone, dst }.next(from).map(Moment::of)
            }
            Source::Every(every) => Some(Moment::absolute(zone, every.next(after)?)),
            Source::At(at) => (*at > after).then(|| Moment::absolute(zone, *at)),
            Source::Never => None,
        }
    }

    /// The last fire at or before `to` and after `after`.
    pub(crate) fn previous(
        &self,
        zone: &Zone,
        dst: DstPolicy,
        to: i64,
        after: i64,
    ) -> Option<Moment> {
        match self {
            Source::Cron(pattern) => {
                let (to, from) = (to.div_euclid(1_000), after.div_euclid(1_000) + 1);
                Lane { pattern, zone, dst }.previous(to, from).map(Moment::of)
            }
            Source::Every(every) => {
                let at = every.previous(to).filter(|at| *at > after)?;
                Some(Moment::absolute(zone, at))
            }
            Source::At(at) => (*at > after && *at <= to).then(|| Moment::absolute(zone, *at)),
            Source::Never => None,
        }
    }
}

impl Moment {
    fn of(hit: lane::Hit) -> Moment {
        Moment { at: hit.at * 1_000, offset: hit.offset, kind: hit.kind }
    }

    /// An instant that does not depend on the clock.
    /// Its kind only tells how to read the local time.
    fn absolute(zone: &Zone, at: i64) -> Moment {
        let second = at.div_euclid(1_000);
        let span = zone.span_at(second);
        Moment { at, offset: span.offset, kind: lane::kind(&span, second + span.offset) }
    }
}

/// The instants `anchor + k * interval` for k from 1. They count from the anchor and not from the
/// previous run, so a late run does not shift the following ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Every {
    pub(crate) anchor: i64,
    pub(crate) interval: i64,
}

impl Every {
    pub(crate) fn next(self, after: i64) -> Option<i64> {
        let steps = after.checked_sub(self.anchor)?.div_euclid(self.interval).max(0) + 1;
        self.anchor.checked_add(self.interval.checked_mul(steps)?)
    }

    fn previous(self, to: i64) -> Option<i64> {
        let steps = to.checked_sub(self.anchor)?.div_euclid(self.interval);
        (steps > 0).then(|| self.anchor + self.interval * steps)
    }

    /// Number of fires in `(after, until]`.
    pub(crate) fn count(self, after: i64, until: i64) -> u64 {
        let steps = |to: i64| to.saturating_sub(self.anchor).div_euclid(self.interval).max(0);
        steps(until).abs_diff(steps(after))
    }

    pub(crate) fn fires_at(self, at: i64) -> bool {
        at > self.anchor && (at - self.anchor) % self.interval == 0
    }
}

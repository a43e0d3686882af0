//! One cron pattern on the clock of one zone.
//!
//! Between two clock changes a zone's clock runs straight (a [`Span`]), so an instant is a civil
//! time minus the span's offset, and nothing else. The effects of a clock change are confined to
//! the edges of spans, and are decided only here:
//!
//! ```text
//!           gap                              overlap
//!  span A ───────┐ · · · ┌──── span B ────────────┬────┐         first pass ends here
//!                │ no    │                        │////│
//!                │ such  │                    ┌────////┴──── span C
//!                │ time  │                    │second pass
//! ```
//!
//! - Wildcard times fire wherever a span shows them: not in a gap, and in both passes.
//! - Fixed times fire in the pass or passes that the policy selects. Those in a gap fire once, at
//!   the first instant of the span after it, unless the policy skips them. The nominal date
//!   decides, because the civil times of the gap are matched.
//! - A larger change (a zone that crosses the date line) is a correction: no policy applies,
//!   skipped times are not made up for, and repeated times fire again.
//!
//! Every search visits at most a handful of spans: if a span and everything after it contain
//! nothing before some civil time, the search continues at the span of that time.

use crate::{
    definition::{DstPolicy, Gap, Overlap},
    fire::FireKind,
    pattern::Pattern,
    zone::{HOUR, Span, TABULATED, Zone},
};

/// A gap is bridged if it is shorter than this; an overlap if it is not longer.
const CORRECTION: i64 = 3 * HOUR;

/// No zone's clock was ever further from UTC than this, so a civil time `c` is an instant in
/// `c - FURTHEST ..= c + FURTHEST`.
const FURTHEST: i64 = 26 * HOUR;

/// The calendar repeats after 400 years, which are whole weeks, and so does the effect of a rule
/// for all years: a time that exists in none of these years exists in no later one. One more year
/// covers the spans that extend past both ends.
const CYCLE: i64 = (400 * 365 + 97 + 366) * 24 * HOUR;

#[derive(Clone, Copy)]
pub(crate) struct Lane<'a> {
    pub(crate) pattern: &'a Pattern,
    pub(crate) zone: &'a Zone,
    pub(crate) dst: DstPolicy,
}

/// A fire: the unix second, the clock's offset then, and the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) at: i64,
    pub(crate) offset: i64,
    pub(crate) kind: FireKind,
}

impl Lane<'_> {
    /// The first fire at or after `from`.
    pub(crate) fn next(&self, from: i64) -> Option<Hit> {
        let mut span = self.zone.span_at(from);
        let mut from = from;
        // The instant since which nothing has fired under the zone's rule for all years.
        let mut barren = None;
        loop {
            let (low, high) = self.window(&span);
            let civil = (from + span.offset).max(low);
            let found = self.pattern.next(civil);
            let straight = found.filter(|found| *found < high).map(|found| hit(&span, found));
            if from <= span.start && self.shifts_into(&span) {
                // A regular fire at the first instant after the gap is the same fire.
                let regular = straight.filter(|regular| regular.at == span.start);
                return Some(regular.unwrap_or(shifted(&span)));
            }
            if straight.is_some() || span.is_last() {
                return straight;
            }
            // After a span that was searched from its start, nothing earlier can come: later spans
            // begin no earlier on the wall clock.
            let mut ahead = span.end;
            if civil <= low {
                ahead = ahead.max(found? - FURTHEST);
            }
            span = self.zone.span_at(ahead);
            from = span.start;
            if from >= TABULATED && self.pattern.days.in_every_year() {
                let since = *barren.get_or_insert(from);
                if from - since > CYCLE {
                    return None;
                }
            }
        }
    }

    /// The last fire at or before `to` and at or after `from`.
    pub(crate) fn previous(&self, to: i64, from: i64) -> Option<Hit> {
        let mut span = self.zone.span_at(to);
        let mut to = to;
        while to >= from {
            let (low, high) = self.window(&span);
            let civil = (to + span.offset).min(high - 1);
            let found = self.pattern.previous(civil);
            if let Some(found) = found.filter(|found| *found >= low) {
                return Some(hit(&span, found)).filter(|hit| hit.at >= from);
            }
            if span.start >= from && self.shifts_into(&span) {
                return Some(shifted(&span));
            }
            let mut behind = span.start - 1;
            if civil >= high - 1 {
                behind = behind.min(found? + FURTHEST);
            }
            if span.is_first() {
                return None;
            }
            span = self.zone.span_at(behind);
            to = span.end - 1;
        }
        None
    }

    /// The civil times that fire in a span, as a half-open interval: the whole span, except the
    /// pass of an overlap that the policy leaves out.
    pub(crate) fn window(&self, span: &Span) -> (i64, i64) {
        let (mut low, mut high) = (span.civil_start(), span.civil_end());
        if self.pattern.fixed {
            if overlaps(span.jump_in) && self.dst.overlap == Overlap::First {
                low -= span.jump_in;
            }
            if overlaps(span.jump_out) && self.dst.overlap == Overlap::Last {
                high += span.jump_out;
            }
        }
        (low, high)
    }

    /// Whether a fixed time in the gap before a span moves to the span's first instant.
    pub(crate) fn shifts_into(&self, span: &Span) -> bool {
        self.pattern.fixed
            && self.dst.gap == Gap::Shift
            && (1..CORRECTION).contains(&span.jump_in)
            && self
                .pattern
                .next(span.civil_start() - span.jump_in)
                .is_some_and(|missing| missing < span.civil_start())
    }
}

fn overlaps(jump: i64) -> bool {
    (-CORRECTION..0).contains(&jump)
}

fn shifted(span: &Span) -> Hit {
    Hit { at: span.start, offset: span.offset, kind: FireKind::Shifted }
}

fn hit(span: &Span, civil: i64) -> Hit {
    Hit { at: civil - span.offset, offset: span.offset, kind: kind(span, civil) }
}

/// Which of two equal local times a civil time of a span is, if it occurs twice.
pub(crate) fn kind(span: &Span, civil: i64) -> FireKind {
    if span.jump_in < 0 && civil < span.civil_start() - span.jump_in {
        FireKind::SecondOfTwo
    } else if span.jump_out < 0 && civil >= span.civil_end() + span.jump_out {
        FireKind::FirstOfTwo
    } else {
        FireKind::Normal
    }
}

//! One cron pattern on the clock of one zone.
//!
//! Between two clock changes a zone's clock runs straight (a [`Span`]), so an instant is just
//! a civil time minus the span's offset.
//! Clock changes have effects only at the edges of spans, and only this module decides them:
//!
//! ```text
//!           gap                              overlap
//!  span A ───────┐ · · · ┌──── span B ────────────┬────┐         first pass ends here
//!                │ no    │                        │////│
//!                │ such  │                    ┌────////┴──── span C
//!                │ time  │                    │second pass
//! ```
//!
//! - Wildcard times fire whenever the clock shows them: never in a gap, and in both passes.
//! - Fixed times fire in the pass or passes that the policy selects. A fixed time in a gap fires
//!   once, at the first instant of the span after the gap, unless the policy skips it. The civil
//!   times of the gap are matched, so the date of the missing time decides whether it fires.
//! - A larger change (a zone that crosses the date line) is a correction: no policy applies,
//!   skipped times are not made up for, and repeated times fire again.
//!
//! Every search visits only a handful of spans: if neither a span nor anything after it matches
//! before some civil time, the search continues in the span that contains that time.

use crate::{
    definition::{DstPolicy, Gap, Overlap},
    fire::FireKind,
    pattern::Pattern,
    zone::{HOUR, Span, TABULATED, Zone},
};

/// A gap is bridged if it is shorter than this, an overlap if it is not longer than this.
const CORRECTION: i64 = 3 * HOUR;

/// No zone's clock was ever further from UTC than this, so the instant of a civil time `c` lies in
/// `c - FURTHEST ..= c + FURTHEST`.
const FURTHEST: i64 = 26 * HOUR;

/// The calendar repeats after 400 years, which are whole weeks, and so do the effects of a zone's
/// rule for all years. A time that exists in none of these years exists in no later one.
/// One more year covers the spans that extend past both ends.
const CYCLE: i64 = (400 * 365 + 97 + 366) * 24 * HOUR;

#[derive(Clone, Copy)]
pub(crate) struct Lane<'a> {
    pub(crate) pattern: &'a Pattern,
    pub(crate) zone: &'a Zone,
    pub(crate) dst: DstPolicy,
}

/// A fire: the unix second, the clock's offset at that second, and the kind.
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
                // A regular fire at the first instant after
                // the gap is the same fire as the shifted one.
                let regular = straight.filter(|regular| regular.at == span.start);
                return Some(regular.unwrap_or(shifted(&span)));
            }
            if straight.is_some() || span.is_last() {
                return straight;
            }
            // If the span was searched from its start, the search skips ahead to near `found`:
            // later spans begin no earlier on the wall clock, so they contain no earlier match.
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

    /// Whether a fixed time in the gap before a span fires at the span's first instant.
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

/// Whether a civil time of a span occurs once, or is the first or the second of two.
pub(crate) fn kind(span: &Span, civil: i64) -> FireKind {
    if span.jump_in < 0 && civil < span.civil_start() - span.jump_in {
        FireKind::SecondOfTwo
    } else if span.jump_out < 0 && civil >= span.civil_end() + span.jump_out {
        FireKind::FirstOfTwo
    } else {
        FireKind::Normal
    }
}

use jiff::{Timestamp, tz::TimeZone};

/// Seconds in an hour.
pub(crate) const HOUR: i64 = 3_600;

/// Clock changes up to this instant, 2100-01-01, are in a table.
/// Later ones are looked up one by one, and follow one rule for all years.
pub(crate) const TABULATED: i64 = 4_102_444_800;

/// A period during which a zone's clock keeps one offset, so that it runs straight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The instant of the change into this span; `i64::MIN / 2` for the first span.
    pub(crate) start: i64,
    /// The instant of the next change, which ends the span; `i64::MAX / 2` for the last span.
    pub(crate) end: i64,
    /// How many seconds the clock is ahead of UTC.
    pub(crate) offset: i64,
    /// How far the clock jumped at the start, in seconds: forward over a gap if
    /// positive, back into an overlap if negative.
    pub(crate) jump_in: i64,
    /// How far the clock jumps at the end, in seconds.
    pub(crate) jump_out: i64,
}

const BEGINNING: i64 = i64::MIN / 2;
const END: i64 = i64::MAX / 2;

impl Span {
    pub(crate) fn is_first(&self) -> bool {
        self.start == BEGINNING
    }

    pub(crate) fn is_last(&self) -> bool {
        self.end == END
    }

    /// The civil time at the start of the span.
    pub(crate) fn civil_start(&self) -> i64 {
        self.start + self.offset
    }

    /// The civil time that the clock would show at the end of the span without the change.
    pub(crate) fn civil_end(&self) -> i64 {
        self.end + self.offset
    }
}

/// All spans of a zone that begin before the end of this century.
pub(super) fn table(rules: &TimeZone) -> Box<[Span]> {
    let mut spans: Vec<Span> = Vec::new();
    let mut open = Span {
        start: BEGINNING,
        end: END,
        offset: offset(rules, Timestamp::MIN),
        jump_in: 0,
        jump_out: 0,
    };
    for change in rules.following(Timestamp::MIN) {
        let next = i64::from(change.offset().seconds());
        // A change of only the abbreviation is not a clock change.
        if next == open.offset {
            continue;
        }
        open.end = change.timestamp().as_second();
        open.jump_out = next - open.offset;
        spans.push(open);
        open =
            Span { start: open.end, end: END, offset: next, jump_in: open.jump_out, jump_out: 0 };
        // `beyond` computes the first span that begins later.
        if open.start >= TABULATED {
            return spans.into_boxed_slice();
        }
    }
    spans.push(open);
    spans.into_boxed_slice()
}

/// The span of an instant after the end of the table, by the zone's rule for all years.
pub(super) fn beyond(rules: &TimeZone, instant: i64) -> Span {
    // The instant is within jiff's range: a search ends long before the end of that range.
    let at = timestamp(instant);
    let here = offset(rules, at);
    let mut span = Span { start: BEGINNING, end: END, offset: here, jump_in: 0, jump_out: 0 };
    if let Some(change) =
        rules.following(at).take(4).find(|change| i64::from(change.offset().seconds()) != here)
    {
        span.end = change.timestamp().as_second();
        span.jump_out = i64::from(change.offset().seconds()) - here;
    }
    // `preceding` returns only changes strictly before,
    // but the span may begin at the instant itself.
    for change in rules.preceding(timestamp(instant + 1)).take(4) {
        let before = offset(rules, timestamp(change.timestamp().as_second() - 1));
        if before != here {
            span.start = change.timestamp().as_second();
            span.jump_in = here - before;
            break;
        }
    }
    span
}

fn offset(rules: &TimeZone, at: Timestamp) -> i64 {
    i64::from(rules.to_offset(at).seconds())
}

fn timestamp(instant: i64) -> Timestamp {
    let instant = instant.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second(instant).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zone::{Zone, zone_names};

    /// The rule for all years agrees with the table, so results do not change where the table ends.
    #[test]
    fn spans_beyond_the_table_are_what_the_table_would_hold() {
        for name in zone_names() {
            let zone = Zone::named(name).expect(name);
            // From 2045 on, every zone follows a single rule for all years.
            for span in zone.spans.iter().filter(|span| span.start > 2_366_841_600) {
                for instant in [span.start, span.start / 2 + span.end / 2, span.end - 1] {
                    assert_eq!(beyond(&zone.rules, instant), *span, "{name} at {instant}");
                }
            }
            let seam = zone.span_at(TABULATED + 86_400 * 3_660);
            assert!(seam.is_last() || seam.end - seam.start < 366 * 86_400, "{name}: {seam:?}");
        }
    }

    #[test]
    fn spans_follow_each_other_without_gaps() {
        for name in zone_names() {
            let zone = Zone::named(name).expect(name);
            assert!(zone.spans[0].is_first());
            for pair in zone.spans.windows(2) {
                assert_eq!(pair[0].end, pair[1].start, "{name}");
                assert_eq!(pair[0].jump_out, pair[1].jump_in, "{name}");
                assert_eq!(pair[0].offset + pair[0].jump_out, pair[1].offset, "{name}");
            }
        }
    }
}

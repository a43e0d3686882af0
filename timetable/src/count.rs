//! How many fires lie in a window, without visiting each.
//!
//! Between two clock changes the clock runs straight, so the fires of one pattern there are days
//! times times of day, which are counted by the sizes of sets. If one pass of an overlap is left
//! out, the pattern's window in the span is shorter; a shifted fire at the start of a span adds
//! one. In a union, a fire of several expressions must count once: [`union`] counts the distinct
//! seconds of each day, and computes days on which the same expressions match only once.

mod union;

use std::collections::{BTreeMap, BTreeSet};

use union::Times;

use crate::{
    lane::Lane,
    source::{Every, Source},
    timetable::Parts,
    zone::{Span, Zone},
};

/// The sources whose fires share their fraction of a second. Fires of different fractions never
/// coincide, so each group is counted separately, in whole seconds.
#[derive(Default)]
struct Group<'a> {
    lanes: Vec<Lane<'a>>,
    everys: Vec<Every>,
    instants: BTreeSet<i64>,
}

/// The number of fires in `(after, until]`, in milliseconds.
pub(crate) fn count(parts: &Parts, after: i64, until: i64) -> u64 {
    if after >= until {
        return 0;
    }
    let mut groups: BTreeMap<i64, Group<'_>> = BTreeMap::new();
    for source in &parts.sources {
        match source {
            Source::Cron(pattern) => {
                let lanes = &mut groups.entry(0).or_default().lanes;
                if !lanes.iter().any(|lane| *lane.pattern == **pattern) {
                    lanes.push(Lane { pattern, zone: &parts.zone, dst: parts.dst });
                }
            }
            Source::Every(Every { anchor, interval }) => {
                let everys = &mut groups.entry(anchor.rem_euclid(1_000)).or_default().everys;
                // The interval is whole seconds.
                let seconds =
                    Every { anchor: anchor.div_euclid(1_000), interval: interval / 1_000 };
                if !everys.contains(&seconds) {
                    everys.push(seconds);
                }
            }
            Source::At(at) => {
                let group = groups.entry(at.rem_euclid(1_000)).or_default();
                group.instants.insert(at.div_euclid(1_000));
            }
            Source::Never => {}
        }
    }
    let seconds = |at: i64, fraction: i64| (at - fraction).div_euclid(1_000);
    groups
        .iter()
        .map(|(fraction, group)| {
            group.count(&parts.zone, seconds(after, *fraction) + 1, seconds(until, *fraction) + 1)
        })
        .sum()
}

impl Group<'_> {
    /// The number of fires in `from..to`, in seconds.
    fn count(&self, zone: &Zone, from: i64, to: i64) -> u64 {
        let lonely = self.instants.range(from..to).filter(|at| !self.fires_at(**at)).count();
        lonely as u64 + self.rhythms(zone, from, to)
    }

    fn fires_at(&self, at: i64) -> bool {
        self.everys.iter().any(|every| every.fires_at(at))
            || self.lanes.iter().any(|lane| lane.previous(at, at).is_some())
    }

    /// The number of fires of all sources except single instants.
    fn rhythms(&self, zone: &Zone, from: i64, to: i64) -> u64 {
        match (&self.lanes[..], &self.everys[..]) {
            ([], []) => 0,
            ([], [every]) => every.count(from - 1, to - 1),
            _ => {
                let mut span = zone.span_at(from);
                let mut total = self.within(&span, from, to.min(span.end));
                while span.end < to {
                    span = zone.span_at(span.end);
                    total += self.within(&span, span.start, to.min(span.end));
                }
                total
            }
        }
    }

    /// The number of fires within one span, from one instant up to but not including another.
    fn within(&self, span: &Span, from: i64, to: i64) -> u64 {
        let lanes = self.lanes.iter().map(|lane| (lane.window(span), Times::Pattern(lane.pattern)));
        let everys = self.everys.iter().map(|every| {
            let anchor = every.anchor + span.offset;
            ((anchor + 1, i64::MAX), Times::Every { anchor, interval: every.interval })
        });
        let all: Vec<((i64, i64), Times<'_>)> = lanes.chain(everys).collect();

        // The pass of an overlap that is left out differs between fixed and wildcard patterns, so
        // the span is cut wherever a window begins or ends.
        let (first, end) = (from + span.offset, to + span.offset);
        let mut cuts: Vec<i64> = all.iter().flat_map(|((low, high), _)| [*low, *high]).collect();
        cuts.retain(|cut| first < *cut && *cut < end);
        cuts.extend([first, end]);
        cuts.sort_unstable();
        cuts.dedup();

        let mut total = 0;
        for piece in cuts.windows(2) {
            let (low, high) = (piece[0], piece[1]);
            let open = all.iter().filter(|(window, _)| window.0 <= low && high <= window.1);
            let open: Vec<Times<'_>> = open.map(|(_, times)| *times).collect();
            total += union::count(&open, low, high);
        }
        let shifted = from == span.start
            && from < to
            && !self.fires_at_start(span, &all)
            && self.lanes.iter().any(|lane| lane.shifts_into(span));
        total + u64::from(shifted)
    }

    /// Whether a regular fire lies at the first instant of a span, where a shifted one would.
    fn fires_at_start(&self, span: &Span, all: &[((i64, i64), Times<'_>)]) -> bool {
        let start = span.civil_start();
        all.iter()
            .any(|((low, high), times)| *low <= start && start < *high && times.match_at(start))
    }
}

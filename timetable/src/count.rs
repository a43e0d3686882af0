//! Counts the fires in a window without visiting each.
//!
//! Between two clock changes the clock runs straight. The fires of one pattern there are matching
//! days times matching times of day, which are counted by the sizes of sets.
//! If the policy leaves out one pass of an overlap, the pattern's window in the span is shorter.
//! A shifted fire at the start of a span adds one.
//! In a union, a fire that several expressions contain counts once: [`union`] counts the distinct
//! seconds of each day, and computes each set of matching expressions only once.

mod union;

use std::collections::{BTreeMap, BTreeSet};

use union::Times;

use crate::{
    lane::Lane,
    source::{Every, Source},
    timetable::Parts,
    zone::{Span, Zone},
};

/// The sources whose fires have the same fraction of a second. Fires with different fractions never
/// coincide, so each group is counted separately, in whole seconds.
#[derive(Default)]
struct Group<'a> {
    lanes: Vec<Lane<'a>>,
    everys: Vec<Every>,
    instants: BTreeSet<i64>,
}

/// Number of fires in `(after, until]`, given in milliseconds.
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
                // An interval is always whole seconds.
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
    /// Number of fires in `from..to`, given in seconds.
    fn count(&self, zone: &Zone, from: i64, to: i64) -> u64 {
        let lonely = self.instants.range(from..to).filter(|at| !self.fires_at(**at)).count();
        lonely as u64 + self.rhythms(zone, from, to)
    }

    fn fires_at(&self, at: i64) -> bool {
        self.everys.iter().any(|every| every.fires_at(at))
            || self.lanes.iter().any(|lane| lane.previous(at, at).is_some())
    }

    /// Number of fires of all sources except single instants.
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

    /// Number of fires within one span, from one instant up to but not including another.
    fn within(&self, span: &Span, from: i64, to: i64) -> u64 {
        let lanes = self.lanes.iter().map(|lane| (lane.window(span), Times::Pattern(lane.pattern)));
        let everys = self.everys.iter().map(|every| {
            let anchor = every.anchor + span.offset;
            ((anchor + 1, i64::MAX), Times::Every { anchor, interval: every.interval })
        });
        let all: Vec<((i64, i64), Times<'_>)> = lanes.chain(everys).collect();

        // Fixed and wildcard patterns differ in the pass of an overlap that they leave out, so the
        // span is cut wherever the window of a pattern begins or ends.
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

    /// Whether a regular fire lies at the first instant of a
    /// span, where a shifted fire would also lie.
    fn fires_at_start(&self, span: &Span, all: &[((i64, i64), Times<'_>)]) -> bool {
        let start = span.civil_start();
        all.iter()
            .any(|((low, high), times)| *low <= start && start < *high && times.match_at(start))
    }
}

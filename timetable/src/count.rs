//! How many fires lie in a window, without visiting each.
//!
//! Between two clock changes the clock runs straight, so there the fires of one pattern are days
//! times times of the day, which are counted by the sizes of sets. Where a pass of an overlap is
//! left out, the window of the span is shorter; a shifted fire at the start of a span adds one.
//! In a union, a fire that several expressions name must count once: [`union`] counts the days on
//! which the same expressions match by the size of the union of their times of day.

mod union;

use std::collections::BTreeSet;

use crate::{
    lane::Lane,
    pattern::Pattern,
    source::{Every, Source},
    timetable::Parts,
    zone::Span,
};

/// The number of fires in `(after, until]`, in milliseconds.
pub(crate) fn count(parts: &Parts, after: i64, until: i64) -> u64 {
    if after >= until {
        return 0;
    }
    let mut patterns: Vec<&Pattern> = Vec::new();
    let mut everys: Vec<Every> = Vec::new();
    let mut instants = BTreeSet::new();
    for source in &parts.sources {
        match source {
            Source::Cron(pattern) if !patterns.contains(&&**pattern) => patterns.push(pattern),
            Source::Every(every) if !everys.contains(every) => everys.push(*every),
            Source::At(at) if (after + 1..=until).contains(at) => drop(instants.insert(*at)),
            Source::Cron(_) | Source::Every(_) | Source::At(_) => {}
        }
    }
    let lanes: Vec<Lane<'_>> = patterns
        .iter()
        .map(|pattern| Lane { pattern, zone: &parts.zone, dst: parts.dst })
        .collect();
    // An interval and anything else have no common period, so their common fires are looked for
    // among the fires of the intervals, one by one. Nobody has yet asked for both at once.
    let mut total = lanes_count(&lanes, after.div_euclid(1_000) + 1, until.div_euclid(1_000) + 1);
    for (index, every) in everys.iter().enumerate() {
        total += every.count(after, until);
        if !lanes.is_empty() || index > 0 {
            total -= shared(*every, &everys[..index], &lanes, after, until);
        }
    }
    let lonely = instants
        .into_iter()
        .filter(|at| !everys.iter().any(|every| every.fires_at(*at)) && !fires_at(&lanes, *at));
    total + lonely.count() as u64
}

/// How many fires of an interval are also fires of the intervals before it or of a pattern.
fn shared(every: Every, before: &[Every], lanes: &[Lane<'_>], after: i64, until: i64) -> u64 {
    let first = every.next(after).filter(|first| *first <= until);
    let fires = std::iter::successors(first, |at| Some(at + every.interval));
    fires
        .take_while(|at| *at <= until)
        .filter(|at| before.iter().any(|other| other.fires_at(*at)) || fires_at(lanes, *at))
        .count() as u64
}

fn fires_at(lanes: &[Lane<'_>], at: i64) -> bool {
    at % 1_000 == 0 && lanes.iter().any(|lane| lane.previous(at / 1_000, at / 1_000).is_some())
}

/// The number of instants in `from..to`, in seconds, at which any of the lanes fires.
fn lanes_count(lanes: &[Lane<'_>], from: i64, to: i64) -> u64 {
    let Some(first) = lanes.first() else {
        return 0;
    };
    let mut total = 0;
    let mut span = first.zone.span_at(from);
    loop {
        total += span_count(lanes, &span, from.max(span.start), to.min(span.end));
        if span.end >= to {
            return total;
        }
        span = first.zone.span_at(span.end);
    }
}

/// The same within one span.
fn span_count(lanes: &[Lane<'_>], span: &Span, from: i64, to: i64) -> u64 {
    // Which pass of an overlap is left out differs between fixed and wildcard patterns, so the
    // span is cut where any lane's window begins or ends.
    let windows: Vec<(i64, i64)> = lanes.iter().map(|lane| lane.window(span)).collect();
    let (from, to) = (from + span.offset, to + span.offset);
    let mut cuts: Vec<i64> = windows.iter().flat_map(|(low, high)| [*low, *high]).collect();
    cuts.retain(|cut| from < *cut && *cut < to);
    cuts.extend([from, to]);
    cuts.sort_unstable();
    cuts.dedup();
    let mut total = 0;
    for piece in cuts.windows(2) {
        let (low, high) = (piece[0], piece[1]);
        let open = lanes.iter().zip(&windows).filter(|(_, w)| w.0 <= low && high <= w.1);
        let patterns: Vec<&Pattern> = open.map(|(lane, _)| lane.pattern).collect();
        total += union::count(&patterns, low, high);
    }
    if from == span.civil_start() && from < to {
        let regular = |(lane, window): (&Lane<'_>, &(i64, i64))| {
            window.0 <= from && from < window.1 && lane.pattern.matches(from)
        };
        let shifted = lanes.iter().any(|lane| lane.shifts_into(span));
        total += u64::from(shifted && !lanes.iter().zip(&windows).any(regular));
    }
    total
}

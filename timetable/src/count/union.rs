use std::collections::HashMap;

use crate::{calendar::DAY, pattern::Pattern};

/// A source of civil seconds on a clock that runs straight.
#[derive(Clone, Copy)]
pub(super) enum Times<'a> {
    Pattern(&'a Pattern),
    /// The seconds `anchor + k * interval`, in both directions.
    Every {
        anchor: i64,
        interval: i64,
    },
}

/// A bit mask of the 60 seconds of a minute.
const MINUTE: u64 = (1 << 60) - 1;

/// Number of distinct civil seconds in `from..to` that at least one of the sources contains.
/// There are at most 16 sources.
pub(super) fn count(all: &[Times<'_>], from: i64, to: i64) -> u64 {
    match all {
        [] => 0,
        [Times::Pattern(pattern)] => pattern.count(from, to),
        [Times::Every { anchor, interval }] => {
            let before = |second: i64| (second - 1 - anchor).div_euclid(*interval);
            before(to).abs_diff(before(from))
        }
        _ => {
            let (first, last) = (from.div_euclid(DAY), to.div_euclid(DAY));
            let mut sizes = Sizes { all, by_set: HashMap::new() };
            if first == last {
                return sizes.of(first, from.rem_euclid(DAY), to.rem_euclid(DAY));
            }
            let whole: u64 = (first + 1..last).map(|day| sizes.of(day, 0, DAY)).sum();
            sizes.of(first, from.rem_euclid(DAY), DAY)
                + whole
                + sizes.of(last, 0, to.rem_euclid(DAY))
        }
    }
}

impl Times<'_> {
    pub(super) fn match_at(&self, civil: i64) -> bool {
        match self {
            Times::Pattern(pattern) => pattern.matches(civil),
            Times::Every { anchor, interval } => (civil - anchor) % interval == 0,
        }
    }

    fn match_day(&self, day: i64) -> bool {
        match self {
            Times::Pattern(pattern) => pattern.days.matches(day),
            Times::Every { .. } => true,
        }
    }

    /// Whether the times of day are the same on every day that matches.
    fn daily(&self) -> bool {
        match self {
            Times::Pattern(_) => true,
            Times::Every { interval, .. } => DAY % interval == 0,
        }
    }

    /// A bit mask of the seconds in a minute of a matching day.
    fn seconds_of(&self, day: i64, minute: i64) -> u64 {
        match *self {
            Times::Pattern(pattern) => pattern.clock.seconds_of(minute),
            Times::Every { anchor, interval } => {
                let first = (anchor - day * DAY - minute * 60).rem_euclid(interval);
                let seconds = (first..60).step_by(interval.unsigned_abs() as usize);
                seconds.fold(0, |seconds, second| seconds | 1 << second)
            }
        }
    }
}

/// The sizes of unions of times of day, keyed by the set of sources whose days match.
struct Sizes<'a> {
    all: &'a [Times<'a>],
    by_set: HashMap<u16, u64>,
}

impl Sizes<'_> {
    /// Number of seconds of a day, from one second up to but not including another,
    /// that at least one of the sources contains.
    fn of(&mut self, day: i64, from: i64, to: i64) -> u64 {
        let matching = self.all.iter().enumerate().filter(|(_, times)| times.match_day(day));
        let set = matching.fold(0_u16, |set, (index, _)| set | 1 << index);
        if (from, to) != (0, DAY) {
            return self.size(set, day, from, to);
        }
        if let Some(size) = self.by_set.get(&set) {
            return *size;
        }
        let size = self.size(set, day, from, to);
        if self.members(set).all(Times::daily) {
            self.by_set.insert(set, size);
        }
        size
    }

    fn members(&self, set: u16) -> impl Iterator<Item = &Times<'_>> {
        (0..).zip(self.all).filter(move |(index, _)| set >> index & 1 == 1).map(|(_, times)| times)
    }

    fn size(&self, set: u16, day: i64, from: i64, to: i64) -> u64 {
        if set == 0 || from >= to {
            return 0;
        }
        let members: Vec<&Times<'_>> = self.members(set).collect();
        if let [Times::Pattern(pattern)] = members[..] {
            return pattern.clock.before(to) - pattern.clock.before(from);
        }
        let mut total = 0;
        for minute in from.div_euclid(60)..=(to - 1).div_euclid(60) {
            let seconds =
                members.iter().fold(0, |seconds, times| seconds | times.seconds_of(day, minute));
            // The first and the last minute may be covered only in part.
            let cut = |second: i64| (1_u64 << (second - minute * 60).clamp(0, 60)) - 1;
            total += u64::from((seconds & MINUTE & cut(to) & !cut(from)).count_ones());
        }
        total
    }
}

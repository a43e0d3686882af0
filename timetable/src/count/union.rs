use std::collections::HashMap;

use crate::{
    calendar::DAY,
    pattern::{Clock, Pattern},
};

/// How many civil seconds of `from..to` any of the patterns matches. There are at most 16.
pub(super) fn count(patterns: &[&Pattern], from: i64, to: i64) -> u64 {
    match patterns {
        [] => 0,
        [pattern] => pattern.count(from, to),
        _ => {
            let (first, last) = (from.div_euclid(DAY), to.div_euclid(DAY));
            let mut sizes = Sizes { patterns, by_set: HashMap::new() };
            if first == last {
                return sizes.of(first, from.rem_euclid(DAY), to.rem_euclid(DAY));
            }
            let whole: u64 = (first + 1..last).map(|day| sizes.of(day, 0, DAY)).sum();
            let edges =
                sizes.of(first, from.rem_euclid(DAY), DAY) + sizes.of(last, 0, to.rem_euclid(DAY));
            whole + edges
        }
    }
}

/// The sizes of unions of times of day, by the set of patterns whose days match.
struct Sizes<'a> {
    patterns: &'a [&'a Pattern],
    by_set: HashMap<u16, u64>,
}

impl Sizes<'_> {
    /// How many seconds of a day, from one to before another, any pattern matches.
    fn of(&mut self, day: i64, from: i64, to: i64) -> u64 {
        let matching = self.patterns.iter().enumerate().filter(|(_, p)| p.days.matches(day));
        let set = matching.fold(0_u16, |set, (index, _)| set | 1 << index);
        if set == 0 {
            return 0;
        }
        if (from, to) == (0, DAY) {
            let patterns = self.patterns;
            return *self.by_set.entry(set).or_insert_with(|| size(patterns, set, 0, DAY));
        }
        size(self.patterns, set, from, to)
    }
}

/// The size of the union of the times of day of a set of patterns.
fn size(patterns: &[&Pattern], set: u16, from: i64, to: i64) -> u64 {
    let clocks: Vec<Clock> = (0..)
        .zip(patterns)
        .filter(|(index, _)| set >> index & 1 == 1)
        .map(|(_, pattern)| pattern.clock)
        .collect();
    if let [clock] = clocks[..] {
        return clock.before(to) - clock.before(from);
    }
    let mut total = 0;
    for minute in from.div_euclid(60)..=(to - 1).div_euclid(60) {
        let start = minute * 60;
        let seconds = clocks.iter().fold(0, |seconds, clock| seconds | clock.seconds_of(minute));
        // The first and the last minute may be cut.
        let low = (from - start).clamp(0, 60);
        let high = (to - start).clamp(0, 60);
        let inside = ((1_u64 << high) - 1) & !((1_u64 << low) - 1);
        total += u64::from((seconds & inside).count_ones());
    }
    total
}

//! The clock changes of a zone, by this browser's data. They only find times that are worth showing, and never decide
//! when something fires.

use super::{Moment, Wall};

const DAY_MS: i64 = 86_400_000;
/// How many days ahead changes are searched.
const DAYS: i64 = 400;

/// The next changes of a zone's offset from `now` on, to the minute.
pub(crate) fn clock_changes(zone: &str, now: Moment, most: usize) -> Vec<Moment> {
    let offset =
        |millis: i64| Wall::read(Moment::from_millis(millis), zone).map(|wall| wall.offset);
    changes(now.millis(), most, &offset)
}

fn changes(now: i64, most: usize, offset: &dyn Fn(i64) -> Option<String>) -> Vec<Moment> {
    let mut found = Vec::new();
    for day in 0..DAYS {
        let (mut before, mut after) = (now + day * DAY_MS, now + (day + 1) * DAY_MS);
        let known = offset(before);
        if found.len() == most || known == offset(after) {
            continue;
        }
        while after - before > 60_000 {
            let middle = before + (after - before) / 2;
            if offset(middle) == known { before = middle } else { after = middle }
        }
        found.push(Moment::from_millis(after / 60_000 * 60_000));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_found_to_the_minute() {
        let change = 100 * DAY_MS + 7 * 3_600_000;
        let offset = |at: i64| Some(if at < change { "+01:00" } else { "+02:00" }.to_owned());
        let found = changes(12_345, 2, &offset);
        assert_eq!(found, [Moment::from_millis(change)]);
    }
}

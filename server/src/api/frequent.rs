//! Frequent schedules: they add as many starts to each hour, so they hide which hours are busy.

use chrono::{DateTime, DurationRound, TimeDelta, Utc};

/// A week: a timing that is even all week long is even at any time.
const HOURS: usize = 168;
/// The least number of starts an hour.
const LEAST: u64 = 60;

/// Whether a schedule starts at least 60 times in each of the next 168 whole hours, and as often in
/// one as in another. `starts` counts its starts after an instant, up to and including another one;
/// `looks` is how often it may still be called.
pub(super) fn is_frequent(
    now: DateTime<Utc>,
    looks: &mut usize,
    starts: impl Fn(DateTime<Utc>, DateTime<Utc>) -> u64,
) -> bool {
    let (hour, moment) = (TimeDelta::hours(1), TimeDelta::milliseconds(1));
    if *looks < HOURS {
        return false;
    }
    let mut end = now.duration_trunc(hour).unwrap_or(now) + hour;
    are_even((0..HOURS).map(|_| {
        *looks -= 1;
        let begin = end;
        end += hour;
        starts(begin - moment, end - moment)
    }))
}

/// Whether the starts of each hour are many, and differ by one at most: every 7 seconds is 514 times
/// in one hour, and 515 times in another.
fn are_even(hours: impl Iterator<Item = u64>) -> bool {
    let mut range = None::<(u64, u64)>;
    for starts in hours {
        let (least, most) = range.unwrap_or((starts, starts));
        let (least, most) = (least.min(starts), most.max(starts));
        if least < LEAST || most - least > 1 {
            return false;
        }
        range = Some((least, most));
    }
    range.is_some()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn hours_are_even_if_their_starts_are_many_and_alike() {
        for (hours, expected) in [
            (vec![60; 3], true),
            (vec![3_600; 3], true),
            (vec![514, 515, 514], true),
            (vec![59, 60], false),
            (vec![60, 62], false),
            (vec![61, 60, 62], false),
            (vec![60, 0, 60], false),
            (vec![], false),
        ] {
            assert_eq!(are_even(hours.iter().copied()), expected, "{hours:?}");
        }
    }

    #[test]
    fn a_week_of_whole_hours_is_looked_at_and_no_more_than_needed() {
        let now: DateTime<Utc> = "2026-03-01T12:30:00Z".parse().unwrap();
        let asked = RefCell::new(vec![]);
        let mut looks = 200;
        let each_minute = |after: DateTime<Utc>, until: DateTime<Utc>| {
            asked.borrow_mut().push((after, until));
            60
        };
        assert!(is_frequent(now, &mut looks, each_minute));
        assert_eq!((looks, asked.borrow().len()), (32, 168));
        let instant = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
        let first = (instant("2026-03-01T12:59:59.999Z"), instant("2026-03-01T13:59:59.999Z"));
        assert_eq!(asked.borrow().first(), Some(&first));
        // There are not enough looks left for another one.
        assert!(!is_frequent(now, &mut looks, |_, _| 60));
        assert_eq!(looks, 32);
        // One that does not fire often costs one look.
        looks = 168;
        assert!(!is_frequent(now, &mut looks, |_, _| 1));
        assert_eq!(looks, 167);
    }
}

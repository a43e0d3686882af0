//! Skips instants that are already accounted for.

use chrono::{DateTime, TimeDelta, Utc};

use crate::{Fire, Timetable, misfire::Entry};

/// A number of consecutive instants.
struct Stretch {
    /// The first fire.
    fire: Fire,
    /// The last instant; for a single instant, the same as the first.
    last: DateTime<Utc>,
    /// Number of instants.
    count: u64,
}

const MS: TimeDelta = TimeDelta::milliseconds(1);

/// The entries without the instants in `taken`. Both lists are in increasing order.
/// A range is split around taken instants; its instants are counted, not listed.
pub fn without(timetable: &Timetable, entries: Vec<Entry>, taken: &[DateTime<Utc>]) -> Vec<Entry> {
    if taken.is_empty() {
        return entries;
    }
    let mut left = Vec::with_capacity(entries.len());
    for entry in entries {
        let first = taken.partition_point(|at| *at < entry.fire.at);
        let last = taken.partition_point(|at| *at <= entry.last);
        let within = taken.get(first..last).unwrap_or_default();
        if within.is_empty() {
            left.push(entry);
        } else if entry.count > 1 {
            let stretches = around(timetable, entry.fire.at, entry.last, within);
            left.extend(stretches.into_iter().map(|part| Entry {
                due_at: timetable.due_at(part.fire.at),
                fire: part.fire,
                last: part.last,
                count: part.count,
                ..entry.clone()
            }));
        }
    }
    left
}

/// The instants from `first` to `last`, both inclusive, without those in `taken`.
/// All of `taken` must lie between the two.
fn around(
    timetable: &Timetable,
    first: DateTime<Utc>,
    last: DateTime<Utc>,
    taken: &[DateTime<Utc>],
) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    let mut after = first - MS;
    for at in taken {
        stretches.extend(stretch(timetable, after, *at - MS));
        after = *at;
    }
    stretches.extend(stretch(timetable, after, last));
    stretches
}

/// The instants in `(after, until]`; `None` if there are none.
fn stretch(timetable: &Timetable, after: DateTime<Utc>, until: DateTime<Utc>) -> Option<Stretch> {
    let fire = timetable.fires(after, until).next()?;
    let last = timetable.last(until, after)?.at;
    Some(Stretch { fire, last, count: timetable.count(after, until) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Definition,
        misfire::{Fate, Plan},
    };

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::minutes(minute)
    }

    fn minutely() -> Timetable {
        Timetable::new(&Definition::new(vec!["* * * * *".to_owned()], "UTC")).unwrap()
    }

    /// An entry for the instants from one minute to another: a range if there are several.
    fn entry(timetable: &Timetable, from: i64, to: i64) -> Entry {
        Entry {
            fire: timetable.next(at(from) - MS).unwrap(),
            last: at(to),
            count: u64::try_from(to - from + 1).unwrap(),
            due_at: at(from),
            fate: Fate::Collapsed,
            calendar: None,
        }
    }

    /// First minute, last minute and number of minutes
    /// of each entry that remains of minutes 1 to 100.
    fn left(taken: &[DateTime<Utc>]) -> Vec<(i64, i64, u64)> {
        let minutely = minutely();
        let left = without(&minutely, vec![entry(&minutely, 1, 100)], taken);
        let minute = |at: DateTime<Utc>| at.timestamp() / 60;
        assert!(left.iter().all(|part| part.due_at == part.fire.at));
        left.iter().map(|part| (minute(part.fire.at), minute(part.last), part.count)).collect()
    }

    #[test]
    fn a_taken_single_instant_is_removed_and_the_others_stay() {
        let minutely = minutely();
        let entries = vec![entry(&minutely, 1, 1), entry(&minutely, 2, 2), entry(&minutely, 3, 9)];
        let left = without(&minutely, entries.clone(), &[at(2)]);
        assert_eq!(left, [entries[0].clone(), entries[2].clone()]);
    }

    #[test]
    fn a_range_goes_around_the_instants_that_are_taken() {
        assert_eq!(left(&[at(10), at(11), at(50)]), [(1, 9, 9), (12, 49, 38), (51, 100, 50)]);
        assert_eq!(left(&[at(1), at(99), at(100)]), [(2, 98, 97)]);
        assert_eq!(left(&(1..=100).map(at).collect::<Vec<_>>()), []);
    }

    #[test]
    fn a_plan_is_cut_where_the_rest_is_to_be_planned_next() {
        let minutely = minutely();
        let entries =
            vec![entry(&minutely, 1, 1), entry(&minutely, 2, 60), entry(&minutely, 61, 61)];
        let plan = Plan { entries: entries.clone(), next: minutely.next(at(61)) };
        let within = plan.clone().before(&minutely, at(50));
        let cut = Entry { last: at(49), count: 48, ..entries[1].clone() };
        assert_eq!(within.entries, [entries[0].clone(), cut]);
        assert_eq!(within.next, minutely.next(at(49)));
        let between = plan.clone().before(&minutely, at(61));
        assert_eq!(between.entries, entries[..2]);
        assert_eq!(between.next.map(|fire| fire.at), Some(at(61)));
        assert_eq!(plan.clone().before(&minutely, at(62)), plan);
    }

    #[test]
    fn taken_instants_outside_of_a_range_change_nothing() {
        assert_eq!(left(&[at(0), at(101)]), [(1, 100, 100)]);
        assert_eq!(left(&[]), [(1, 100, 100)]);
        let between = at(10) + TimeDelta::seconds(30);
        assert_eq!(left(&[between]), [(1, 10, 10), (11, 100, 90)]);
    }
}

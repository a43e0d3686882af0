//! Going around instants that are accounted for already.

use chrono::{DateTime, TimeDelta, Utc};

use crate::{Fire, Timetable};

/// Instants that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first.
    pub fire: Fire,
    /// The last; the first again, if it is alone.
    pub last: DateTime<Utc>,
    /// How many they are.
    pub count: u64,
}

const MS: TimeDelta = TimeDelta::milliseconds(1);

/// The instants from `first` to `last`, both inclusive, without those in `taken`, which come in
/// increasing order. Counted, not listed, like the range that they were.
pub fn around(
    timetable: &Timetable,
    first: DateTime<Utc>,
    last: DateTime<Utc>,
    taken: &[DateTime<Utc>],
) -> Vec<Stretch> {
    let mut stretches = Vec::with_capacity(taken.len() + 1);
    let mut after = first - MS;
    for at in taken.iter().filter(|at| (first..=last).contains(*at)) {
        stretches.extend(stretch(timetable, after, *at - MS));
        after = *at;
    }
    stretches.extend(stretch(timetable, after, last));
    stretches
}

/// The instants in `(after, until]`, if there are any.
fn stretch(timetable: &Timetable, after: DateTime<Utc>, until: DateTime<Utc>) -> Option<Stretch> {
    let fire = timetable.fires(after, until).next()?;
    let last = timetable.last(until, after)?.at;
    Some(Stretch { fire, last, count: timetable.count(after, until) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Definition, DstPolicy};

    fn at(minute: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::minutes(minute)
    }

    /// First, last and number of what is left of the minutes from 1 to 100.
    fn left(taken: &[DateTime<Utc>]) -> Vec<(i64, i64, u64)> {
        let minutely = Timetable::new(&Definition {
            expressions: vec!["* * * * *".to_owned()],
            zone: "UTC".to_owned(),
            dst: DstPolicy::default(),
            anchor: DateTime::UNIX_EPOCH,
            start: None,
            end: None,
            jitter: std::time::Duration::ZERO,
            seed: [0; 16],
        })
        .unwrap();
        let minute = |at: DateTime<Utc>| at.timestamp() / 60;
        let stretches = around(&minutely, at(1), at(100), taken);
        stretches.iter().map(|part| (minute(part.fire.at), minute(part.last), part.count)).collect()
    }

    #[test]
    fn a_range_goes_around_the_instants_that_are_taken() {
        assert_eq!(left(&[at(10), at(11), at(50)]), [(1, 9, 9), (12, 49, 38), (51, 100, 50)]);
        assert_eq!(left(&[at(1), at(99), at(100)]), [(2, 98, 97)]);
        assert_eq!(left(&(1..=100).map(at).collect::<Vec<_>>()), []);
    }

    #[test]
    fn what_lies_elsewhere_takes_nothing() {
        assert_eq!(left(&[at(0), at(101)]), [(1, 100, 100)]);
        assert_eq!(left(&[]), [(1, 100, 100)]);
        let between = at(10) + TimeDelta::seconds(30);
        assert_eq!(left(&[between]), [(1, 10, 10), (11, 100, 90)]);
    }
}

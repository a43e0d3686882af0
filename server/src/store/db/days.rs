//! The days of the ledger that a statement touches.
//!
//! On PostgreSQL the ledger is partitioned by day: fires by their scheduled instant,
//! runs with their attempts and log lines by the time in the run's key.
//! A statement that changes rows by key names the days of these keys as constants.
//! Then the other partitions cost nothing, not even at planning time, and the text of the statement
//! stays the same all day. Without the constants, a batch searches every partition for every row.

use entity::Timestamp;
use uuid::Uuid;

pub(crate) const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The lowest key that a row created at an instant can have.
pub(crate) fn first_key(ms: i64) -> Uuid {
    let ms = u128::try_from(ms).unwrap_or(0).min((1 << 48) - 1);
    Uuid::from_u128(ms << 80)
}

/// The start of the day that contains an instant.
pub(crate) fn day_of(ms: i64) -> i64 {
    ms.div_euclid(DAY_MS) * DAY_MS
}

/// The time at which a key was created.
pub(crate) fn made_at(key: Uuid) -> i64 {
    i64::try_from(key.as_u128() >> 80).unwrap_or(i64::MAX)
}

/// The range of days of some rows, by the column that partitions their table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DayRange {
    column: &'static str,
    kind: Kind,
    /// The start of the first day and the end of the last one.
    range: Option<(i64, i64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Keys,
    Instants,
}

impl DayRange {
    /// The days of runs, from their keys.
    pub(crate) fn of_keys(column: &'static str, keys: impl Iterator<Item = Uuid>) -> Self {
        Self { column, kind: Kind::Keys, range: range(keys.map(made_at)) }
    }

    /// The days of fires, from their instants.
    pub(crate) fn of_instants(column: &'static str, at: impl Iterator<Item = Timestamp>) -> Self {
        Self { column, kind: Kind::Instants, range: range(at.map(|at| at.0)) }
    }

    /// The condition that rows are in these days, to be appended to another condition.
    pub(crate) fn condition(self) -> String {
        let Self { column, kind, range } = self;
        let Some((from, to)) = range else { return String::new() };
        let [from, to] = match kind {
            Kind::Instants => [from, to].map(|at| at.to_string()),
            Kind::Keys => [from, to].map(|at| format!("'{}'", first_key(at))),
        };
        format!(
            " AND ({column} > {from} OR {column} = {from}) \
             AND ({column} < {to} OR {column} = {from})"
        )
    }
}

fn range(ms: impl Iterator<Item = i64>) -> Option<(i64, i64)> {
    let (least, most) =
        ms.fold((i64::MAX, i64::MIN), |(least, most), ms| (least.min(ms), most.max(ms)));
    (least <= most).then(|| (day_of(least), day_of(most).saturating_add(DAY_MS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keys_time_is_read_back() {
        let at = 1_772_366_400_123;
        assert_eq!(made_at(first_key(at)), at);
        assert!(first_key(at) < first_key(at + 1));
        assert_eq!(first_key(-1), Uuid::nil());
    }

    #[test]
    fn rows_of_one_day_name_that_day() {
        let at = [5, DAY_MS - 1].map(|ms| Timestamp(3 * DAY_MS + ms));
        let days = DayRange::of_instants("fire.scheduled_at", at.into_iter());
        let expected = " AND (fire.scheduled_at > 259200000 OR fire.scheduled_at = 259200000) \
             AND (fire.scheduled_at < 345600000 OR fire.scheduled_at = 259200000)";
        assert_eq!(days.condition(), expected);
    }

    #[test]
    fn rows_of_several_days_name_the_first_to_the_last() {
        let days =
            DayRange::of_keys("run.id", [9, 1, 4].map(|day| first_key(day * DAY_MS)).into_iter());
        let (from, to) = (first_key(DAY_MS), first_key(10 * DAY_MS));
        let expected = format!(
            " AND (run.id > '{from}' OR run.id = '{from}') \
             AND (run.id < '{to}' OR run.id = '{from}')"
        );
        assert_eq!(days.condition(), expected);
        assert_eq!(DayRange::of_keys("run.id", std::iter::empty()).condition(), "");
    }
}

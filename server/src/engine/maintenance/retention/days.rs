//! Decides which partitions to create and which to drop.

use entity::Timestamp;

use crate::store::{
    days::{DAY_MS, day_of},
    retention::{Layout, PartitionRange},
};

/// How many days are created in advance. A server that cannot create any for a week still works.
const AHEAD_DAYS: i64 = 7;
/// The approximate maximum number of partitions of a table.
/// Each partition costs a little in every query that searches all of them.
/// If history is kept for more days than this, a partition covers several days.
const MAX: i32 = 60;
/// The widest partition that is created in advance, in days:
/// enough for history that is kept for ten years.
const WIDEST: i64 = 61;

/// A partition to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NewPartition {
    pub(super) stretch: PartitionRange,
    /// Whether the partition takes over all rows that are in the overflow partition.
    pub(super) seal: bool,
}

/// The partitions to create, in order.
pub(super) fn to_make(layout: &Layout, now: Timestamp, longest: i32) -> Vec<NewPartition> {
    let today = day_of(now.0);
    let mut made = Vec::new();
    let mut from = layout.beyond;
    if from <= today {
        // There is no partition for today, so the current rows are in the overflow partition.
        let to = today + DAY_MS;
        made.push(NewPartition { stretch: PartitionRange { from, to }, seal: true });
        from = to;
    }
    let width = DAY_MS * i64::from(width_in_days(longest));
    while from <= today + AHEAD_DAYS * DAY_MS {
        made.push(NewPartition { stretch: PartitionRange { from, to: from + width }, seal: false });
        from += width;
    }
    made
}

/// The partitions that ended at least a day before `last`, oldest first.
/// Most rows that began in them have settled within that day; the others would have to be moved.
pub(super) fn to_drop(layout: &Layout, last: Timestamp) -> Vec<PartitionRange> {
    layout.stretches.iter().copied().take_while(|stretch| is_over(stretch, last)).collect()
}

/// The start of the days that remain after these partitions are dropped.
/// Older rows are removed with their partition, not one by one. The exception is a partition that
/// was created from all earlier history: it may span years, so its rows are deleted one by one.
pub(super) fn kept_from(layout: &Layout, last: Timestamp) -> i64 {
    let first = layout.stretches.iter().find(|stretch| !is_over(stretch, last));
    match first {
        Some(first) if first.to - first.from <= WIDEST * DAY_MS => first.from,
        Some(_) | None => last.0,
    }
}

fn is_over(stretch: &PartitionRange, last: Timestamp) -> bool {
    stretch.to + DAY_MS <= last.0
}

fn width_in_days(longest: i32) -> i32 {
    (longest + MAX - 1) / MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(100 * DAY_MS + 1_234);

    fn layout(days: std::ops::Range<i64>) -> Layout {
        let stretches = days.clone().map(|day| stretch(day, day + 1)).collect();
        Layout { stretches, beyond: days.end * DAY_MS }
    }

    fn stretch(from: i64, to: i64) -> PartitionRange {
        PartitionRange { from: from * DAY_MS, to: to * DAY_MS }
    }

    #[test]
    fn a_new_table_gets_today_and_a_week() {
        let made = to_make(&layout(0..0), NOW, 45);
        assert_eq!(made[0], NewPartition { stretch: stretch(0, 101), seal: true });
        let ahead: Vec<_> = made[1..].iter().map(|new| new.stretch).collect();
        assert_eq!(ahead, (101..108).map(|day| stretch(day, day + 1)).collect::<Vec<_>>());
        assert!(made[1..].iter().all(|new| !new.seal));
    }

    #[test]
    fn each_day_brings_one_more() {
        assert!(to_make(&layout(60..108), NOW, 45).is_empty());
        let made = to_make(&layout(60..107), NOW, 45);
        assert_eq!(made, [NewPartition { stretch: stretch(107, 108), seal: false }]);
    }

    #[test]
    fn a_server_that_was_away_for_long_makes_one_stretch_of_the_time_between() {
        let made = to_make(&layout(1..8), NOW, 45);
        assert_eq!(made[0], NewPartition { stretch: stretch(8, 101), seal: true });
        assert_eq!(made.len(), 8);
    }

    #[test]
    fn history_kept_for_years_is_in_longer_partitions() {
        assert_eq!([1, 45, 60, 61, 365, 3_650].map(width_in_days), [1, 1, 1, 2, 7, 61]);
        let made = to_make(&layout(40..101), NOW, 3_650);
        assert_eq!(made, [NewPartition { stretch: stretch(101, 162), seal: false }]);
    }

    #[test]
    fn a_day_goes_when_all_of_it_is_old_enough() {
        let layout = layout(50..108);
        assert_eq!(to_drop(&layout, Timestamp(53 * DAY_MS)), [stretch(50, 51), stretch(51, 52)]);
        assert_eq!(to_drop(&layout, Timestamp(53 * DAY_MS - 1)), [stretch(50, 51)]);
        assert_eq!(to_drop(&layout, Timestamp(51 * DAY_MS)), []);
    }

    #[test]
    fn rows_in_a_kept_day_are_dropped_with_it() {
        assert_eq!(kept_from(&layout(50..108), Timestamp(53 * DAY_MS)), 52 * DAY_MS);
        assert_eq!(kept_from(&layout(50..108), Timestamp(20 * DAY_MS)), 50 * DAY_MS);
        let weeks = [stretch(0, 7), stretch(7, 14)].to_vec();
        let weeks = Layout { stretches: weeks, beyond: 14 * DAY_MS };
        for day in 8..15 {
            assert_eq!(kept_from(&weeks, Timestamp(day * DAY_MS)), 7 * DAY_MS);
        }
    }

    #[test]
    fn rows_before_the_first_day_are_removed_one_by_one() {
        let all = Layout { stretches: [stretch(0, 101)].to_vec(), beyond: 101 * DAY_MS };
        assert_eq!(kept_from(&all, Timestamp(55 * DAY_MS)), 55 * DAY_MS);
    }
}

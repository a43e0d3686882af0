//! The distribution of durations: counts by size class, small enough for a column.
//!
//! Durations below 16 ms are counted by millisecond, longer ones in eight classes per doubling. So
//! values read from a distribution are off by at most a sixteenth, however long the durations are.
//! The text form is `size:count` pairs separated by spaces. A size may occur several times, so two
//! distributions are added by joining their texts, which SQL can also do.

use std::{collections::BTreeMap, fmt};

/// A distribution of durations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DurationSpread(BTreeMap<u16, i64>);

/// The error for a text that is not a distribution.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("read how durations are spread: {0:?} is not a size and a count")]
pub struct NotASpread(String);

/// Below this number of milliseconds, each millisecond is a size class of its own.
const EXACT: u64 = 16;
/// Number of size classes per doubling, as a power of two.
const PARTS: u32 = 3;

impl DurationSpread {
    /// Counts a duration. A negative one counts as zero.
    pub fn add(&mut self, ms: i64) {
        *self.0.entry(size(ms)).or_default() += 1;
    }

    /// Adds another distribution.
    pub fn join(&mut self, other: &Self) {
        for (size, count) in &other.0 {
            *self.0.entry(*size).or_default() += count;
        }
    }

    /// Parses the text form of a distribution.
    pub fn read(text: &str) -> Result<Self, NotASpread> {
        let mut spread = Self::default();
        for part in text.split_ascii_whitespace() {
            let pair = part.split_once(':');
            let pair =
                pair.and_then(|(size, count)| Some((size.parse().ok()?, count.parse().ok()?)));
            let (size, count): (u16, i64) = pair.ok_or_else(|| NotASpread(part.to_owned()))?;
            *spread.0.entry(size).or_default() += count;
        }
        Ok(spread)
    }

    /// The duration in milliseconds that `percent` per cent of the durations do
    /// not exceed; `None` if there are no durations.
    pub fn percentile(&self, percent: i64) -> Option<i64> {
        let count: i64 = self.0.values().sum();
        let rank = (count.saturating_mul(percent) + 99) / 100;
        let mut passed = 0;
        let reached = self.0.iter().find(|(_, count)| {
            passed += **count;
            passed >= rank
        });
        reached.filter(|_| count > 0).map(|(size, _)| middle(*size))
    }
}

impl fmt::Display for DurationSpread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (size, count)) in self.0.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{size}:{count}")?;
        }
        Ok(())
    }
}

/// The size class of a duration: its length in bits, and the three bits after the first.
fn size(ms: i64) -> u16 {
    let ms = u64::try_from(ms).unwrap_or(0);
    if ms < EXACT {
        return u16::try_from(ms).unwrap_or(0);
    }
    let shift = ms.ilog2() - PARTS;
    u16::try_from(u64::from(shift << PARTS) + (ms >> shift)).unwrap_or(u16::MAX)
}

/// The duration in the middle of a size class.
fn middle(size: u16) -> i64 {
    let size = u64::from(size);
    if size < EXACT {
        return size.cast_signed();
    }
    let shift = (size >> PARTS) - 1;
    let begin = (size - (shift << PARTS)).checked_shl(u32::try_from(shift).unwrap_or(u32::MAX));
    let width = 1_u64.checked_shl(u32::try_from(shift).unwrap_or(u32::MAX));
    let middle = begin.zip(width).and_then(|(begin, width)| begin.checked_add((width - 1) / 2));
    middle.and_then(|middle| i64::try_from(middle).ok()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(all: impl IntoIterator<Item = i64>) -> DurationSpread {
        let mut spread = DurationSpread::default();
        all.into_iter().for_each(|ms| spread.add(ms));
        spread
    }

    #[test]
    fn each_duration_is_near_the_middle_of_its_size() {
        let mut before = 0;
        for ms in (0..5_000).chain([86_400_000, 2_592_000_000, i64::MAX / 2]) {
            let told = middle(size(ms));
            assert!((told - ms).abs() <= ms / 16, "{ms} is told as {told}");
            assert!(size(ms) >= before, "{ms}");
            before = size(ms);
        }
        assert_eq!((middle(size(-5)), middle(size(15)), middle(size(16))), (0, 15, 16));
        assert!(middle(size(i64::MAX)) > i64::MAX / 16 * 15);
        assert_eq!(middle(u16::MAX), i64::MAX, "of a text that somebody else wrote");
    }

    #[test]
    fn so_many_of_a_hundred_did_not_exceed_a_percentile() {
        let spread = of(1..=10);
        assert_eq!([50, 95, 99, 100].map(|of| spread.percentile(of).unwrap()), [5, 10, 10, 10]);
        assert_eq!(of([7]).percentile(50), Some(7));
        assert_eq!(DurationSpread::default().percentile(50), None);
    }

    #[test]
    fn two_are_added_by_writing_one_behind_the_other() {
        let (one, other) = (of([1, 1, 40]), of([1, 3_000]));
        let both = DurationSpread::read(&format!("{one} {other}")).unwrap();
        assert_eq!(both, of([1, 1, 1, 40, 3_000]));
        assert_eq!(DurationSpread::read(&both.to_string()).unwrap(), both);
        assert_eq!(DurationSpread::read("  ").unwrap(), DurationSpread::default());
        for bad in ["1", "1:x", "a:1", "1:2:3", "-1:2", "99999:1"] {
            assert_eq!(DurationSpread::read(bad), Err(NotASpread(bad.to_owned())));
        }
    }
}

/// The matching times of a day: every combination of a matching hour, minute and second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    pub(crate) hours: u64,
    pub(crate) minutes: u64,
    pub(crate) seconds: u64,
}

impl Clock {
    /// Number of matching times in a day.
    pub(crate) fn per_day(self) -> u64 {
        ones(self.hours) * self.per_hour()
    }

    fn per_hour(self) -> u64 {
        ones(self.minutes) * ones(self.seconds)
    }

    /// The first matching second of the day at or after `second`.
    pub(crate) fn next(self, second: i64) -> Option<i64> {
        let (hour, minute, second) = split(second);
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = up(self.seconds, second)
            {
                return Some(join(hour, minute, second));
            }
            if let Some(minute) = up(self.minutes, minute + 1) {
                return Some(join(hour, minute, lowest(self.seconds)));
            }
        }
        let hour = up(self.hours, hour + 1)?;
        Some(join(hour, lowest(self.minutes), lowest(self.seconds)))
    }

    /// The last matching second of the day at or before `second`.
    pub(crate) fn previous(self, second: i64) -> Option<i64> {
        let (hour, minute, second) = split(second);
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = down(self.seconds, second + 1)
            {
                return Some(join(hour, minute, second));
            }
            if let Some(minute) = down(self.minutes, minute) {
                return Some(join(hour, minute, highest(self.seconds)));
            }
        }
        let hour = down(self.hours, hour)?;
        Some(join(hour, highest(self.minutes), highest(self.seconds)))
    }

    pub(crate) fn first(self) -> i64 {
        join(lowest(self.hours), lowest(self.minutes), lowest(self.seconds))
    }

    pub(crate) fn last(self) -> i64 {
        join(highest(self.hours), highest(self.minutes), highest(self.seconds))
    }

    /// Number of matching times of the day before `second`.
    pub(crate) fn before(self, second: i64) -> u64 {
        if second >= crate::calendar::DAY {
            return self.per_day();
        }
        let (hour, minute, second) = split(second);
        let mut count = ones(below(self.hours, hour)) * self.per_hour();
        if has(self.hours, hour) {
            count += ones(below(self.minutes, minute)) * ones(self.seconds);
            if has(self.minutes, minute) {
                count += ones(below(self.seconds, second));
            }
        }
        count
    }

    /// The matching seconds within a minute of the day, as a bit mask.
    pub(crate) fn seconds_of(self, minute: i64) -> u64 {
        let (hour, minute, _) = split(minute * 60);
        if has(self.hours, hour) && has(self.minutes, minute) { self.seconds } else { 0 }
    }

    /// Whether this second of the day matches.
    pub(crate) fn matches(self, second: i64) -> bool {
        let (hour, minute, second) = split(second);
        has(self.hours, hour) && has(self.minutes, minute) && has(self.seconds, second)
    }
}

fn split(second: i64) -> (u32, u32, u32) {
    // A second of a day fits in 32 bits.
    let second = second as u32;
    (second / 3_600, second / 60 % 60, second % 60)
}

fn join(hour: u32, minute: u32, second: u32) -> i64 {
    i64::from(hour * 3_600 + minute * 60 + second)
}

fn ones(mask: u64) -> u64 {
    u64::from(mask.count_ones())
}

fn has(mask: u64, bit: u32) -> bool {
    mask >> bit & 1 == 1
}

/// The bits lower than `bit`, which is at most 64.
fn below(mask: u64, bit: u32) -> u64 {
    mask & u64::MAX.checked_shr(64 - bit).unwrap_or(0)
}

/// The first set bit at or after `bit`, which is at most 63.
pub(super) fn up(mask: u64, bit: u32) -> Option<u32> {
    let rest = mask >> bit << bit;
    (rest != 0).then(|| rest.trailing_zeros())
}

/// The last set bit before `bit`, which is at most 64.
pub(super) fn down(mask: u64, bit: u32) -> Option<u32> {
    let rest = below(mask, bit);
    (rest != 0).then(|| 63 - rest.leading_zeros())
}

/// The lowest set bit. The masks of a clock are never empty: every field has at least one value.
fn lowest(mask: u64) -> u32 {
    mask.trailing_zeros()
}

fn highest(mask: u64) -> u32 {
    63 - mask.leading_zeros()
}

use super::clock::{down, up};
use crate::{
    calendar::{date, day_number, leap, month_length, weekday},
    expression::unit::LAST_YEAR,
};

/// The matching dates: croner's answers for every shape of month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Days {
    /// The matching months, as a bit mask: bit 1 is January.
    months: u64,
    /// Matching days (bit 1 is the 1st), by length of the
    /// month minus 28, then by weekday of its 1st.
    shapes: [[u32; 7]; 4],
    /// The matching years, one bit for each; `None` for all years.
    years: Option<Box<[u64]>>,
    /// The totals of a whole year: for common (0) and leap (1) years, by weekday of 1 January.
    by_year: [[Year; 7]; 2],
}

/// The totals of a year, which depend only on its shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Year {
    /// The months that have a matching day.
    months: u64,
    /// Number of matching days.
    days: u16,
}

/// Matching days for every shape of month: by length minus 28, then by weekday of the 1st.
pub(super) type Shapes = [[u32; 7]; 4];

impl Days {
    pub(super) fn new(months: u64, shapes: Shapes, years: Option<Box<[u64]>>) -> Days {
        let mut days = Days { months, shapes, years, by_year: Default::default() };
        for is_leap in [false, true] {
            for first in 0..7 {
                days.by_year[usize::from(is_leap)][first] = days.year_of_shape(is_leap, first);
            }
        }
        days
    }

    fn year_of_shape(&self, is_leap: bool, january: usize) -> Year {
        let mut year = Year::default();
        let mut first = january;
        for month in 1..=12 {
            let length = month_length(is_leap, month);
            let days = self.shapes[length - 28][first];
            if self.months >> month & 1 == 1 && days != 0 {
                year.months |= 1 << month;
                // A month has at most 31 days.
                year.days += days.count_ones() as u16;
            }
            first = (first + length) % 7;
        }
        year
    }

    /// Whether every year matches, so that only a date's month, day and weekday matter.
    pub(crate) fn in_every_year(&self) -> bool {
        self.years.is_none()
    }

    /// Whether any date in any year matches.
    pub(crate) fn ever(&self) -> bool {
        match self.years {
            None => self.by_year.iter().flatten().any(|year| year.days > 0),
            Some(_) => {
                let years =
                    std::iter::successors(self.year_from(1), |year| self.year_from(year + 1));
                years.into_iter().any(|year| self.year(year).days > 0)
            }
        }
    }

    /// The first matching year at or after `year`, which must be at least 1.
    fn year_from(&self, year: i32) -> Option<i32> {
        if year > i32::from(LAST_YEAR) {
            return None;
        }
        let Some(years) = &self.years else {
            return Some(year);
        };
        let (word, bit) = (year as usize / 64, year as u32 % 64);
        if let Some(bit) = up(years[word], bit) {
            return Some((word * 64) as i32 + bit as i32);
        }
        let later = (word + 1..years.len()).find(|word| years[*word] != 0)?;
        Some((later * 64) as i32 + years[later].trailing_zeros() as i32)
    }

    /// The last matching year at or before `year`, which must be at most the last possible one.
    fn year_to(&self, year: i32) -> Option<i32> {
        if year < 1 {
            return None;
        }
        let Some(years) = &self.years else {
            return Some(year);
        };
        let (word, bit) = (year as usize / 64, year as u32 % 64);
        if let Some(bit) = down(years[word], bit + 1) {
            return Some((word * 64) as i32 + bit as i32);
        }
        let earlier = (0..word).rev().find(|word| years[*word] != 0)?;
        Some((earlier * 64) as i32 + 63 - years[earlier].leading_zeros() as i32)
    }

    fn year(&self, year: i32) -> Year {
        if !(1..=i32::from(LAST_YEAR)).contains(&year) {
            return Year::default();
        }
        // The year was just checked to be within the table's bounds.
        let index = year as usize;
        if self.years.as_ref().is_some_and(|years| years[index / 64] >> (index % 64) & 1 == 0) {
            return Year::default();
        }
        self.by_year[usize::from(leap(year))][weekday(day_number(year, 1, 1))]
    }

    /// The matching days of a month, as a bit mask: bit 1 is the 1st.
    fn month(&self, year: i32, month: usize) -> u64 {
        if self.year(year).months >> month & 1 == 0 {
            return 0;
        }
        self.shape(leap(year), month, day_number(year, month, 1))
    }

    /// The matching days of a month that is known to match.
    fn shape(&self, is_leap: bool, month: usize, first: i64) -> u64 {
        u64::from(self.shapes[month_length(is_leap, month) - 28][weekday(first)])
    }

    /// The months (counted from 1) that the expression contains but
    /// that do not have this day in a common year.
    pub(crate) fn months_without(&self, day: u16) -> impl Iterator<Item = u16> {
        let named = (1..=12_u16).filter(|month| self.months >> month & 1 == 1);
        named.filter(move |month| month_length(false, usize::from(*month)) < usize::from(day))
    }

    pub(crate) fn matches(&self, day: i64) -> bool {
        let (year, month, dom) = date(day);
        self.month(year, month) >> dom & 1 == 1
    }

    /// The first matching day at or after `day`.
    pub(crate) fn next(&self, day: i64) -> Option<i64> {
        let (first_year, first_month, dom) = date(day);
        // Most searches end in the month in which they begin.
        if let Some(found) = up(self.month(first_year, first_month), dom as u32) {
            return Some(day + i64::from(found) - dom as i64);
        }
        let mut ahead = first_year.max(1);
        while let Some(year) = self.year_from(ahead) {
            ahead = year + 1;
            let after = if year == first_year { first_month as u32 + 1 } else { 1 };
            if let Some(month) = up(self.year(year).months, after) {
                let first = day_number(year, month as usize, 1);
                let days = self.shape(leap(year), month as usize, first);
                return Some(first + i64::from(days.trailing_zeros()) - 1);
            }
        }
        None
    }

    /// The last matching day at or before `day`.
    pub(crate) fn previous(&self, day: i64) -> Option<i64> {
        let (last_year, last_month, dom) = date(day);
        if let Some(found) = down(self.month(last_year, last_month), dom as u32 + 1) {
            return Some(day + i64::from(found) - dom as i64);
        }
        let mut behind = last_year.min(i32::from(LAST_YEAR));
        while let Some(year) = self.year_to(behind) {
            behind = year - 1;
            let before = if year == last_year { last_month as u32 } else { 13 };
            if let Some(month) = down(self.year(year).months, before) {
                let first = day_number(year, month as usize, 1);
                let days = self.shape(leap(year), month as usize, first);
                return Some(first + 62 - i64::from(days.leading_zeros()));
            }
        }
        None
    }

    /// Number of matching days in `from..to`.
    pub(crate) fn count(&self, from: i64, to: i64) -> u64 {
        if from >= to {
            return 0;
        }
        let (first, _, _) = date(from);
        let (last, _, _) = date(to);
        let whole: u64 = (first.max(1)..last.min(i32::from(LAST_YEAR) + 1))
            .map(|year| u64::from(self.year(year).days))
            .sum();
        whole + self.since_new_year(to) - self.since_new_year(from)
    }

    /// Number of matching days before `day` in the same year.
    fn since_new_year(&self, day: i64) -> u64 {
        let (year, this_month, dom) = date(day);
        let is_leap = leap(year);
        let mut first = day_number(year, 1, 1);
        let mut count = 0;
        for month in 1..=this_month {
            let mut days = self.month(year, month);
            if month == this_month {
                days &= (1 << dom) - 1;
            }
            count += u64::from(days.count_ones());
            first += month_length(is_leap, month) as i64;
        }
        debug_assert!(first > day);
        count
    }
}

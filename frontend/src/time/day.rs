//! A calendar day, without a zone.

use std::fmt;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A day, as the number of days since 1 January 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Day(i64);

impl Day {
    pub(crate) fn new(year: i64, month: i64, day: i64) -> Self {
        let year = if month > 2 { year } else { year - 1 };
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        Self(
            era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year
                - 719_468,
        )
    }

    /// Parses a day from the beginning of a text: `2026-12-24`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        ((1..=12).contains(&month) && (1..=31).contains(&day)).then(|| Self::new(year, month, day))
    }

    pub(crate) fn plus(self, days: i64) -> Self {
        Self(self.0 + days)
    }

    /// Year, month and day.
    pub(crate) fn parts(self) -> (i64, i64, i64) {
        let shifted = self.0 + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        (year, month, day)
    }

    /// The day of the week: 0 on Monday, 6 on Sunday.
    pub(crate) fn weekday(self) -> usize {
        // 1 January 1970 was a Thursday.
        usize::try_from((self.0 + 3).rem_euclid(7)).unwrap_or_default()
    }

    /// The day of the year: `12-24`.
    pub(crate) fn of_year(self) -> String {
        let (_, month, day) = self.parts();
        format!("{month:02}-{day:02}")
    }

    /// The day in words: `24 December 2026`.
    pub(crate) fn words(self) -> String {
        let (year, month, day) = self.parts();
        format!("{day} {} {year}", month_name(month))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.parts();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// The name of a month: `December` for 12.
pub(crate) fn month_name(month: i64) -> &'static str {
    let place = usize::try_from(month - 1).unwrap_or_default();
    MONTHS.get(place).copied().unwrap_or_default()
}

/// The number of days in a month.
pub(crate) fn days_in(year: i64, month: i64) -> i64 {
    let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    Day::new(next_year, next, 1).0 - Day::new(year, month, 1).0
}

#[cfg(test)]
mod tests {
    use super::{Day, days_in};

    #[test]
    fn each_day_of_four_centuries_is_found_again() {
        let mut day = Day::new(1900, 1, 1);
        for _ in 0..146_097 {
            let (year, month, number) = day.parts();
            assert_eq!(Day::new(year, month, number), day);
            assert_eq!(Day::parse(&day.to_string()), Some(day));
            day = day.plus(1);
        }
        assert_eq!(day.to_string(), "2300-01-01");
    }

    #[test]
    fn a_day_knows_its_weekday_and_its_month() {
        assert_eq!(Day::new(2026, 11, 26).weekday(), 3);
        assert_eq!(Day::new(2028, 2, 29).words(), "29 February 2028");
        assert_eq!([days_in(2026, 2), days_in(2028, 2), days_in(2026, 12)], [28, 29, 31]);
        assert_eq!(Day::parse("2026-13-01"), None);
    }
}

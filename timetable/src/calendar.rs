//! The proleptic Gregorian calendar on whole days since 1970-01-01.
//!
//! The search for a fire converts day numbers into dates and back in its inner loop.
//! These are the usual closed forms (days counted from 1 March, so that the leap day comes last),
//! without the checks and the packing of a date type.

/// Seconds in a day of the wall clock.
pub(crate) const DAY: i64 = 86_400;

/// The date of a day number: year, month (1 to 12) and day (from 1).
pub(crate) fn date(day: i64) -> (i32, usize, usize) {
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year as i32, month as usize, day as usize)
}

/// The day number of a date; the day may lie outside its month.
pub(crate) fn day_number(year: i32, month: usize, day: usize) -> i64 {
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month = month as i64;
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * from_march + 2) / 5 + day as i64 - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The day of the week, counted from Sunday as 0.
pub(crate) fn weekday(day: i64) -> usize {
    // 1970-01-01 was a Thursday.
    (day + 4).rem_euclid(7) as usize
}

pub(crate) fn leap(year: i32) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

/// Number of days in a month, 28 to 31.
pub(crate) fn month_length(leap: bool, month: usize) -> usize {
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use chrono::{Datelike, NaiveDate};

    use super::*;

    #[test]
    fn every_day_of_five_thousand_years_is_the_one_that_chrono_names() {
        let first = NaiveDate::from_ymd_opt(-1, 1, 1).expect("a date");
        let days = i64::from(first.to_epoch_days())..;
        for (day, chrono) in days.zip(first.iter_days()).take(366 * 5_002) {
            let (year, month, dom) = date(day);
            assert_eq!(
                (year, month as u32, dom as u32),
                (chrono.year(), chrono.month(), chrono.day())
            );
            assert_eq!(day_number(year, month, dom), day);
            assert_eq!(weekday(day) as u32, chrono.weekday().num_days_from_sunday());
            assert_eq!(
                month_length(leap(year), month) as u32,
                u32::from(chrono.num_days_in_month())
            );
        }
    }
}

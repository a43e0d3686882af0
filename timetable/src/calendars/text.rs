use crate::{
    calendar::{DAY, day_number, leap, month_length},
    error::Fault,
    expression::unit::LAST_YEAR,
};

/// Parses a date such as `2026-12-24` into a day number.
pub(super) fn date(text: &str) -> Result<i64, Fault> {
    const HELP: &str = "write a date as 2026-12-24";
    let [year, month, day] =
        numbers(text, '-', [4, 2, 2]).ok_or_else(|| Fault::new("it is not a date", HELP))?;
    if !(1..=i64::from(LAST_YEAR)).contains(&year) {
        let help = format!("give a year from 0001 to {LAST_YEAR}");
        return Err(Fault::new("its year is out of range", help));
    }
    // The year was just checked to have four digits.
    let year = year as i32;
    let (month, day) = existing(month, day, leap(year))?;
    Ok(day_number(year, month, day))
}

/// Parses a day of the year such as `12-25` into month and day. `02-29` is accepted.
pub(super) fn day_of_year(text: &str) -> Result<(usize, usize), Fault> {
    let [month, day] = numbers(text, '-', [2, 2])
        .ok_or_else(|| Fault::new("it is not a day of the year", "write month and day as 12-25"))?;
    existing(month, day, true)
}

/// Parses a time such as `09:00`, `09:00:30` or `24:00` into seconds since midnight.
pub(super) fn time(text: &str) -> Result<i64, Fault> {
    let parts = numbers(text, ':', [2, 2])
        .map(|[hour, minute]| [hour, minute, 0])
        .or_else(|| numbers(text, ':', [2, 2, 2]));
    let [hour, minute, second] = parts.ok_or_else(|| {
        Fault::new("it is not a time of the day", "write it as 09:00 or 09:00:30")
    })?;
    let at = hour * 3_600 + minute * 60 + second;
    if minute > 59 || second > 59 || at > DAY {
        return Err(Fault::new("there is no such time", "give 00:00 to 23:59:59, or 24:00"));
    }
    Ok(at)
}

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// A whole day.
    Day(i64),
    /// A civil second.
    Second(i64),
}

/// Parses one end of a range: `2026-12-24` or `2026-12-24T18:00`.
pub(super) fn edge(text: &str) -> Result<Edge, Fault> {
    match text.split_once('T') {
        None => date(text).map(Edge::Day),
        Some((day, at)) => Ok(Edge::Second(date(day)? * DAY + time(at)?)),
    }
}

impl Edge {
    /// The civil second at which a range that begins at this edge begins.
    pub(super) fn start(self) -> i64 {
        match self {
            Edge::Day(day) => day * DAY,
            Edge::Second(second) => second,
        }
    }

    /// The civil second before which a range that ends at this edge ends.
    pub(super) fn end(self) -> i64 {
        match self {
            Edge::Day(day) => (day + 1) * DAY,
            Edge::Second(second) => second,
        }
    }
}

fn existing(month: i64, day: i64, is_leap: bool) -> Result<(usize, usize), Fault> {
    let there = (1..=12).contains(&month)
        && (1..=month_length(is_leap, month as usize) as i64).contains(&day);
    // The numbers were just checked to be a month and a day.
    if there {
        return Ok((month as usize, day as usize));
    }
    Err(Fault::new("there is no such day", "give a month from 01 to 12 and a day that it has"))
}

/// Parses `N` whole numbers with exactly these numbers of digits and nothing else around them.
fn numbers<const N: usize>(text: &str, between: char, digits: [usize; N]) -> Option<[i64; N]> {
    let mut numbers = [0; N];
    let mut parts = text.split(between);
    for (number, digits) in numbers.iter_mut().zip(digits) {
        let part = parts.next()?;
        if part.len() != digits || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_in_the_exact_form_are_read() {
        assert_eq!(date("1970-01-02").expect("a date"), 1);
        assert_eq!(date("2028-02-29").expect("a leap day"), day_number(2028, 2, 29));
        assert_eq!(day_of_year("02-29").expect("in leap years"), (2, 29));
        assert_eq!(time("09:30").expect("a time"), 34_200);
        assert_eq!(time("09:30:15").expect("a time"), 34_215);
        assert_eq!(time("24:00").expect("the end"), DAY);
        assert_eq!(edge("1970-01-02T00:00:01").expect("a time"), Edge::Second(DAY + 1));
    }

    #[test]
    fn everything_else_is_refused() {
        for text in ["", "2026-2-1", "2026-02-29", "2026-13-01", "2026-00-10", "2026-01-32"] {
            date(text).expect_err(text);
        }
        for text in
            ["0000-01-01", "5000-01-01", "26-01-01", "2026/01/01", "+026-01-01", " 2026-01-01"]
        {
            date(text).expect_err(text);
        }
        for text in ["02-30", "13-01", "1-1", "12-25-", ""] {
            day_of_year(text).expect_err(text);
        }
        for text in ["9:00", "24:01", "25:00", "09:60", "09:00:60", "0900", "09:00:00:00", ""] {
            time(text).expect_err(text);
        }
    }
}

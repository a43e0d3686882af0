//! A calendar compiled for queries: whether an instant is suppressed, and until when.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::{
    entries::{CalendarEntries, CalendarMode, DateRange, TimeWindow, Weekday},
    text,
};
use crate::{
    calendar::{DAY, date, day_number, leap, month_length, weekday},
    error::{Fault, TimingError},
};

/// Maximum number of dates, days of the year, ranges and windows in a calendar.
const ENTRIES: usize = 2_000;

/// Maximum number of windows in a calendar: windows recur every week, so they cost the most.
const WINDOWS: usize = 100;

const WEEK: i64 = 7 * DAY;

/// A civil second later than any that is ever looked up.
pub(crate) const NEVER: i64 = i64::MAX / 4;

/// A named set of local times, checked and compiled.
/// One look-up tells whether a wall-clock time lies in the set, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calendar {
    name: Arc<str>,
    mode: CalendarMode,
    /// Dates and ranges, as half-open intervals of civil seconds: ascending and disjoint.
    once: Box<[(i64, i64)]>,
    /// Weekdays and windows, as seconds of a week that begins on Sunday: ascending and disjoint.
    weekly: Box<[(i64, i64)]>,
    /// Days of the year: bit 25 of 12 is 25 December.
    yearly: [u32; 13],
    /// The calendar's earlier versions, in order,
    /// each with the instant up to which it was in force.
    past: Box<[(DateTime<Utc>, Arc<Calendar>)]>,
}

impl Calendar {
    /// Checks and compiles a calendar's entries.
    ///
    /// # Errors
    ///
    /// The first invalid entry, too many entries, or an `only` calendar
    /// without entries, which would never allow a fire.
    pub fn new(
        name: &str,
        mode: CalendarMode,
        entries: &CalendarEntries,
    ) -> Result<Calendar, TimingError> {
        let CalendarEntries { dates, yearly, weekdays, ranges, windows } = entries;
        within("windows", windows.len(), WINDOWS)?;
        let all = dates.len() + yearly.len() + weekdays.len() + ranges.len() + windows.len();
        within("dates", all, ENTRIES)?;
        if all == 0 && mode == CalendarMode::Only {
            let help = "name what it is to allow: dates, weekdays, ranges or windows";
            return Err(TimingError::new(
                "dates",
                "",
                Fault::new("it never allows anything", help),
            ));
        }

        let mut once = Vec::with_capacity(dates.len() + ranges.len());
        for (index, text) in dates.iter().enumerate() {
            let field = || format!("dates[{index}]");
            let day = text::date(text).map_err(|fault| TimingError::new(field(), text, fault))?;
            once.push((day * DAY, (day + 1) * DAY));
        }
        for (index, range) in ranges.iter().enumerate() {
            once.push(between(&format!("ranges[{index}]"), range)?);
        }
        let mut months = [0; 13];
        for (index, text) in yearly.iter().enumerate() {
            let refuse = |fault| TimingError::new(format!("yearly[{index}]"), text, fault);
            let (month, day) = text::day_of_year(text).map_err(refuse)?;
            months[month] |= 1 << day;
        }
        let mut weekly: Vec<(i64, i64)> = Vec::new();
        for weekday in weekdays {
            let midnight = *weekday as i64 * DAY;
            weekly.push((midnight, midnight + DAY));
        }
        for (index, window) in windows.iter().enumerate() {
            weekly.extend(window_of_week(&format!("windows[{index}]"), window)?);
        }
        Ok(Calendar {
            name: name.into(),
            mode,
            once: apart(once),
            weekly: apart(weekly),
            yearly: months,
            past: Box::default(),
        })
    }

    /// The same calendar with its earlier versions: an instant before a change is judged by the
    /// version that was in force then. `past` lists the changes in order, each with the version
    /// that the change replaced. Earlier versions are reported under the calendar's current name.
    ///
    /// If a clock was stepped back and a later change has an earlier instant, the later change
    /// wins: from that instant on, the version that it replaced was never in force.
    pub fn with_past(
        &self,
        past: impl IntoIterator<Item = (DateTime<Utc>, Arc<Calendar>)>,
    ) -> Calendar {
        let mut past: Vec<(DateTime<Utc>, Arc<Calendar>)> = past.into_iter().collect();
        let mut until = DateTime::<Utc>::MAX_UTC;
        for (change, _) in past.iter_mut().rev() {
            until = until.min(*change);
            *change = until;
        }
        Calendar { past: past.into_boxed_slice(), ..self.clone() }
    }

    /// A calendar that suppresses every fire from one instant (inclusive) to another (exclusive), on
    /// any clock.
    pub(crate) fn all_between(name: &str, from: DateTime<Utc>, until: DateTime<Utc>) -> Calendar {
        let nothing = Calendar {
            name: name.into(),
            mode: CalendarMode::Exclude,
            once: Box::default(),
            weekly: Box::default(),
            yearly: [0; 13],
            past: Box::default(),
        };
        let everything = Calendar { weekly: Box::new([(0, WEEK)]), ..nothing.clone() };
        nothing.with_past([(from, Arc::new(nothing.clone())), (until, Arc::new(everything))])
    }

    /// The version of the calendar in force at an instant, and until when.
    pub(crate) fn in_force(&self, at: DateTime<Utc>) -> (&Calendar, DateTime<Utc>) {
        match self.past.get(self.past.partition_point(|(until, _)| *until <= at)) {
            Some((until, was)) => (was, *until),
            None => (self, DateTime::<Utc>::MAX_UTC),
        }
    }

    /// The calendar's name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether the calendar suppresses the fires inside its entries or those outside of them.
    pub fn mode(&self) -> CalendarMode {
        self.mode
    }

    /// Whether the calendar suppresses a civil second, and a later second up to which that stays
    /// so. The suppression may last longer: the answer ends where one of the entries ends.
    pub(crate) fn suppresses(&self, civil: i64) -> (bool, i64) {
        let parts = [self.once_at(civil), self.week_at(civil), self.year_at(civil)];
        let inside = parts.iter().any(|(inside, _)| *inside);
        let ends = parts.iter().filter(|part| part.0 == inside).map(|(_, until)| *until);
        // A second inside an entry stays inside until the last such entry ends; a second outside
        // stays outside until the first entry begins.
        let until = if inside { ends.max() } else { ends.min() };
        let until = until.unwrap_or(NEVER);
        match self.mode {
            CalendarMode::Exclude => (inside, until),
            CalendarMode::Only => (!inside, until),
        }
    }

    fn once_at(&self, civil: i64) -> (bool, i64) {
        match self.once.get(self.once.partition_point(|(_, end)| *end <= civil)) {
            Some((start, end)) if *start <= civil => (true, *end),
            Some((start, _)) => (false, *start),
            None => (false, NEVER),
        }
    }

    fn week_at(&self, civil: i64) -> (bool, i64) {
        let Some((first, _)) = self.weekly.first() else {
            return (false, NEVER);
        };
        let sunday = (civil.div_euclid(DAY) - weekday(civil.div_euclid(DAY)) as i64) * DAY;
        let second = civil - sunday;
        match self.weekly.get(self.weekly.partition_point(|(_, end)| *end <= second)) {
            Some((0, WEEK)) => (true, NEVER),
            Some((start, end)) if *start <= second => (true, sunday + end),
            Some((start, _)) => (false, sunday + start),
            None => (false, sunday + WEEK + first),
        }
    }

    fn year_at(&self, civil: i64) -> (bool, i64) {
        let day = civil.div_euclid(DAY);
        let (year, month, dom) = date(day);
        if self.yearly[month] >> dom & 1 == 1 {
            return (true, (day + 1) * DAY);
        }
        if self.yearly == [0; 13] {
            return (false, NEVER);
        }
        // The next 29 February may be eight years away,
        // around a century year that is not a leap year.
        let (mut year, mut month, mut from) = (year, month, dom as u32 + 1);
        for _ in 0..9 * 12 {
            let days = self.yearly[month] & u32::MAX.checked_shl(from).unwrap_or(0);
            let first = days.trailing_zeros() as usize;
            if first <= month_length(leap(year), month) {
                return (false, day_number(year, month, first) * DAY);
            }
            (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
            from = 1;
        }
        (false, NEVER)
    }
}

fn within(field: &str, count: usize, most: usize) -> Result<(), TimingError> {
    if count <= most {
        return Ok(());
    }
    let fault = Fault::new(
        format!("it has {count} entries"),
        format!("the limit is {most}: name ranges instead of single days, or divide the calendar"),
    );
    Err(TimingError::new(field, "", fault))
}

/// The civil seconds of a range.
fn between(field: &str, range: &DateRange) -> Result<(i64, i64), TimingError> {
    let edge = |end: &str, text: &str| {
        text::edge(text).map_err(|fault| TimingError::new(format!("{field}.{end}"), text, fault))
    };
    let (start, end) = (edge("from", &range.from)?.start(), edge("to", &range.to)?.end());
    if start < end {
        return Ok((start, end));
    }
    let fault = Fault::new("it ends before it begins", format!("it begins at {}", range.from));
    Err(TimingError::new(format!("{field}.to"), &range.to, fault))
}

/// The seconds of the week that a time window covers on each of its days.
fn window_of_week(field: &str, window: &TimeWindow) -> Result<Vec<(i64, i64)>, TimingError> {
    let time = |end: &str, text: &str| {
        text::time(text).map_err(|fault| TimingError::new(format!("{field}.{end}"), text, fault))
    };
    let (from, to) = (time("from", &window.from)?, time("to", &window.to)?);
    if from == to || from == DAY {
        let fault = Fault::new("it ends where it begins", "for whole days, name weekdays");
        return Err(TimingError::new(format!("{field}.to"), &window.to, fault));
    }
    // A window that ends before it begins continues into the next day.
    let length = if from < to { to - from } else { DAY - from + to };
    let days = if window.weekdays.is_empty() { &Weekday::ALL[..] } else { &window.weekdays[..] };
    let mut seconds = Vec::with_capacity(days.len());
    for day in days {
        let start = *day as i64 * DAY + from;
        seconds.push((start, (start + length).min(WEEK)));
        if start + length > WEEK {
            seconds.push((0, start + length - WEEK));
        }
    }
    Ok(seconds)
}

/// The same intervals, sorted, with touching or overlapping ones joined.
fn apart(mut intervals: Vec<(i64, i64)>) -> Box<[(i64, i64)]> {
    intervals.sort_unstable();
    let mut apart: Vec<(i64, i64)> = Vec::with_capacity(intervals.len());
    for (start, end) in intervals {
        match apart.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            Some(_) | None => apart.push((start, end)),
        }
    }
    apart.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> CalendarEntries {
        CalendarEntries {
            dates: vec!["2026-12-24".to_owned()],
            yearly: vec!["12-25".to_owned(), "02-29".to_owned()],
            weekdays: vec![Weekday::Sat, Weekday::Sun],
            ranges: vec![DateRange {
                from: "2026-07-01T12:00".to_owned(),
                to: "2026-07-31".to_owned(),
            }],
            windows: vec![TimeWindow {
                from: "22:00".to_owned(),
                to: "06:00".to_owned(),
                weekdays: vec![Weekday::Fri, Weekday::Sat],
            }],
        }
    }

    /// Visits every second at which the answer may change, and checks each against the entries.
    #[test]
    fn a_calendars_answer_holds_until_the_instant_that_it_names() {
        let calendar = Calendar::new("x", CalendarMode::Exclude, &entries()).expect("valid");
        let inverse = Calendar::new("x", CalendarMode::Only, &entries()).expect("valid");
        let inside = |civil: i64| {
            let (day, second) = (civil.div_euclid(DAY), civil.rem_euclid(DAY));
            let (_, month, dom) = date(day);
            let weekday = weekday(day);
            [0, 6].contains(&weekday)
                || (weekday == 5 && second >= 22 * 3_600)
                || (weekday == 0 && second < 6 * 3_600)
                || [(12, 25), (2, 29)].contains(&(month, dom))
                || day == day_number(2026, 12, 24)
                || (day_number(2026, 7, 1) * DAY + DAY / 2..day_number(2026, 8, 1) * DAY)
                    .contains(&civil)
        };
        let end = day_number(2029, 1, 1) * DAY;
        let mut civil = day_number(2026, 1, 1) * DAY;
        let mut pieces = 0;
        while civil < end {
            let (suppressed, until) = calendar.suppresses(civil);
            assert!(until > civil);
            assert_eq!(inverse.suppresses(civil), (!suppressed, until));
            for at in (civil..until.min(end)).step_by(1_800).chain([until.min(end) - 1]) {
                assert_eq!(inside(at), suppressed, "{at}");
            }
            civil = until;
            pieces += 1;
        }
        assert!(pieces < 3 * 52 * 5, "{pieces} pieces in three years");
    }

    #[test]
    fn a_calendar_that_names_nothing_never_changes() {
        let nothing = CalendarEntries::default();
        let calendar = Calendar::new("x", CalendarMode::Exclude, &nothing).expect("harmless");
        assert_eq!(calendar.suppresses(0), (false, NEVER));
        let error = Calendar::new("x", CalendarMode::Only, &nothing).expect_err("allows nothing");
        assert_eq!(error.field, "dates");
    }

    #[test]
    fn a_bad_entry_is_named_with_its_place() {
        let bad = |change: fn(&mut CalendarEntries)| {
            let mut entries = entries();
            change(&mut entries);
            Calendar::new("x", CalendarMode::Exclude, &entries).expect_err("bad").field
        };
        assert_eq!(bad(|entries| entries.dates.push("2026-02-30".to_owned())), "dates[1]");
        assert_eq!(bad(|entries| entries.yearly[0] = "25.12.".to_owned()), "yearly[0]");
        assert_eq!(bad(|entries| entries.ranges[0].to = "2026-06-30".to_owned()), "ranges[0].to");
        assert_eq!(bad(|entries| entries.windows[0].from = "6:00".to_owned()), "windows[0].from");
        assert_eq!(bad(|entries| entries.windows[0].from = "06:00".to_owned()), "windows[0].to");
        assert_eq!(bad(|entries| entries.dates = vec!["2026-01-01".to_owned(); 2_001]), "dates");
        assert_eq!(
            bad(|entries| entries.windows = vec![entries.windows[0].clone(); 101]),
            "windows"
        );
    }
}

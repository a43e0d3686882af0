//! How much of a day a calendar, a maintenance window or a pause suppresses: all of it, a part, or nothing. It draws bands and decides
//! nothing: the server's counts already leave out what is suppressed.

use std::cmp::Ordering;

use crate::{
    model::{Calendar, CalendarMode, Pause, Range, Weekday, Window},
    time::{Day, Moment, Wall},
};

/// How much of a day. Entries that cover a whole day only together are still a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cover {
    Nothing,
    Part,
    All,
}

/// How much of a day's fires the calendar suppresses.
pub(super) fn by_calendar(calendar: &Calendar, day: Day) -> Cover {
    let named = named(calendar, day);
    match (calendar.mode, named) {
        (CalendarMode::Exclude, named) => named,
        (CalendarMode::Only, Cover::Nothing) => Cover::All,
        (CalendarMode::Only, Cover::Part) => Cover::Part,
        (CalendarMode::Only, Cover::All) => Cover::Nothing,
    }
}

/// How much of a day from today on falls into a pause.
pub(super) fn by_pause(pause: &Pause, day: Day, zone: &str) -> Cover {
    let Some(until) = pause.until else { return Cover::All };
    let Some(wall) = Wall::read(until, zone) else { return Cover::All };
    let is_midnight = wall.time == "00:00:00";
    match Day::parse(&wall.date).map(|last| day.cmp(&last)) {
        None | Some(Ordering::Less) => Cover::All,
        Some(Ordering::Equal) if !is_midnight => Cover::Part,
        Some(Ordering::Equal | Ordering::Greater) => Cover::Nothing,
    }
}

/// How much of a day falls between two instants.
pub(super) fn by_instants(from: Moment, to: Moment, day: Day, zone: &str) -> Cover {
    let local = |at: Moment| {
        let wall = Wall::read(at, zone)?;
        Some(format!("{}T{}", wall.date, wall.time.get(..5)?))
    };
    match (local(from), local(to)) {
        (Some(from), Some(to)) => by_range(&Range { from, to }, day),
        // This browser does not know the zone.
        _ => Cover::Nothing,
    }
}

/// How much of a day the entries of a calendar name.
fn named(calendar: &Calendar, day: Day) -> Cover {
    let is_named = calendar.dates.contains(&day.to_string())
        || calendar.yearly.contains(&day.of_year())
        || is_on(&calendar.weekdays, day);
    if is_named {
        return Cover::All;
    }
    let ranges = calendar.ranges.iter().map(|range| by_range(range, day));
    let windows = calendar.windows.iter().map(|window| by_window(window, day));
    ranges.chain(windows).max().unwrap_or(Cover::Nothing)
}

fn is_on(weekdays: &[Weekday], day: Day) -> bool {
    Weekday::WEEK.get(day.weekday()).is_some_and(|weekday| weekdays.contains(weekday))
}

fn by_range(range: &Range, day: Day) -> Cover {
    let (begin, end) = (midnight(day), midnight(day.plus(1)));
    let from = instant(&range.from, 0);
    let to = instant(&range.to, 1);
    if from <= begin && to >= end {
        Cover::All
    } else if from < end && to > begin {
        Cover::Part
    } else {
        Cover::Nothing
    }
}

/// The bound of a range as a local time to the minute; that of a day is its midnight, or one `days` later.
fn instant(text: &str, days: i64) -> String {
    match Day::parse(text) {
        Some(day) if text.len() == 10 => midnight(day.plus(days)),
        Some(_) | None => text.get(..16).unwrap_or(text).to_owned(),
    }
}

fn midnight(day: Day) -> String {
    format!("{day}T00:00")
}

fn by_window(window: &Window, day: Day) -> Cover {
    let begins = |day: Day| window.weekdays.is_empty() || is_on(&window.weekdays, day);
    let is_overnight = window.to <= window.from;
    if begins(day) {
        let is_whole = window.from == "00:00" && window.to == "24:00";
        return if is_whole { Cover::All } else { Cover::Part };
    }
    // The rest of a window that began on the day before.
    let is_rest = is_overnight && window.to != "00:00" && begins(day.plus(-1));
    if is_rest { Cover::Part } else { Cover::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar(mode: CalendarMode) -> Calendar {
        Calendar {
            id: "c".into(),
            namespace: "default".into(),
            name: "c".into(),
            mode,
            version: 1,
            dates: vec!["2026-12-24".into()],
            yearly: vec!["01-01".into()],
            weekdays: vec![Weekday::Sun],
            ranges: vec![
                Range { from: "2026-12-07".into(), to: "2026-12-08".into() },
                Range { from: "2026-12-15T18:00".into(), to: "2026-12-17T08:00".into() },
            ],
            windows: vec![Window {
                from: "22:00".into(),
                to: "06:00".into(),
                weekdays: vec![Weekday::Fri],
            }],
            module: None,
            schedules: 1,
            updated_at: Moment::from_millis(0),
        }
    }

    fn covers(mode: CalendarMode, days: &[&str]) -> Vec<Cover> {
        let day = |text: &&str| by_calendar(&calendar(mode), Day::parse(text).unwrap());
        days.iter().map(day).collect()
    }

    #[test]
    fn a_day_is_covered_as_a_whole_in_part_or_not_at_all() {
        use Cover::{All, Nothing, Part};
        let exclude = |days: &[&str]| covers(CalendarMode::Exclude, days);
        assert_eq!(exclude(&["2026-12-24", "2027-01-01", "2026-12-06"]), [All; 3]);
        assert_eq!(exclude(&["2026-12-07", "2026-12-08", "2026-12-09"]), [All, All, Nothing]);
        let days = ["2026-12-14", "2026-12-15", "2026-12-16", "2026-12-17"];
        assert_eq!(exclude(&days), [Nothing, Part, All, Part]);
        // From Friday to Saturday morning.
        let days = ["2026-12-03", "2026-12-04", "2026-12-05"];
        assert_eq!(exclude(&days), [Nothing, Part, Part]);
        assert_eq!(covers(CalendarMode::Only, &["2026-12-24", "2026-12-15"]), [Nothing, Part]);
        assert_eq!(covers(CalendarMode::Only, &["2026-12-14"]), [All]);
    }

    #[test]
    fn a_window_covers_the_days_between_its_bounds() {
        let covers = |from: &str, to: &str| {
            let (from, to) = (Moment::parse(from).unwrap(), Moment::parse(to).unwrap());
            [0, 1, 2].map(|days| by_instants(from, to, Day::new(2026, 12, 1).plus(days), "UTC"))
        };
        let night = covers("2026-12-01T22:00:00Z", "2026-12-02T06:00:00Z");
        assert_eq!(night, [Cover::Part, Cover::Part, Cover::Nothing]);
        let long = covers("2026-12-01T12:00:00Z", "2026-12-03T00:00:00Z");
        assert_eq!(long, [Cover::Part, Cover::All, Cover::Nothing]);
    }

    #[test]
    fn a_pause_covers_the_days_until_its_end() {
        let at = Moment::from_millis(0);
        let pause = |until: Option<&str>| Pause {
            reason: "rest".into(),
            by: "ada".into(),
            at,
            until: until.and_then(Moment::parse),
            missed: None,
            window: None,
        };
        let covers = |until: Option<&str>| {
            [0, 1, 2].map(|days| by_pause(&pause(until), Day::new(2026, 12, 1).plus(days), "UTC"))
        };
        assert_eq!(covers(None), [Cover::All; 3]);
        let until = Some("2026-12-02T06:00:00Z");
        assert_eq!(covers(until), [Cover::All, Cover::Part, Cover::Nothing]);
        let midnight = Some("2026-12-02T00:00:00Z");
        assert_eq!(covers(midnight), [Cover::All, Cover::Nothing, Cover::Nothing]);
    }
}

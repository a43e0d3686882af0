//! The form's state of a calendar that is being edited.

use leptos::prelude::*;
use serde_json::{Value, json};

use crate::{
    api::planning::{create_calendar, update_calendar},
    model::{Calendar, CalendarMode, Failure, Range, Weekday, Window},
    pages::kit::KeptFields,
    time::Day,
};

/// The entries in the form. Ranges and windows are lines of text.
#[derive(Clone, Copy)]
pub(super) struct Draft {
    pub(super) name: RwSignal<String>,
    pub(super) mode: RwSignal<String>,
    pub(super) dates: RwSignal<Vec<String>>,
    pub(super) yearly: RwSignal<Vec<String>>,
    pub(super) weekdays: RwSignal<Vec<Weekday>>,
    pub(super) ranges: RwSignal<String>,
    pub(super) windows: RwSignal<String>,
}

/// The parsed content of the form.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entries {
    pub(super) name: String,
    pub(super) mode: CalendarMode,
    pub(super) dates: Vec<String>,
    pub(super) yearly: Vec<String>,
    pub(super) weekdays: Vec<Weekday>,
    pub(super) ranges: Vec<Range>,
    pub(super) windows: Vec<Window>,
}

impl Draft {
    pub(super) fn new() -> Self {
        Self {
            name: RwSignal::new(String::new()),
            mode: RwSignal::new("exclude".to_owned()),
            dates: RwSignal::new(Vec::new()),
            yearly: RwSignal::new(Vec::new()),
            weekdays: RwSignal::new(Vec::new()),
            ranges: RwSignal::new(String::new()),
            windows: RwSignal::new(String::new()),
        }
    }

    pub(super) fn of(calendar: &Calendar) -> Self {
        let range = |range: &Range| format!("{} to {}", range.from, range.to);
        let ranges: Vec<String> = calendar.ranges.iter().map(range).collect();
        let windows: Vec<String> = calendar.windows.iter().map(window_line).collect();
        Self {
            name: RwSignal::new(calendar.name.clone()),
            mode: RwSignal::new(mode_name(calendar.mode).to_owned()),
            dates: RwSignal::new(calendar.dates.clone()),
            yearly: RwSignal::new(calendar.yearly.clone()),
            weekdays: RwSignal::new(calendar.weekdays.clone()),
            ranges: RwSignal::new(ranges.join("\n")),
            windows: RwSignal::new(windows.join("\n")),
        }
    }

    /// The fields that are kept until they are sent.
    pub(super) fn kept(self) -> KeptFields {
        KeptFields::new()
            .with("name", self.name)
            .with("mode", self.mode)
            .with("dates", self.dates)
            .with("yearly", self.yearly)
            .with("weekdays", self.weekdays)
            .with("ranges", self.ranges)
            .with("windows", self.windows)
    }

    /// Parses the form; tracked.
    ///
    /// # Errors
    /// The first line that is not a range or a window.
    pub(super) fn read(self) -> Result<Entries, Failure> {
        let mode = match self.mode.get().as_str() {
            "only" => CalendarMode::Only,
            _ => CalendarMode::Exclude,
        };
        Ok(Entries {
            name: self.name.get().trim().to_owned(),
            mode,
            dates: self.dates.get(),
            yearly: self.yearly.get(),
            weekdays: self.weekdays.get(),
            ranges: lines(&self.ranges.get(), "ranges", read_range)?,
            windows: lines(&self.windows.get(), "windows", read_window)?,
        })
    }

    /// Handles a click on a day: adds the day, or removes it if it is already there.
    pub(super) fn flip(self, day: Day, every_year: bool) {
        let (set, text) =
            if every_year { (self.yearly, day.of_year()) } else { (self.dates, day.to_string()) };
        set.update(|set| {
            let before = set.len();
            set.retain(|known| *known != text);
            if set.len() == before {
                set.push(text);
                set.sort();
            }
        });
    }
}

impl Entries {
    /// The first kind of entry that covers the whole of a day.
    pub(super) fn names(&self, day: Day) -> Option<&'static str> {
        let (text, of_year) = (day.to_string(), day.of_year());
        let weekday = Weekday::WEEK.get(day.weekday());
        let in_range = |range: &Range| {
            let whole = range.from.len() == 10 && range.to.len() == 10;
            whole && range.from <= text && text <= range.to
        };
        if self.dates.contains(&text) {
            Some("day")
        } else if self.yearly.contains(&of_year) {
            Some("every year")
        } else if weekday.is_some_and(|weekday| self.weekdays.contains(weekday)) {
            Some("weekday")
        } else if self.ranges.iter().any(in_range) {
            Some("range")
        } else {
            None
        }
    }

    pub(super) fn into_new(self, namespace: String) -> create_calendar::CreateCalendarInput {
        let Self { name, mode, dates, yearly, weekdays, ranges, windows } = self;
        let range =
            |range: Range| create_calendar::CalendarRangeInput { from: range.from, to: range.to };
        let window = |window: Window| create_calendar::CalendarWindowInput {
            from: window.from,
            to: window.to,
            weekdays: window.weekdays,
        };
        create_calendar::CreateCalendarInput {
            namespace,
            name,
            mode,
            dates,
            yearly,
            weekdays,
            ranges: ranges.into_iter().map(range).collect(),
            windows: windows.into_iter().map(window).collect(),
        }
    }

    pub(super) fn into_change(
        self,
        id: String,
        expected_version: i64,
    ) -> update_calendar::UpdateCalendarInput {
        let range =
            |range: Range| update_calendar::CalendarRangeInput { from: range.from, to: range.to };
        let window = |window: Window| update_calendar::CalendarWindowInput {
            from: window.from,
            to: window.to,
            weekdays: window.weekdays,
        };
        update_calendar::UpdateCalendarInput {
            id,
            expected_version,
            name: Some(self.name),
            mode: Some(self.mode),
            dates: Some(self.dates),
            yearly: Some(self.yearly),
            weekdays: Some(self.weekdays),
            ranges: Some(self.ranges.into_iter().map(range).collect()),
            windows: Some(self.windows.into_iter().map(window).collect()),
            reason: None,
        }
    }

    /// A module file that declares the calendar under this name, for planning its effect.
    pub(super) fn to_module(&self, namespace: &str, name: &str) -> String {
        let weekdays = |days: &[Weekday]| -> Vec<String> {
            days.iter().map(|day| day.word().to_ascii_lowercase()).collect()
        };
        let range = |range: &Range| json!({ "from": range.from, "to": range.to });
        let window = |window: &Window| {
            let days = weekdays(&window.weekdays);
            json!({ "from": window.from, "to": window.to, "weekdays": days })
        };
        let calendar = json!({
            "mode": mode_name(self.mode),
            "dates": self.dates,
            "yearly": self.yearly,
            "weekdays": weekdays(&self.weekdays),
            "ranges": self.ranges.iter().map(range).collect::<Vec<Value>>(),
            "windows": self.windows.iter().map(window).collect::<Vec<Value>>(),
        });
        let module = "console-preview";
        json!({ "module": module, "namespace": namespace, "calendars": { name: calendar } })
            .to_string()
    }
}

fn mode_name(mode: CalendarMode) -> &'static str {
    match mode {
        CalendarMode::Exclude => "exclude",
        CalendarMode::Only => "only",
    }
}

fn window_line(window: &Window) -> String {
    let days: Vec<&str> = window.weekdays.iter().map(|day| day.word()).collect();
    let on = if days.is_empty() { String::new() } else { format!(" on {}", days.join(" ")) };
    format!("{} to {}{on}", window.from, window.to)
}

/// Parses each line that is not empty.
fn lines<T>(text: &str, field: &str, read: fn(&str) -> Option<T>) -> Result<Vec<T>, Failure> {
    let full = text.lines().map(str::trim).filter(|line| !line.is_empty());
    full.map(|line| {
        let wrong =
            || Failure::of_field(field, format!("\"{line}\" cannot be read. Write: START to END."));
        read(line).ok_or_else(wrong)
    })
    .collect()
}

/// Parses a range: `2026-07-01 to 2026-07-31`.
fn read_range(line: &str) -> Option<Range> {
    let (from, to) = line.split_once(" to ")?;
    Some(Range { from: from.trim().to_owned(), to: to.trim().to_owned() })
}

/// Parses a window: `09:00 to 17:00 on Mon Tue`.
fn read_window(line: &str) -> Option<Window> {
    let (from, rest) = line.split_once(" to ")?;
    let (to, days) = rest.split_once(" on ").unwrap_or((rest, ""));
    let day =
        |word: &str| Weekday::WEEK.into_iter().find(|day| day.word().eq_ignore_ascii_case(word));
    let words = days.split([' ', ',']).filter(|word| !word.is_empty());
    let weekdays = words.map(day).collect::<Option<Vec<_>>>()?;
    Some(Window { from: from.trim().to_owned(), to: to.trim().to_owned(), weekdays })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Entries {
        Entries {
            name: "holidays".into(),
            mode: CalendarMode::Exclude,
            dates: vec!["2026-12-24".into()],
            yearly: vec!["12-25".into()],
            weekdays: vec![Weekday::Sun],
            ranges: vec![Range { from: "2026-07-01".into(), to: "2026-07-31".into() }],
            windows: Vec::new(),
        }
    }

    #[test]
    fn a_day_is_named_by_date_year_weekday_or_range() {
        let named = |text: &str| Day::parse(text).and_then(|day| entries().names(day));
        assert_eq!(named("2026-12-24"), Some("day"));
        assert_eq!(named("2031-12-25"), Some("every year"));
        assert_eq!(named("2026-11-29"), Some("weekday"));
        assert_eq!(named("2026-07-31"), Some("range"));
        assert_eq!(named("2026-08-01"), None);
    }

    #[test]
    fn a_window_is_read_as_it_is_written() {
        for line in ["09:00 to 17:00", "22:00 to 06:00 on Fri Sat"] {
            assert_eq!(read_window(line).map(|window| window_line(&window)).as_deref(), Some(line));
        }
        assert_eq!(read_window("09:00 to 17:00 on Someday"), None);
        assert_eq!(read_range("2026-07-01"), None);
    }

    #[test]
    fn the_effect_is_asked_of_a_file_that_declares_the_calendar() {
        let module: Value =
            serde_json::from_str(&entries().to_module("default", "old")).unwrap_or_default();
        assert_eq!(module["calendars"]["old"]["weekdays"], json!(["sun"]));
        assert_eq!(module["calendars"]["old"]["mode"], "exclude");
    }
}

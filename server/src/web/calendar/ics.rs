//! Writes iCalendar: lines of at most 75 bytes, with escaped texts.

use std::iter;

use chrono::{DateTime, Days, NaiveDate, Utc};
use uuid::Uuid;

use crate::commands::feeds::{
    EventTime, FeedEvent, FeedPause, FeedSchedule, FeedWindow, SuppressedDay,
};

/// Maximum length of a line, without its end.
const LINE: usize = 75;
/// The refresh interval that programs should use.
const REFRESH: &str = "PT15M";

/// A calendar with this name. `link` is the address of the console, if browsers have one.
pub(super) fn calendar(
    name: &str,
    events: &[FeedEvent],
    is_whole: bool,
    link: Option<&str>,
) -> String {
    let mut text = CalendarLines::default();
    text.raw("BEGIN:VCALENDAR");
    text.raw("VERSION:2.0");
    text.raw("PRODID:-//Carillon//Upcoming runs//EN");
    text.raw("CALSCALE:GREGORIAN");
    text.raw("METHOD:PUBLISH");
    text.text("NAME", name);
    text.text("X-WR-CALNAME", name);
    if !is_whole {
        text.text(
            "X-WR-CALDESC",
            "There is more than a calendar shows; the console lists all of it.",
        );
    }
    text.raw(&format!("REFRESH-INTERVAL;VALUE=DURATION:{REFRESH}"));
    text.raw(&format!("X-PUBLISHED-TTL:{REFRESH}"));
    for event in events {
        text.event(event, link);
    }
    text.raw("END:VCALENDAR");
    text.0
}

#[derive(Default)]
struct CalendarLines(String);

impl CalendarLines {
    fn event(&mut self, event: &FeedEvent, link: Option<&str>) {
        self.raw("BEGIN:VEVENT");
        match event {
            FeedEvent::Run(schedule, when) => self.run(schedule, *when, link),
            FeedEvent::Pause(schedule, pause) => self.pause(schedule, pause, link),
            FeedEvent::Window(window) => self.window(window, link),
            FeedEvent::Suppressed(day) => self.suppressed(day, link),
        }
        // The event does not mark its reader as busy.
        self.raw("TRANSP:TRANSPARENT");
        self.raw("END:VEVENT");
    }

    fn run(&mut self, schedule: &FeedSchedule, when: EventTime, link: Option<&str>) {
        let FeedSchedule { id, name, description, note, updated_at, .. } = schedule;
        match when {
            EventTime::At(at) => {
                // The UID has the same id and time as the run's idempotency key, so that it is the
                // same at each reading.
                let (seconds, ms) = (at.timestamp(), at.timestamp_subsec_millis());
                let part = if ms == 0 { String::new() } else { format!(".{ms:03}") };
                self.raw(&format!("UID:{id}-{seconds}{part}@carillon"));
                self.raw(&format!("DTSTART:{}", instant(at)));
                self.text("SUMMARY", name);
            }
            EventTime::On(date, times) => {
                self.raw(&format!("UID:{id}-{}@carillon", day(date)));
                self.all_day(date);
                self.text("SUMMARY", &format!("{name}: {}", amount(times, "run", "runs")));
            }
        }
        // The event's contents change only with the schedule.
        self.raw(&format!("DTSTAMP:{}", instant(updated_at.utc())));
        let note = if note.is_empty() { String::new() } else { format!("\n\n{note}") };
        self.text("DESCRIPTION", &format!("{description}{note}"));
        self.categories("run", &schedule.tags);
        self.link(link, "schedules", *id);
    }

    fn pause(&mut self, schedule: &FeedSchedule, pause: &FeedPause, link: Option<&str>) {
        let FeedSchedule { id, name, description, updated_at, .. } = schedule;
        let FeedPause { from, until, has_end, reason, by } = pause;
        self.raw(&format!("UID:{id}-pause-{}@carillon", from.timestamp()));
        self.raw(&format!("DTSTART:{}", instant(*from)));
        self.raw(&format!("DTEND:{}", instant(*until)));
        let end = if *has_end { "" } else { " until it is resumed" };
        self.text("SUMMARY", &format!("{name}: paused{end}"));
        // A change of the pause's end or reason changes the schedule, too, but not the UID.
        self.raw(&format!("DTSTAMP:{}", instant(updated_at.utc())));
        self.text("DESCRIPTION", &format!("{reason} ({by})\n\n{description}"));
        self.categories("pause", &schedule.tags);
        self.link(link, "schedules", *id);
    }

    fn window(&mut self, window: &FeedWindow, link: Option<&str>) {
        let FeedWindow { id, title, ticket, from, until, by, updated_at } = window;
        self.raw(&format!("UID:{id}-maintenance@carillon"));
        self.raw(&format!("DTSTART:{}", instant(*from)));
        self.raw(&format!("DTEND:{}", instant(*until)));
        self.text("SUMMARY", &format!("Maintenance: {title}"));
        self.raw(&format!("DTSTAMP:{}", instant(*updated_at)));
        let ticket = ticket.as_deref().map(|ticket| format!("{ticket}\n\n")).unwrap_or_default();
        self.text("DESCRIPTION", &format!("{ticket}Planned by {by}"));
        self.categories("maintenance", &[]);
        if let Some(link) = link {
            self.raw(&format!("URL:{link}/maintenance"));
        }
    }

    fn suppressed(&mut self, suppressed: &SuppressedDay, link: Option<&str>) {
        let SuppressedDay { calendar, name, date, fires, schedules, named, updated_at, .. } =
            suppressed;
        self.raw(&format!("UID:{calendar}-{}@carillon", day(*date)));
        self.all_day(*date);
        let fires = amount(*fires, "fire", "fires");
        self.text("SUMMARY", &format!("{name}: {fires} suppressed"));
        self.raw(&format!("DTSTAMP:{}", instant(*updated_at)));
        let more = match schedules.saturating_sub(named.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let words = format!("The calendar {name} suppresses {fires}: {}{more}", named.join(", "));
        self.text("DESCRIPTION", &words);
        self.categories("calendar", &[]);
        self.link(link, "calendars", *calendar);
    }

    fn all_day(&mut self, date: NaiveDate) {
        let next = date.checked_add_days(Days::new(1)).unwrap_or(date);
        self.raw(&format!("DTSTART;VALUE=DATE:{}", day(date)));
        self.raw(&format!("DTEND;VALUE=DATE:{}", day(next)));
    }

    /// The kind of the event, by which programs can filter, and the schedule's tags.
    fn categories(&mut self, kind: &str, tags: &[String]) {
        let tags = tags.iter().map(|tag| escaped(tag));
        let all: Vec<String> = iter::once(kind.to_owned()).chain(tags).collect();
        self.raw(&format!("CATEGORIES:{}", all.join(",")));
    }

    fn link(&mut self, link: Option<&str>, place: &str, id: Uuid) {
        if let Some(link) = link {
            self.raw(&format!("URL:{link}/{place}/{id}"));
        }
    }

    fn text(&mut self, name: &str, value: &str) {
        self.raw(&format!("{name}:{}", escaped(value)));
    }

    /// Writes a line, folded: continuation lines begin with a space. Characters are not split.
    fn raw(&mut self, line: &str) {
        let mut rest = line;
        let mut room = LINE;
        while rest.len() > room {
            let mut end = room;
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            let (now, later) = rest.split_at(end);
            self.0.push_str(now);
            self.0.push_str("\r\n ");
            rest = later;
            room = LINE - 1;
        }
        self.0.push_str(rest);
        self.0.push_str("\r\n");
    }
}

fn instant(at: DateTime<Utc>) -> String {
    at.format("%Y%m%dT%H%M%SZ").to_string()
}

fn day(date: NaiveDate) -> String {
    date.format("%Y%m%d").to_string()
}

fn amount(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A text as a value, without line ends and control characters, which calendars may not contain.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            ';' => escaped.push_str("\\;"),
            ',' => escaped.push_str("\\,"),
            '\n' => escaped.push_str("\\n"),
            c if c.is_control() => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_folded_between_characters() {
        let mut lines = CalendarLines::default();
        lines.text("SUMMARY", &"é".repeat(100));
        assert!(lines.0.ends_with("\r\n"));
        let folded: Vec<&str> = lines.0.trim_end().split("\r\n").collect();
        assert!(folded.len() > 2 && folded.iter().all(|line| line.len() <= LINE), "{folded:?}");
        assert!(folded[1..].iter().all(|line| line.starts_with(' ')));
        let unfolded = lines.0.replace("\r\n ", "");
        assert_eq!(unfolded, format!("SUMMARY:{}\r\n", "é".repeat(100)));
    }

    #[test]
    fn a_text_cannot_begin_a_line_of_its_own() {
        assert_eq!(escaped("a,b;c\\d\r\nEND:VEVENT\r\u{7}"), "a\\,b\\;c\\\\d\\nEND:VEVENT");
    }
}

//! Writes iCalendar: lines of at most 75 bytes, with escaped texts.

use chrono::{DateTime, Days, Utc};

use crate::commands::feeds::{EventTime, FeedEvent, FeedSchedule};

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
            "There are more runs than a calendar shows; the console lists them.",
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
    fn event(&mut self, FeedEvent { schedule, when }: &FeedEvent, link: Option<&str>) {
        let FeedSchedule { id, name, description, note, tags, updated_at } = schedule;
        self.raw("BEGIN:VEVENT");
        match when {
            EventTime::At(at) => {
                // The UID has the same id and time as the run's idempotency key, so that it is the
                // same at each reading.
                let (seconds, ms) = (at.timestamp(), at.timestamp_subsec_millis());
                let part = if ms == 0 { String::new() } else { format!(".{ms:03}") };
                self.raw(&format!("UID:{id}-{seconds}{part}@carillon"));
                self.raw(&format!("DTSTART:{}", instant(*at)));
                self.text("SUMMARY", name);
            }
            EventTime::On(date, times) => {
                let next = date.checked_add_days(Days::new(1)).unwrap_or(*date);
                self.raw(&format!("UID:{id}-{}@carillon", date.format("%Y%m%d")));
                self.raw(&format!("DTSTART;VALUE=DATE:{}", date.format("%Y%m%d")));
                self.raw(&format!("DTEND;VALUE=DATE:{}", next.format("%Y%m%d")));
                let runs = if *times == 1 { "run" } else { "runs" };
                self.text("SUMMARY", &format!("{name}: {times} {runs}"));
            }
        }
        // The event's contents change only with the schedule.
        self.raw(&format!("DTSTAMP:{}", instant(updated_at.utc())));
        let note = if note.is_empty() { String::new() } else { format!("\n\n{note}") };
        self.text("DESCRIPTION", &format!("{description}{note}"));
        if !tags.is_empty() {
            let tags: Vec<String> = tags.iter().map(|tag| escaped(tag)).collect();
            self.raw(&format!("CATEGORIES:{}", tags.join(",")));
        }
        if let Some(link) = link {
            self.raw(&format!("URL:{link}/schedules/{id}"));
        }
        // The event does not mark its reader as busy.
        self.raw("TRANSP:TRANSPARENT");
        self.raw("END:VEVENT");
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

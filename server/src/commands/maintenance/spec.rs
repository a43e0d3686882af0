use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    Timestamp,
    maintenance_window::{ActiveModel, Model},
    schedule::CatchUp,
};
use sea_orm::Set;
use serde_json::{Value, json};

use super::stored;
use crate::{
    clock::Clock,
    commands::{BadInput, CommandError, bulk::query::sought},
    model::check,
    search::{Search, SearchError, SearchedList},
    store::reads::search::TimedSearch,
};

/// Maximum number of characters of a title, and of a ticket.
const MAX_TITLE: usize = 100;
const MAX_TICKET: usize = 200;
/// The longest window, in days, and how many days ahead one may begin.
const MAX_DAYS: i64 = 31;
const MAX_AHEAD_DAYS: i64 = 366;
/// A window that would begin within this time begins now.
pub(in crate::commands) const MOMENT: TimeDelta = TimeDelta::seconds(1);

/// A maintenance window as a caller asks for it.
#[derive(Clone, Debug)]
pub struct WindowSpec {
    /// The namespace, by name.
    pub namespace: String,
    /// The work that is planned.
    pub title: String,
    /// A URL, or the id of a ticket.
    pub ticket: Option<String>,
    /// The search that selects the schedules; all of the namespace if it is empty.
    pub search: Option<String>,
    /// When the window begins; now if this is past.
    pub starts_at: DateTime<Utc>,
    /// When the window ends.
    pub ends_at: DateTime<Utc>,
    /// Which of the fires of the window run when it ends.
    pub missed: CatchUp,
}

/// A maintenance window that may be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedWindow {
    /// The work that is planned.
    pub title: String,
    /// A URL, or the id of a ticket.
    pub ticket: Option<String>,
    /// The search that selects the schedules.
    pub search: Option<String>,
    /// When the window begins.
    pub starts_at: Timestamp,
    /// When the window ends.
    pub ends_at: Timestamp,
    /// Which of the fires of the window run when it ends.
    pub missed: CatchUp,
}

impl WindowSpec {
    /// The window that this asks for. An unchanged start of the `current` window stays, even if it
    /// is past.
    pub(in crate::commands) fn planned(
        &self,
        clock: &Clock,
        current: Option<&Model>,
    ) -> Result<PlannedWindow, CommandError> {
        self.check_texts()?;
        let title = self.title.trim();
        let ticket = trimmed(self.ticket.as_deref());
        let search = trimmed(self.search.as_deref());
        let planned = PlannedWindow { ticket, search, ..self.times(title, clock, current)? };
        planned.sought(clock)?;
        Ok(planned)
    }

    /// Checks what does not depend on the present: the texts, the search, and the length.
    pub(in crate::commands) fn check(&self) -> Result<(), BadInput> {
        self.check_texts()?;
        let text = self.search.as_deref().unwrap_or_default();
        Search::parse(SearchedList::Schedules, text).map_err(|error| {
            let SearchError { problem, help, .. } = error;
            BadInput::new("search", text, problem, help)
        })?;
        self.check_length(self.starts_at)
    }

    fn check_texts(&self) -> Result<(), BadInput> {
        let title = self.title.trim();
        if title.is_empty() {
            let help = "say what the work is, for the people who will ask why nothing runs";
            return Err(BadInput::new("title", &self.title, "is empty", help));
        }
        check::text("title", title, MAX_TITLE)?;
        match trimmed(self.ticket.as_deref()) {
            Some(ticket) => check::text("ticket", &ticket, MAX_TICKET),
            None => Ok(()),
        }
    }

    /// Checks the end of a window that begins at `starts_at`.
    fn check_length(&self, starts_at: DateTime<Utc>) -> Result<(), BadInput> {
        let bad = |problem: &str, help: &str| {
            Err(BadInput::new("endsAt", self.ends_at.to_rfc3339(), problem, help))
        };
        if stored(self.ends_at) <= stored(starts_at) {
            return bad("is not after 'startsAt'", "give a later instant");
        }
        if self.ends_at - starts_at > TimeDelta::days(MAX_DAYS) {
            let problem = format!("is more than {MAX_DAYS} days after 'startsAt'");
            return bad(&problem, "plan several windows, or use a calendar");
        }
        Ok(())
    }

    /// The window with its times, which are checked.
    fn times(
        &self,
        title: &str,
        clock: &Clock,
        current: Option<&Model>,
    ) -> Result<PlannedWindow, BadInput> {
        let now = clock.now();
        let is_kept = current.is_some_and(|row| row.starts_at == stored(self.starts_at));
        let starts_at = match is_kept {
            true => self.starts_at,
            false if self.starts_at < now + MOMENT => now,
            false => self.starts_at,
        };
        if starts_at > now + TimeDelta::days(MAX_AHEAD_DAYS) {
            let help = format!("give an instant within {MAX_AHEAD_DAYS} days from now");
            let value = starts_at.to_rfc3339();
            return Err(BadInput::new("startsAt", value, "is too far ahead", help));
        }
        if self.ends_at <= now {
            let (value, help) = (self.ends_at.to_rfc3339(), "give an instant in the future");
            return Err(BadInput::new("endsAt", value, "is past", help));
        }
        self.check_length(starts_at)?;
        Ok(PlannedWindow {
            title: title.to_owned(),
            ticket: None,
            search: None,
            starts_at: stored(starts_at),
            ends_at: stored(self.ends_at),
            missed: self.missed,
        })
    }
}

impl PlannedWindow {
    /// The window of a row.
    pub(in crate::commands) fn of(row: &Model) -> Self {
        Self {
            title: row.title.clone(),
            ticket: row.ticket.clone(),
            search: row.search.clone(),
            starts_at: row.starts_at,
            ends_at: row.ends_at,
            missed: row.missed,
        }
    }

    /// The parsed search; `None` for all schedules.
    pub fn sought(&self, clock: &Clock) -> Result<Option<TimedSearch>, CommandError> {
        let sought = |text: &String| sought(clock, SearchedList::Schedules, text, false);
        self.search.as_ref().map(sought).transpose()
    }

    /// Whether the window selects the same schedules from the same instant on as the row, with the
    /// same policy.
    pub(super) fn has_same_beginning(&self, row: &Model) -> bool {
        (&self.search, self.starts_at, self.missed) == (&row.search, row.starts_at, row.missed)
    }

    /// The columns of the window that a caller decides about.
    pub(super) fn columns(&self) -> ActiveModel {
        ActiveModel {
            title: Set(self.title.clone()),
            ticket: Set(self.ticket.clone()),
            search: Set(self.search.clone()),
            starts_at: Set(self.starts_at),
            ends_at: Set(self.ends_at),
            missed: Set(self.missed),
            ..ActiveModel::default()
        }
    }

    /// The window as the audit log shows it.
    pub(super) fn told(&self) -> Value {
        json!({
            "title": self.title,
            "ticket": self.ticket,
            "search": self.search,
            "startsAt": self.starts_at.utc(),
            "endsAt": self.ends_at.utc(),
            "missed": self.missed,
        })
    }
}

/// A text without surrounding spaces; `None` if nothing is left.
fn trimmed(text: Option<&str>) -> Option<String> {
    text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn spec(starts_at: &str, ends_at: &str) -> WindowSpec {
        WindowSpec {
            namespace: "default".to_owned(),
            title: " Database upgrade ".to_owned(),
            ticket: Some("  ".to_owned()),
            search: Some(" tag:db ".to_owned()),
            starts_at: at(starts_at),
            ends_at: at(ends_at),
            missed: CatchUp::Skip,
        }
    }

    fn planned(spec: &WindowSpec) -> Result<PlannedWindow, CommandError> {
        spec.planned(&ManualClock::new(at("2026-03-01T12:00:00Z")).clock(), None)
    }

    /// The field that is refused, and why.
    fn refused(spec: &WindowSpec) -> (String, String) {
        let error = planned(spec).unwrap_err();
        let CommandError::BadInput(bad) = error else { panic!("{error}") };
        (bad.field, bad.problem)
    }

    #[test]
    fn texts_are_trimmed_and_a_past_start_is_now() {
        let window = planned(&spec("2026-03-01T12:00:00.500Z", "2026-03-01T14:00:00Z")).unwrap();
        assert_eq!(window.title, "Database upgrade");
        assert_eq!((window.ticket, window.search.as_deref()), (None, Some("tag:db")));
        assert_eq!(window.starts_at.utc(), at("2026-03-01T12:00:00Z"));
        let later = planned(&spec("2026-03-01T12:00:01Z", "2026-03-01T14:00:00Z")).unwrap();
        assert_eq!(later.starts_at.utc(), at("2026-03-01T12:00:01Z"));
    }

    #[test]
    fn a_window_is_bounded() {
        let usual = spec("2026-03-02T12:00:00Z", "2026-03-02T14:00:00Z");
        let change = |change: fn(&mut WindowSpec)| {
            let mut spec = usual.clone();
            change(&mut spec);
            refused(&spec).0
        };
        assert_eq!(change(|spec| spec.title = " ".to_owned()), "title");
        assert_eq!(change(|spec| spec.title = "x".repeat(101)), "title");
        assert_eq!(change(|spec| spec.ticket = Some("x".repeat(201))), "ticket");
        assert_eq!(change(|spec| spec.search = Some("tag:".to_owned())), "search");
        assert_eq!(change(|spec| spec.ends_at = spec.starts_at), "endsAt");
        assert_eq!(change(|spec| spec.ends_at = at("2026-03-01T12:00:00Z")), "endsAt");
        assert_eq!(change(|spec| spec.ends_at = at("2026-04-02T12:00:00.001Z")), "endsAt");
        assert_eq!(change(|spec| spec.starts_at = at("2027-03-03T12:00:00Z")), "startsAt");
        let longest = spec("2026-03-02T12:00:00Z", "2026-04-02T12:00:00Z");
        assert!(planned(&longest).is_ok());
    }
}

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use entity::{Timestamp, maintenance_window, schedule::Model};
use uuid::Uuid;

use super::SuppressedDay;

/// An event of a calendar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedEvent {
    /// A run of a schedule, or its runs of a day.
    Run(FeedSchedule, EventTime),
    /// The current pause of a schedule.
    Pause(FeedSchedule, FeedPause),
    /// A maintenance window.
    Window(FeedWindow),
    /// A day on which a calendar suppresses fires.
    Suppressed(SuppressedDay),
}

impl FeedEvent {
    pub(super) fn begins(&self) -> DateTime<Utc> {
        match self {
            Self::Run(_, when) => when.begins(),
            Self::Pause(_, pause) => pause.from,
            Self::Window(window) => window.from,
            Self::Suppressed(day) => day.date.and_time(NaiveTime::MIN).and_utc(),
        }
    }

    /// The key of the schedule, window or calendar.
    pub(super) fn id(&self) -> Uuid {
        match self {
            Self::Run(schedule, _) | Self::Pause(schedule, _) => schedule.id,
            Self::Window(window) => window.id,
            Self::Suppressed(day) => day.calendar,
        }
    }
}

/// The properties of a schedule that a calendar shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedSchedule {
    /// The schedule's key.
    pub id: Uuid,
    /// The schedule's name.
    pub name: String,
    /// A description of the schedule's timing.
    pub description: String,
    /// The schedule's note.
    pub note: String,
    /// The schedule's tags.
    pub tags: Vec<String>,
    /// When the schedule was last changed.
    pub updated_at: Timestamp,
}

impl FeedSchedule {
    pub(super) fn of(row: &Model, description: String) -> Self {
        Self {
            id: row.id,
            name: row.name.clone(),
            description,
            note: row.note.clone(),
            tags: row.tags.0.clone(),
            updated_at: row.updated_at,
        }
    }
}

/// The pause of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedPause {
    /// When the pause began.
    pub from: DateTime<Utc>,
    /// When the pause ends, or else until when the calendar shows it.
    pub until: DateTime<Utc>,
    /// Whether the pause ends then.
    pub has_end: bool,
    /// The reason for the pause.
    pub reason: String,
    /// Who paused the schedule.
    pub by: String,
}

/// A maintenance window, which stands for the pauses of all its schedules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedWindow {
    /// The window's key.
    pub id: Uuid,
    /// The work that is planned.
    pub title: String,
    /// A URL, or the id of a ticket.
    pub ticket: Option<String>,
    /// When the pauses begin.
    pub from: DateTime<Utc>,
    /// When the pauses end.
    pub until: DateTime<Utc>,
    /// Who planned the window.
    pub by: String,
    /// When the window was planned, or last changed.
    pub updated_at: DateTime<Utc>,
}

impl FeedWindow {
    pub(super) fn of(row: &maintenance_window::Model) -> Self {
        Self {
            id: row.id,
            title: row.title.clone(),
            ticket: row.ticket.clone(),
            from: row.starts_at.utc(),
            until: row.ends_at.utc(),
            by: row.planned_by.clone(),
            updated_at: row.changed_at.unwrap_or(row.planned_at).utc(),
        }
    }
}

/// The time of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTime {
    /// A single instant.
    At(DateTime<Utc>),
    /// A day in UTC, and the number of fires on it.
    On(NaiveDate, u64),
}

impl EventTime {
    fn begins(self) -> DateTime<Utc> {
        match self {
            Self::At(at) => at,
            Self::On(date, _) => date.and_time(NaiveTime::MIN).and_utc(),
        }
    }
}

#[cfg(test)]
mod tests {
    use entity::{maintenance_window::State, schedule::CatchUp};

    use super::*;

    #[test]
    fn a_window_is_stamped_when_it_changes() {
        let mut row = maintenance_window::Model {
            id: Uuid::nil(),
            namespace_id: Uuid::nil(),
            title: "Upgrade".to_owned(),
            ticket: None,
            search: None,
            starts_at: Timestamp(100),
            ends_at: Timestamp(200),
            missed: CatchUp::Latest,
            state: State::Planned,
            is_open: true,
            held: 0,
            planned_by: "ada".to_owned(),
            planned_at: Timestamp(1),
            changed_at: None,
            cancelled_by: None,
            cancelled_at: None,
            cancel_reason: None,
            module: None,
        };
        assert_eq!(FeedWindow::of(&row).updated_at, Timestamp(1).utc());
        (row.ends_at, row.changed_at) = (Timestamp(300), Some(Timestamp(2)));
        assert_eq!(FeedWindow::of(&row).updated_at, Timestamp(2).utc());
    }
}

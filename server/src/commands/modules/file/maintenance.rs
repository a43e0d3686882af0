//! The entries of a file for maintenance windows.

use chrono::{DateTime, Utc};
use entity::{Timestamp, maintenance_window::Model, schedule::CatchUp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{scalars::Words, workflow::unless};
use crate::commands::{BadInput, PlannedWindow, WindowSpec, maintenance::MOMENT};

/// A planned pause of the schedules that match a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MaintenanceEntry {
    /// When the pauses begin, inclusive. A window that is deployed later begins with the deployment.
    pub(crate) start: DateTime<Utc>,
    /// When the pauses end, exclusive; at most 31 days after `start`. A window whose end is past is
    /// ignored.
    pub(crate) end: DateTime<Utc>,
    /// A search (docs/search.md) that selects the schedules; all schedules of the namespace if left
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    search: Option<String>,
    /// Which of the fires of the window run when it ends: none (`skip`), only the latest one
    /// (`latest`), or all (`all`); `skip` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Words<CatchUp>>")]
    missed: Option<CatchUp>,
    /// A URL, or the id of a ticket, for people who read it: at most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ticket: Option<String>,
}

impl MaintenanceEntry {
    /// The window that the entry declares.
    pub(in super::super) fn spec(self, title: &str) -> WindowSpec {
        WindowSpec {
            namespace: String::new(),
            title: title.to_owned(),
            ticket: self.ticket,
            search: self.search,
            starts_at: self.start,
            ends_at: self.end,
            missed: self.missed.unwrap_or(CatchUp::Skip),
        }
    }

    /// Checks what does not depend on the present. A window is known by its title, so the title must
    /// be exactly the one that is stored.
    pub(in super::super) fn check(&self, title: &str) -> Result<(), BadInput> {
        if title != title.trim() {
            let problem = "begins or ends with a space";
            return Err(BadInput::new("title", title, problem, "remove it"));
        }
        self.clone().spec(title).check()
    }

    /// The entry that declares a window.
    pub(in super::super) fn of(window: &PlannedWindow) -> Self {
        Self {
            start: window.starts_at.utc(),
            end: window.ends_at.utc(),
            search: window.search.clone(),
            missed: unless(window.missed, CatchUp::Skip),
            ticket: window.ticket.clone(),
        }
    }

    /// This entry as the tables keep it: without default values, and to the millisecond.
    pub(in super::super) fn usual(self) -> Self {
        let text = |text: Option<String>| {
            let text = text.as_deref().map(str::trim).filter(|text| !text.is_empty());
            text.map(str::to_owned)
        };
        Self {
            start: Timestamp::from(self.start).utc(),
            end: Timestamp::from(self.end).utc(),
            search: text(self.search),
            missed: self.missed.filter(|missed| *missed != CatchUp::Skip),
            ticket: text(self.ticket),
        }
    }

    /// This entry with the start of an existing window, if that has begun by `now` and was to begin
    /// earlier or a moment later: a window that is deployed late, or a moment before its start,
    /// begins with its deployment.
    pub(in super::super) fn begun_like(self, row: &Model, now: DateTime<Utc>) -> Self {
        let began = row.starts_at.utc();
        let is_late = began <= now && self.start < began + MOMENT;
        Self { start: if is_late { began } else { self.start }, ..self }
    }
}

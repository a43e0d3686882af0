//! What a deployment did, or would do.

use serde::{Deserialize, Serialize};
use timetable::Warning;

use super::effect::Effect;
use crate::commands::UnsetSecret;

/// What a deployment did, or would do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Deployment {
    /// The module's name.
    pub module: String,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// What happened to each thing that the module declares or declared.
    pub changes: Vec<Change>,
    /// What it does to the fires to come; none in the answer to a call that was repeated.
    #[serde(skip)]
    pub effect: Option<Effect>,
}

/// What happened to one thing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Change {
    /// See [`Action`].
    pub action: Action,
    /// `calendar`, `group`, `workflow`, `schedule`, `alert_channel` or `alert_rule`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What changed, in words.
    pub detail: String,
    /// What changed, key by key of the module's file.
    #[serde(default)]
    pub fields: Vec<FieldChange>,
    /// What is likely not meant by its timing.
    pub warnings: Vec<Warning>,
    /// What its tasks ask for and do not find.
    #[serde(default)]
    pub unset: Vec<UnsetSecret>,
}

/// A key whose value is another. Secrets are masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldChange {
    /// Its place inside the thing: `misfire.grace`, `tasks[main].target.http.url`.
    pub path: String,
    /// What it was; none where it was not said.
    pub before: Option<String>,
    /// What it is; none where it is not said.
    pub after: Option<String>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It was made.
    Create,
    /// It was changed.
    Update,
    /// It was made by hand, and belongs to the module from now on.
    Adopt,
    /// It was deleted.
    Delete,
    /// It is as declared.
    Unchanged,
}

impl Change {
    pub(super) fn new(action: Action, kind: &str, name: &str, detail: impl Into<String>) -> Self {
        let (kind, name, detail) = (kind.to_owned(), name.to_owned(), detail.into());
        Self { action, kind, name, detail, fields: vec![], warnings: vec![], unset: vec![] }
    }

    /// One of something that was there: `told` says what is different, if something is.
    pub(super) fn of(
        is_adopted: bool,
        kind: &str,
        name: &str,
        (told, fields): (Option<String>, Vec<FieldChange>),
    ) -> Self {
        let action = match (is_adopted, &told) {
            (true, _) => Action::Adopt,
            (false, Some(_)) => Action::Update,
            (false, None) => Action::Unchanged,
        };
        let told = match (is_adopted, told) {
            (true, Some(told)) => format!("was made by hand; {told}"),
            (true, None) => "was made by hand".to_owned(),
            (false, told) => told.unwrap_or_default(),
        };
        Self { fields, ..Self::new(action, kind, name, told) }
    }

    pub(super) fn gone(kind: &str, name: &str) -> Self {
        Self::new(Action::Delete, kind, name, "no longer declared")
    }

    pub(super) fn is_one(&self) -> bool {
        self.action != Action::Unchanged
    }
}

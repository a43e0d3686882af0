//! The results of a deployment or of a dry run.

use serde::{Deserialize, Serialize};
use timetable::Warning;

use super::effect::Effect;
use crate::commands::UnsetSecret;

/// The results of a deployment or of a dry run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Deployment {
    /// The module's name.
    pub module: String,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// What happened to each object that the module declares or declared.
    pub changes: Vec<ObjectChange>,
    /// The effect on upcoming fires; `None` in the answer to a repeated call, and if it could not be
    /// counted.
    #[serde(skip)]
    pub effect: Option<Effect>,
}

/// What happened to one object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObjectChange {
    /// See [`PlanAction`].
    pub action: PlanAction,
    /// `calendar`, `group`, `workflow`, `schedule`, `alert_channel`, `alert_rule`,
    /// `health_budget` or `maintenance_window`.
    pub kind: String,
    /// The object's name.
    pub name: String,
    /// A description of what changed.
    pub detail: String,
    /// What changed, key by key in the module's file.
    #[serde(default)]
    pub fields: Vec<FieldChange>,
    /// Warnings about its timing.
    pub warnings: Vec<Warning>,
    /// Secrets that its tasks use and that are not set.
    #[serde(default)]
    pub unset: Vec<UnsetSecret>,
}

/// A key whose value differs. Secrets are masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldChange {
    /// The field's path inside the object: `misfire.grace`, `tasks[main].target.http.url`.
    pub path: String,
    /// The old value; `None` if the key was absent.
    pub before: Option<String>,
    /// The new value; `None` if the key is absent.
    pub after: Option<String>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanAction {
    /// The object was created.
    Create,
    /// The object was changed.
    Update,
    /// The object was created by hand, and belongs to the module from now on.
    Adopt,
    /// The object was deleted.
    Delete,
    /// The object already matches the declaration.
    Unchanged,
}

impl ObjectChange {
    pub(super) fn new(
        action: PlanAction,
        kind: &str,
        name: &str,
        detail: impl Into<String>,
    ) -> Self {
        let (kind, name, detail) = (kind.to_owned(), name.to_owned(), detail.into());
        Self { action, kind, name, detail, fields: vec![], warnings: vec![], unset: vec![] }
    }

    /// The change of an existing object: `told` describes the differences, if there are any.
    pub(super) fn of(
        is_adopted: bool,
        kind: &str,
        name: &str,
        told: Option<String>,
        fields: Vec<FieldChange>,
    ) -> Self {
        let action = match (is_adopted, &told) {
            (true, _) => PlanAction::Adopt,
            (false, Some(_)) => PlanAction::Update,
            (false, None) => PlanAction::Unchanged,
        };
        let told = match (is_adopted, told) {
            (true, Some(told)) => format!("was created by hand; {told}"),
            (true, None) => "was created by hand".to_owned(),
            (false, told) => told.unwrap_or_default(),
        };
        Self { fields, ..Self::new(action, kind, name, told) }
    }

    pub(super) fn gone(kind: &str, name: &str) -> Self {
        Self::new(PlanAction::Delete, kind, name, "no longer declared")
    }

    pub(super) fn is_one(&self) -> bool {
        self.action != PlanAction::Unchanged
    }
}

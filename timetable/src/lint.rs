use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{Timetable, timetable::Parts};

/// Something about a definition that is valid and likely not meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What kind of thing.
    pub code: WarningCode,
    /// What happens, in one sentence with its figures.
    pub message: String,
    /// The field of the [`Definition`](crate::Definition) that it is about.
    pub field: String,
    /// What to write instead, where one thing can be named.
    pub suggestion: Option<String>,
}

/// The kinds of [`Warning`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningCode {
    /// It never fires again: every instant is past, or lies outside start and end.
    NeverFires,
}

pub(crate) fn lint(timetable: &Timetable, _parts: &Parts, from: DateTime<Utc>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if timetable.next(from).is_none() {
        warnings.push(Warning {
            code: WarningCode::NeverFires,
            message: "it never fires again".to_owned(),
            field: "expressions".to_owned(),
            suggestion: None,
        });
    }
    warnings
}

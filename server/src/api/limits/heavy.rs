//! The fields that compute instead of reading rows. A request with such a field is executed off the
//! event loop (see `aside`), and may contain only a few.

use super::introspection::SelectionKind;

/// Names of expensive fields, whichever type they belong to.
const FIELDS: [&str; 27] = [
    "schedulePreview",
    "lint",
    "nextFires",
    "fireDays",
    "upcoming",
    "upcomingByMinute",
    "timeline",
    "clockChanges",
    "ledgerCheck",
    "maintenancePreview",
    "pausePreview",
    "outagePreview",
    "pausedFires",
    "definitionEffect",
    "readWorkflow",
    "yaml",
    "resumePreview",
    "previewBackfill",
    "createBackfill",
    "retentionPreview",
    "alertRulePreview",
    "moduleDrift",
    "exportModules",
    "deployModule",
    "adoptModuleDrift",
    "revertModuleDrift",
    "timezones",
];
/// Names of expensive fields of a stored timing; other types have cheap fields of the same name.
const FIELDS_OF_TIMING: [&str; 1] = ["warnings"];

/// Whether a field of this name is expensive in a selection of `within`.
pub(super) fn is(within: SelectionKind, name: &str) -> bool {
    match within {
        SelectionKind::Data => FIELDS.contains(&name),
        SelectionKind::Timing => FIELDS_OF_TIMING.contains(&name),
        SelectionKind::Schema(_) => false,
    }
}

/// The names of all expensive fields, for messages.
pub(super) fn names() -> String {
    let of_timing = FIELDS_OF_TIMING.map(|name| format!("timing.{name}"));
    format!("{}, {}", FIELDS.join(", "), of_timing.join(", "))
}

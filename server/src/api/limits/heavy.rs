//! The fields that compute instead of reading rows. A request with such a field is executed off the
//! event loop (see `aside`), and may contain only a few.

/// Names of expensive fields, whichever type they belong to.
pub(super) const FIELDS: [&str; 14] = [
    "schedulePreview",
    "lint",
    "nextFires",
    "upcoming",
    "upcomingByMinute",
    "pausePreview",
    "definitionEffect",
    "resumePreview",
    "previewBackfill",
    "retentionPreview",
    "alertRulePreview",
    "moduleDrift",
    "exportModules",
    "deployModule",
];

/// Whether a field of this name is expensive.
pub(super) fn is(name: &str) -> bool {
    FIELDS.contains(&name)
}

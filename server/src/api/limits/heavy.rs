//! The fields that compute instead of reading rows. A request that holds one is executed away from
//! the event loop (see `aside`), and may hold only a few.

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

/// Whether a field of that name is one of them.
pub(super) fn is(name: &str) -> bool {
    FIELDS.contains(&name)
}

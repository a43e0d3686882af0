//! Fires that were skipped for load: a run of the schedule was still live, its buffer was full, the
//! start deadline had passed, or the namespace had used up its quota. Fires that a calendar, a pause
//! or a user suppressed are not among them.

/// The condition that a row of `fire` was skipped for load. The index on such fires is used only if
/// this is worded exactly like its condition.
pub const SKIPPED_FOR_LOAD: &str = "fire.verdict = 'skipped' \
    AND fire.reason IN ('overlap', 'deadline', 'quota', 'buffer_full')";

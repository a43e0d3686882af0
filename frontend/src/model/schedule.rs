//! Schedules, as a row and in full.

use serde::Deserialize;
use serde_json::Value;

use super::{
    CatchUp, Failure, FireKind, GapPolicy, Named, OverlapHourPolicy, OverlapPolicy, Ping,
    PlannedPause, PreviewFire, ReasonCode, Row, RunState, ScheduleState, Task, Verdict, Warning,
    Watched, WindowLink, full::Full, run::ZoneRef,
};
use crate::time::Moment;

/// Why a schedule is paused.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Pause {
    pub(crate) reason: String,
    pub(crate) by: String,
    pub(crate) at: Moment,
    pub(crate) until: Option<Moment>,
    /// The policy for the pause's fires at `until`.
    pub(crate) missed: Option<CatchUp>,
    /// The maintenance window that paused it, if one did; only the schedule's page requests it.
    #[serde(default)]
    pub(crate) window: Option<WindowLink>,
}

/// The numbers of a list's schedules, by tag or by module.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduleGroups {
    pub(crate) groups: Vec<ScheduleGroup>,
    /// The number of schedules that belong to no group.
    pub(crate) without: i64,
    /// The number of groups, listed or not.
    pub(crate) total: i64,
    /// Whether there are more groups.
    pub(crate) is_cut: bool,
}

/// A group, and the number of its schedules.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ScheduleGroup {
    pub(crate) name: String,
    pub(crate) schedules: i64,
}

/// The most frequent tags of schedules.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TagNames {
    pub(crate) groups: Vec<Named>,
    /// Whether there are more tags.
    pub(crate) is_cut: bool,
}

/// A schedule in a list or an event.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduleRow {
    pub(crate) id: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) note: String,
    pub(crate) tags: Vec<String>,
    pub(crate) version: i64,
    pub(crate) state: ScheduleState,
    pub(crate) pause: Option<Pause>,
    pub(crate) timing: Timing,
    pub(crate) workflow: Named,
    pub(crate) next_fire_at: Option<Moment>,
    pub(crate) last_fire_at: Option<Moment>,
    pub(crate) last_run: Option<LastRun>,
    /// Whether the schedule is a favourite. Only lists request it; an event leaves the known value
    /// unchanged.
    #[serde(default)]
    pub(crate) is_favourite: bool,
    /// The module that declares the schedule, if one does; only lists request it.
    #[serde(default)]
    pub(crate) module: Option<String>,
    /// The pause that a maintenance window has planned; only the schedule's page requests it.
    #[serde(default)]
    pub(crate) planned_pause: Option<PlannedPause>,
}

/// A schedule that the palette offers. The palette is on every page, so it asks for little: what reads an answer is
/// code that every page loads.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct FoundSchedule {
    pub(crate) id: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) state: ScheduleState,
}

/// The fires that a pause would suppress.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct PauseEffect {
    pub(crate) fires: i64,
    pub(crate) until: Moment,
    pub(crate) schedules: Vec<PausedSchedule>,
}

/// The effect on one schedule: the first suppressed fires, and the first fire after the pause.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PausedSchedule {
    pub(crate) schedule: Watched,
    pub(crate) next_fire_at: Option<Moment>,
    pub(crate) sample: Vec<PreviewFire>,
}

/// The fires that a pause of all schedules of a search would suppress.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SearchPauseEffect {
    pub(crate) fires: i64,
    pub(crate) until: Moment,
    /// Whether there are more schedules than are listed. The fires are those of the listed ones.
    pub(crate) has_more: bool,
    pub(crate) schedules: Vec<FoundPausedSchedule>,
}

/// The effect of the pause on one of the found schedules.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct FoundPausedSchedule {
    pub(crate) schedule: FoundPausedName,
    pub(crate) fires: i64,
    pub(crate) sample: Vec<PreviewFire>,
}

/// The name of a found schedule, its zone, and its watchdog if it has one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct FoundPausedName {
    pub(crate) name: String,
    pub(crate) timing: ZoneRef,
    pub(crate) ping: Option<Ping>,
}

/// The first fires that a pause has suppressed so far, oldest first.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PausedFires {
    pub(crate) nodes: Vec<PausedFire>,
    pub(crate) total_count: i64,
}

/// An instant within a pause, or a range of instants with the same outcome.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PausedFire {
    pub(crate) scheduled_at: Moment,
    pub(crate) last_scheduled_at: Moment,
    pub(crate) count: i64,
    pub(crate) kind: FireKind,
    pub(crate) verdict: Verdict,
    pub(crate) reason: ReasonCode,
    /// The calendar that suppresses the fire, if any.
    pub(crate) detail: Option<String>,
}

/// The part of a timing that rows show.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Timing {
    pub(crate) expressions: Vec<String>,
    pub(crate) zone: String,
    pub(crate) description: String,
    pub(crate) warnings: Vec<Warning>,
}

/// The latest run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct LastRun {
    pub(crate) id: String,
    pub(crate) state: RunState,
}

impl ScheduleRow {
    pub(crate) fn zone(&self) -> Option<String> {
        Some(self.timing.zone.clone())
    }
}

impl Row for ScheduleRow {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A schedule that changed; without a row, it was deleted.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduleEvent {
    pub(crate) schedule_id: String,
    pub(crate) schedule: Option<ScheduleRow>,
}

/// Everything that the schedule's page shows, except its ledger and runs.
pub(crate) type ScheduleDetail = Full<ScheduleRow, ScheduleMore>;

/// The fields of a schedule that a row does not show.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduleMore {
    pub(crate) policy: Policy,
    pub(crate) work: Work,
    pub(crate) misfire: Misfire,
    pub(crate) on_overlap: OverlapPolicy,
    /// The size of the buffer, if fires wait in one.
    pub(crate) buffer_limit: Option<i64>,
    pub(crate) group: Option<String>,
    pub(crate) priority: i64,
    pub(crate) start_deadline_seconds: Option<i64>,
    /// How many days the schedule's history is kept, if that differs from its namespace.
    pub(crate) retention_days: Option<i64>,
    pub(crate) context: Value,
    /// The watchdog that the schedule calls.
    pub(crate) ping: Option<Ping>,
    /// Calendars that suppress some of the schedule's fires.
    pub(crate) calendars: Vec<CalendarLink>,
    pub(crate) max_fires: Option<i64>,
    /// The module that declares the schedule, if any.
    pub(crate) module: Option<String>,
    pub(crate) created_at: Moment,
    pub(crate) updated_at: Moment,
    pub(crate) next_fires: Vec<PreviewFire>,
    pub(crate) versions: Versions,
}

/// The fields of a timing that rows do not show.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Policy {
    pub(crate) gap: GapPolicy,
    pub(crate) overlap: OverlapHourPolicy,
    pub(crate) start_at: Option<Moment>,
    pub(crate) end_at: Option<Moment>,
    pub(crate) jitter_seconds: i64,
}

/// The schedule's workflow. Its tasks stay JSON until they are needed: only one tab of the schedule's page shows them,
/// and the code that reads all kinds of targets would be a large part of what the page loads first.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Work {
    pub(crate) id: String,
    tasks: Value,
}

impl Work {
    /// The tasks.
    ///
    /// # Errors
    /// If this console does not know a task's target.
    pub(crate) fn tasks(&self) -> Result<Vec<Task>, Failure> {
        serde_json::from_value(self.tasks.clone()).map_err(Failure::unreadable)
    }
}

/// A calendar by its name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct CalendarLink {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// The policy for fires that were not started in time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Misfire {
    pub(crate) catch_up: CatchUp,
    pub(crate) grace_seconds: i64,
    pub(crate) max: i64,
    pub(crate) spacing_seconds: i64,
    pub(crate) window_seconds: i64,
}

/// The latest versions of the definition, newest first.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Versions {
    pub(crate) nodes: Vec<Version>,
}

/// A deleted schedule that can be restored.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeletedSchedule {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) tags: Vec<String>,
    pub(crate) deleted_at: Moment,
    pub(crate) kept_until: Moment,
    /// The module that declared the schedule.
    pub(crate) module: Option<String>,
}

/// The effect of resuming, for each policy for missed fires.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ResumeEffect {
    pub(crate) choices: Vec<ResumeChoice>,
}

/// One catch-up policy and its effect on the fires that fell into the pause.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResumeChoice {
    pub(crate) missed: CatchUp,
    /// The number of fires in the pause that would run.
    pub(crate) runs: i64,
    /// The number of fires in the pause that would not run.
    pub(crate) others: i64,
    pub(crate) next_fire_at: Option<Moment>,
    /// The number of rows that the ledger would get.
    pub(crate) row_count: i64,
    pub(crate) rows: ResumeRows,
}

/// The first rows that the ledger would get, in order.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ResumeRows {
    pub(crate) nodes: Vec<PausedFire>,
}

/// One version in the history.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Version {
    /// The whole definition, with secrets masked.
    pub(crate) snapshot: Value,
    pub(crate) version: i64,
    pub(crate) by: String,
    pub(crate) at: Moment,
    pub(crate) change: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Work;

    #[test]
    fn an_unknown_target_only_matters_where_the_tasks_are_shown() {
        let task = json!({ "name": "main", "target": { "__typename": "TargetOfALaterServer" } });
        let work: Work = serde_json::from_value(json!({ "id": "w", "tasks": [task] })).unwrap();
        assert_eq!(work.id, "w");
        assert!(work.tasks().is_err());
    }
}

//! Schedules, in a row and in full.

use serde::Deserialize;
use serde_json::Value;

use super::{
    CatchUp, FireKind, GapPolicy, Named, OverlapHourPolicy, OverlapPolicy, PreviewFire, ReasonCode,
    Row, RunState, ScheduleState, Task, Verdict, Warning, fire::Reason, full::Full,
};
use crate::time::Moment;

/// Why a schedule is paused.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Pause {
    pub(crate) reason: String,
    pub(crate) by: String,
    pub(crate) at: Moment,
    pub(crate) until: Option<Moment>,
}

/// The outcomes of the fires of the last 24 hours.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(crate) struct Tally {
    pub(crate) succeeded: i64,
    pub(crate) failed: i64,
    pub(crate) running: i64,
    pub(crate) skipped: i64,
    pub(crate) missed: i64,
}

/// The schedules of a list by tag or by module.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduleGroups {
    pub(crate) groups: Vec<ScheduleGroup>,
    /// The number of schedules in none.
    pub(crate) without: i64,
    /// Whether there are more groups.
    pub(crate) is_cut: bool,
}

/// A group, and the number of its schedules.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ScheduleGroup {
    pub(crate) name: String,
    pub(crate) schedules: i64,
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
    pub(crate) tally: Tally,
    pub(crate) last_run: Option<LastRun>,
    /// Only lists request it; an event leaves the known value unchanged.
    #[serde(default)]
    pub(crate) is_favourite: bool,
    /// Newest first; only lists request them.
    #[serde(default)]
    pub(crate) recent_fires: Vec<RecentFire>,
    /// The module that declares it, if one does; only lists request it.
    #[serde(default)]
    pub(crate) module: Option<String>,
}

/// A recent fire, with the fields that a bar shows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct RecentFire {
    pub(crate) local: String,
    pub(crate) offset: String,
    pub(crate) verdict: Verdict,
    pub(crate) reason: Reason,
    pub(crate) run: Option<RecentRun>,
}

/// Its run.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecentRun {
    pub(crate) state: RunState,
    /// Null until it has started and ended.
    pub(crate) duration_ms: Option<i64>,
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
    pub(crate) next_fire_at: Option<Moment>,
    pub(crate) sample: Vec<PreviewFire>,
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
    /// The calendar that suppresses it, if one does.
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

    /// The 95th percentile of the durations of its recent runs, in milliseconds.
    pub(crate) fn p95(&self) -> Option<i64> {
        let ended = self.recent_fires.iter().filter_map(|fire| fire.run?.duration_ms);
        let mut durations: Vec<i64> = ended.collect();
        durations.sort_unstable();
        let rank = (durations.len() * 95).div_ceil(100);
        durations.get(rank.checked_sub(1)?).copied()
    }
}

impl Row for ScheduleRow {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A schedule that changed; it was deleted if there is no row.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduleEvent {
    pub(crate) schedule_id: String,
    pub(crate) schedule: Option<ScheduleRow>,
}

/// Everything that the schedule's page shows, except its ledger and runs.
pub(crate) type ScheduleDetail = Full<ScheduleRow, ScheduleMore>;

/// The fields that a row does not show.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduleMore {
    pub(crate) policy: Policy,
    pub(crate) work: Work,
    pub(crate) misfire: Misfire,
    pub(crate) on_overlap: OverlapPolicy,
    /// Only if fires wait in a buffer.
    pub(crate) buffer_limit: Option<i64>,
    pub(crate) group: Option<String>,
    pub(crate) priority: i64,
    pub(crate) start_deadline_seconds: Option<i64>,
    /// How many days its history is kept, if that differs from its namespace.
    pub(crate) retention_days: Option<i64>,
    pub(crate) context: Value,
    /// Calendars that suppress some of its fires.
    pub(crate) calendars: Vec<Named>,
    pub(crate) max_fires: Option<i64>,
    /// The module file that declares it, if one does.
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

/// The workflow's tasks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Work {
    pub(crate) tasks: Vec<Task>,
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

/// The latest definitions, newest first.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Versions {
    pub(crate) nodes: Vec<Version>,
}

/// What resuming would do, for each way to resume.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ResumeEffect {
    pub(crate) choices: Vec<ResumeChoice>,
}

/// One way to resume: what happens to the fires that fell into the pause.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResumeChoice {
    pub(crate) missed: CatchUp,
    /// Number of those fires that would run.
    pub(crate) runs: i64,
    /// Number of those fires that would not.
    pub(crate) others: i64,
    pub(crate) next_fire_at: Option<Moment>,
}

/// One entry of the history.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Version {
    /// The whole definition, with secrets masked.
    pub(crate) snapshot: Value,
    pub(crate) version: i64,
    pub(crate) by: String,
    pub(crate) at: Moment,
    pub(crate) change: String,
}

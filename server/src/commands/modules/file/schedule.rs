//! The entry of a file for a schedule.

use chrono::{DateTime, Utc};
use entity::schedule::{CatchUp, DstGap, DstOverlap, Overlap};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    scalars::{Days, Expressions, Seconds, Words},
    workflow::{TaskEntry, unless},
};
use crate::{
    commands::secrets::{self, watchdog::masked_address},
    model::{Misfire, Ping, Spec, Timing, spec::buffer_limit},
};

/// When to run something, and how.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleEntry {
    /// When the schedule fires: one expression, or a list of them.
    pub(crate) when: Expressions,
    /// The time zone of the expressions: a canonical IANA name such as `Europe/Berlin`; `UTC` if
    /// left out.
    #[serde(default = "utc", skip_serializing_if = "is_utc")]
    pub(crate) zone: String,
    /// What happens to fixed times on days when the clock changes.
    #[serde(default, skip_serializing_if = "DstEntry::is_empty")]
    pub(crate) dst: DstEntry,
    /// The schedule does not fire before this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub(crate) start: Option<DateTime<Utc>>,
    /// The schedule does not fire at this instant or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub(crate) end: Option<DateTime<Utc>>,
    /// Each fire is delayed by a random time of at most this, up to a day. The same fire always has
    /// the same delay. 0s if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) jitter: Option<Seconds>,
    /// The names of the calendars that suppress fires of this schedule; at most 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) calendars: Vec<String>,
    /// The schedule ends once this number of its fires has started; no limit if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_fires: Option<i64>,
    /// A text that people read, such as what to do if a run fails. Operators may replace it on the
    /// server; a deployment keeps theirs unless this text has changed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
    /// Labels by which searches, alert rules and bulk commands find the schedule; at most 32.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tags: Vec<String>,
    /// The name of the workflow to run. Give either this or `task`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) workflow: Option<String>,
    /// The single task to run. Give either this or `workflow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<TaskEntry>,
    /// What happens to fires that no server could run in time.
    #[serde(default, skip_serializing_if = "MisfireEntry::is_empty")]
    pub(crate) misfire: MisfireEntry,
    /// What happens to a fire while an earlier run of the schedule has not ended; `skip` if left
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Words<Overlap>>")]
    pub(crate) overlap: Option<Overlap>,
    /// Only for `overlap: buffer_all`: the maximum number of fires that wait, 1 to 1000; 100 if
    /// left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) buffer_limit: Option<i64>,
    /// The name of a concurrency group: its limit applies to the runs of all its schedules
    /// together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// -100 to 100; 0 if left out. Of the waiting runs, the one with the highest priority starts
    /// first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) priority: i64,
    /// A fire that has not started within this time after it was due is skipped; no limit if left
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) start_deadline: Option<Seconds>,
    /// A JSON object that each run starts with; tasks read it in templates, and add to it.
    #[serde(default = "empty", skip_serializing_if = "is_empty")]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub(crate) context: serde_json::Value,
    /// How long the history of ended runs is kept, in whole days; as in the namespace if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retention: Option<Days>,
    /// Addresses of an external watchdog, which Carillon calls when a run succeeds. The watchdog
    /// raises an alarm when the call does not come; see docs/alerts.md.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ping: Option<Ping>,
    /// Whether the schedule is paused when it is created. Later deployments do not change whether
    /// it is paused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) paused: bool,
}

/// How fixed local times behave on days when the clock changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DstEntry {
    /// What happens to a fixed time that does not exist because the clock skips it: `shift` (the
    /// default) fires right after the gap, `skip` does not fire.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Words<DstGap>>")]
    pub(crate) gap: Option<DstGap>,
    /// Which occurrence of a fixed time fires when the clock repeats it: `first` (the default),
    /// `last` or `both`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Words<DstOverlap>>")]
    pub(crate) overlap: Option<DstOverlap>,
}

/// What to do about missed fires.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MisfireEntry {
    /// Which missed fires still run: none (`skip`), only the latest one (`latest`), or all (`all`);
    /// `latest` if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Words<CatchUp>>")]
    pub(crate) catch_up: Option<CatchUp>,
    /// A fire counts as missed if no server has taken it within this time after it was due; up to 7
    /// days, 5m if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) grace: Option<Seconds>,
    /// Only for `catch_up: all`: the maximum number of missed fires that run, 1 to 10000; 100 if
    /// left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max: Option<i64>,
    /// Only for `catch_up: all`: the time between the starts of two missed fires, up to an hour; 0s
    /// if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) spacing: Option<Seconds>,
    /// Fires that were missed longer ago than this never run; up to 30 days, 24h if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) window: Option<Seconds>,
}

fn utc() -> String {
    "UTC".to_owned()
}

fn is_utc(zone: &str) -> bool {
    zone == "UTC"
}

fn empty() -> serde_json::Value {
    serde_json::json!({})
}

fn is_empty(context: &serde_json::Value) -> bool {
    context.as_object().is_some_and(serde_json::Map::is_empty)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands the field over so")]
fn is_zero(priority: &i64) -> bool {
    *priority == 0
}

impl DstEntry {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl MisfireEntry {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn of(misfire: &Misfire) -> Self {
        let usual = Misfire::default();
        Self {
            catch_up: unless(misfire.catch_up, usual.catch_up),
            grace: unless(misfire.grace_seconds, usual.grace_seconds).map(Seconds),
            max: unless(misfire.max, usual.max),
            spacing: unless(misfire.spacing_seconds, usual.spacing_seconds).map(Seconds),
            window: unless(misfire.window_seconds, usual.window_seconds).map(Seconds),
        }
    }
}

impl ScheduleEntry {
    /// A schedule that is due at `when`, with defaults for everything else. The caller must add its
    /// task or workflow.
    pub(crate) fn new(when: Vec<String>) -> Self {
        Self {
            when: Expressions(when),
            zone: utc(),
            dst: DstEntry::default(),
            start: None,
            end: None,
            jitter: None,
            calendars: vec![],
            max_fires: None,
            note: String::new(),
            tags: vec![],
            workflow: None,
            task: None,
            misfire: MisfireEntry::default(),
            overlap: None,
            buffer_limit: None,
            group: None,
            priority: 0,
            start_deadline: None,
            context: empty(),
            retention: None,
            ping: None,
            paused: false,
        }
    }

    /// The entry with its secrets masked.
    pub(in super::super) fn masked(self) -> Self {
        let context = secrets::masked_json(&self.context);
        let ping = self.ping.as_ref().map(|ping| ping.map(masked_address));
        Self { task: self.task.map(TaskEntry::masked), context, ping, ..self }
    }

    pub(in super::super) fn spec(self, name: &str) -> Spec {
        let usual = Misfire::default();
        let misfire = self.misfire;
        let overlap = self.overlap.unwrap_or(Overlap::Skip);
        Spec {
            name: name.to_owned(),
            note: self.note,
            tags: self.tags,
            timing: Timing {
                expressions: self.when.0,
                zone: self.zone,
                gap: self.dst.gap.unwrap_or(DstGap::Shift),
                overlap: self.dst.overlap.unwrap_or(DstOverlap::First),
                start_at: self.start,
                end_at: self.end,
                jitter_seconds: self.jitter.map_or(0, |jitter| jitter.0),
            },
            calendars: self.calendars,
            max_fires: self.max_fires,
            misfire: Misfire {
                catch_up: misfire.catch_up.unwrap_or(usual.catch_up),
                grace_seconds: misfire.grace.map_or(usual.grace_seconds, |span| span.0),
                max: misfire.max.unwrap_or(usual.max),
                spacing_seconds: misfire.spacing.map_or(usual.spacing_seconds, |span| span.0),
                window_seconds: misfire.window.map_or(usual.window_seconds, |span| span.0),
            },
            overlap,
            buffer_limit: buffer_limit(overlap, self.buffer_limit),
            group: self.group,
            priority: self.priority,
            start_deadline_seconds: self.start_deadline.map(|span| span.0),
            context: self.context,
            retention_days: self.retention.map(|days| days.0),
            ping: self.ping,
        }
    }

    /// The entry that declares the definition, without its task or workflow.
    pub(in super::super) fn of(spec: Spec) -> Self {
        let timing = spec.timing;
        Self {
            when: Expressions(timing.expressions),
            zone: timing.zone,
            dst: DstEntry {
                gap: unless(timing.gap, DstGap::Shift),
                overlap: unless(timing.overlap, DstOverlap::First),
            },
            start: timing.start_at,
            end: timing.end_at,
            jitter: unless(timing.jitter_seconds, 0).map(Seconds),
            calendars: spec.calendars,
            max_fires: spec.max_fires,
            note: spec.note,
            tags: spec.tags,
            workflow: None,
            task: None,
            misfire: MisfireEntry::of(&spec.misfire),
            overlap: unless(spec.overlap, Overlap::Skip),
            buffer_limit: spec
                .buffer_limit
                .filter(|limit| buffer_limit(spec.overlap, None) != Some(*limit)),
            group: spec.group,
            priority: spec.priority,
            start_deadline: spec.start_deadline_seconds.map(Seconds),
            context: spec.context,
            retention: spec.retention_days.map(Days),
            ping: spec.ping,
            paused: false,
        }
    }
}

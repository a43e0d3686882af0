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
    /// When it is due.
    pub(crate) when: Expressions,
    /// Canonical IANA name; `UTC` if left out.
    #[serde(default = "utc", skip_serializing_if = "is_utc")]
    pub(crate) zone: String,
    /// How fixed times behave on days when the clock changes.
    #[serde(default, skip_serializing_if = "DstEntry::is_empty")]
    pub(crate) dst: DstEntry,
    /// No fires before this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub(crate) start: Option<DateTime<Utc>>,
    /// No fires from this instant on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub(crate) end: Option<DateTime<Utc>>,
    /// The maximum delay of a fire, up to a day; the same fire always has the same delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) jitter: Option<Seconds>,
    /// Names of calendars of the namespace; at most 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) calendars: Vec<String>,
    /// No fires remain after this number of started ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_fires: Option<i64>,
    /// A note about the schedule. Operators may change it; see docs/modules.md.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
    /// For searching.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tags: Vec<String>,
    /// The workflow to run, by name; alternatively `task`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) workflow: Option<String>,
    /// An inline task to run; alternatively `workflow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<TaskEntry>,
    /// What to do about missed fires.
    #[serde(default, skip_serializing_if = "MisfireEntry::is_empty")]
    pub(crate) misfire: MisfireEntry,
    /// What to do about a fire while a run is alive; `skip` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Words<Overlap>>")]
    pub(crate) overlap: Option<Overlap>,
    /// Only for `buffer_all`: the maximum number of waiting fires, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) buffer_limit: Option<i64>,
    /// The concurrency group whose limit its runs share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    /// -100 to 100: of the waiting runs, the one with the highest priority is taken first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) priority: i64,
    /// A fire that has not started this long after it was due is skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) start_deadline: Option<Seconds>,
    /// A JSON object that travels with each run.
    #[serde(default = "empty", skip_serializing_if = "is_empty")]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub(crate) context: serde_json::Value,
    /// How long settled history is kept: whole days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retention: Option<Days>,
    /// The watchdog to call when a run succeeds, so that someone outside notices when none does;
    /// see docs/alerts.md.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ping: Option<Ping>,
    /// Only for a new schedule: afterwards operators decide about pausing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) paused: bool,
}

/// How fixed local times behave on days when the clock changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DstEntry {
    /// A time that the clock skips.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Words<DstGap>>")]
    pub(crate) gap: Option<DstGap>,
    /// A time that comes twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Words<DstOverlap>>")]
    pub(crate) overlap: Option<DstOverlap>,
}

/// What to do about missed fires.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MisfireEntry {
    /// Which missed fires run; `latest` if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Words<CatchUp>>")]
    pub(crate) catch_up: Option<CatchUp>,
    /// A fire that is later than this after its due time was missed; up to 7 days, 5m if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) grace: Option<Seconds>,
    /// For `all`: the maximum number; 100 if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max: Option<i64>,
    /// For `all`: the time between two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) spacing: Option<Seconds>,
    /// Instants missed longer ago than this never run; up to 30 days, 24h if left out.
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

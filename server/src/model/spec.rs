//! A schedule's whole definition, wherever it came from: the API, a module file, a row.
//!
//! Create, update and deploy all result in a [`Spec`], so they are validated in the same way, and a
//! change is the difference between two specs. As JSON it is the snapshot that the history stores
//! and a rollback reads.

use std::time::Duration;

use chrono::{DateTime, Utc};
use entity::{
    Strings, Timestamp,
    schedule::{ActiveModel, CatchUp, DstGap, DstOverlap, Model, Overlap},
};
use sea_orm::Set;
use serde::{Deserialize, Serialize};

use super::{BadInput, Ping, check};

/// The default maximum number of waiting fires under `buffer_all`.
pub(crate) const USUAL_LIMIT: i32 = 100;

/// The definition of a schedule, without its work and its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Unique among the namespace's schedules.
    pub name: String,
    /// The note, for display.
    pub note: String,
    /// The tags to search by.
    pub tags: Vec<String>,
    /// When the schedule is due.
    pub timing: Timing,
    /// The names of the calendars that suppress some of its fires.
    #[serde(default)]
    pub calendars: Vec<String>,
    /// The schedule ends after this many fires have started.
    #[serde(default)]
    pub max_fires: Option<i64>,
    /// The policy for missed fires.
    pub misfire: Misfire,
    /// The policy for a fire that is due while a run is alive.
    pub overlap: Overlap,
    /// For `buffer_all`: the maximum number of waiting fires.
    pub buffer_limit: Option<i64>,
    /// The name of the concurrency group whose limit its runs share.
    pub group: Option<String>,
    /// The priority: of the waiting runs, those with a higher one are taken first.
    pub priority: i64,
    /// A fire that has not started this long after it was due is skipped.
    pub start_deadline_seconds: Option<i64>,
    /// A JSON object that travels with each run.
    pub context: serde_json::Value,
    /// How many days settled history is kept; `None` inherits the namespace's retention.
    pub retention_days: Option<i64>,
    /// The watchdog addresses that the schedule calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping: Option<Ping>,
}

/// When a schedule is due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Cron, nickname, `@every` or `@at`, combined as a union.
    pub expressions: Vec<String>,
    /// The zone's IANA name.
    pub zone: String,
    /// The policy for a fixed local time that the clock skips.
    pub gap: DstGap,
    /// The policy for a fixed local time that the clock repeats.
    pub overlap: DstOverlap,
    /// Fires from this instant on.
    pub start_at: Option<DateTime<Utc>>,
    /// Fires only before this instant.
    pub end_at: Option<DateTime<Utc>>,
    /// The maximum delay of a fire after its scheduled time.
    pub jitter_seconds: i64,
}

/// The policy for missed fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misfire {
    /// Which missed fires run.
    pub catch_up: CatchUp,
    /// A fire counts as missed if it is claimed later than this after its due time.
    pub grace_seconds: i64,
    /// For `all`: the maximum number of missed fires that run.
    pub max: i64,
    /// For `all`: the time between the starts of two missed fires.
    pub spacing_seconds: i64,
    /// Instants missed longer ago than this never run.
    pub window_seconds: i64,
}

impl Default for Misfire {
    fn default() -> Self {
        Self {
            catch_up: CatchUp::Latest,
            grace_seconds: 300,
            max: 100,
            spacing_seconds: 0,
            window_seconds: 86_400,
        }
    }
}

/// The effective limit of a buffer: the given one, or 100 for `buffer_all`.
pub(crate) fn buffer_limit(overlap: Overlap, given: Option<i64>) -> Option<i64> {
    given.or((overlap == Overlap::BufferAll).then_some(USUAL_LIMIT.into()))
}

/// Maximum number of tags of a schedule.
pub(crate) const MAX_TAGS: usize = 32;

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

impl Spec {
    /// A schedule with this name and expression in UTC, and defaults for everything else.
    pub fn on(name: &str, expression: &str) -> Self {
        Self {
            name: name.to_owned(),
            note: String::new(),
            tags: vec![],
            timing: Timing {
                expressions: vec![expression.to_owned()],
                zone: "UTC".to_owned(),
                gap: DstGap::Shift,
                overlap: DstOverlap::First,
                start_at: None,
                end_at: None,
                jitter_seconds: 0,
            },
            calendars: vec![],
            max_fires: None,
            misfire: Misfire::default(),
            overlap: Overlap::Skip,
            buffer_limit: None,
            group: None,
            priority: 0,
            start_deadline_seconds: None,
            context: serde_json::json!({}),
            retention_days: None,
            ping: None,
        }
    }

    /// Whether both definitions have their fires at the same instants, decide about them by the
    /// same rules and run them with the same context. If so, an edit from one to the other leaves
    /// the schedule's fires unchanged.
    ///
    /// Some fields make no difference here, because an edit of them must not lose a fire in
    /// progress: the fields that only people read (name, note, tags), and those that only affect
    /// the order of waiting runs (priority, group), how long a run is kept (retention) or which
    /// addresses are called (ping). All other fields do, because a fire that was claimed under one
    /// rule must not run under another. The work of the schedule is not part of a [`Spec`].
    pub(crate) fn has_the_fires_of(&self, other: &Self) -> bool {
        // Each field is listed by name, so that a new one must be considered.
        let Self {
            name: _,
            note: _,
            tags: _,
            timing,
            calendars,
            max_fires,
            misfire,
            overlap,
            buffer_limit,
            group: _,
            priority: _,
            start_deadline_seconds,
            context,
            retention_days: _,
            ping: _,
        } = self;
        *timing == other.timing
            && *calendars == other.calendars
            && *max_fires == other.max_fires
            && *misfire == other.misfire
            && *overlap == other.overlap
            && *buffer_limit == other.buffer_limit
            && *start_deadline_seconds == other.start_deadline_seconds
            && *context == other.context
    }

    /// Checks everything except the timing, which the calculator checks when it compiles the
    /// schedule.
    pub(crate) fn check(&self) -> Result<(), BadInput> {
        check::name("name", &self.name)?;
        check::text("note", &self.note, 4_000)?;
        if self.tags.len() > MAX_TAGS {
            let problem = format!("has {} tags; the limit is {MAX_TAGS}", self.tags.len());
            return Err(BadInput::new("tags", self.tags.join(", "), problem, "use fewer"));
        }
        for (index, tag) in self.tags.iter().enumerate() {
            check::name(&format!("tags[{index}]"), tag)?;
        }
        let misfire = &self.misfire;
        check::number("misfire.graceSeconds", misfire.grace_seconds, 0..=7 * DAY, "seconds")?;
        check::number("misfire.max", misfire.max, 1..=10_000, "")?;
        check::number("misfire.spacingSeconds", misfire.spacing_seconds, 0..=HOUR, "seconds")?;
        check::number("misfire.windowSeconds", misfire.window_seconds, 0..=30 * DAY, "seconds")?;
        if let Some(limit) = self.buffer_limit {
            if self.overlap != Overlap::BufferAll {
                let problem = "is given, but only the overlap policy buffer_all has a limit";
                let help = "choose buffer_all, or leave the limit out";
                return Err(BadInput::new("bufferLimit", limit, problem, help));
            }
            check::number("bufferLimit", limit, 1..=1_000, "")?;
        }
        if let Some(group) = &self.group {
            check::name("group", group)?;
        }
        check::number("priority", self.priority, -100..=100, "")?;
        if let Some(deadline) = self.start_deadline_seconds {
            check::number("startDeadlineSeconds", deadline, 1..=30 * DAY, "seconds")?;
        }
        if let Some(max) = self.max_fires {
            check::number("maxFires", max, 1..=1_000_000_000, "fires")?;
        }
        self.timing.check()?;
        check::calendars(&self.calendars)?;
        check::check_days("retentionDays", self.retention_days)?;
        check::context("context", &self.context)
    }

    /// The definition in a row, without the names of its calendars and its group. They are in other
    /// tables, and `Commands::spec_of` adds them.
    pub fn of(row: &Model) -> Self {
        Self {
            name: row.name.clone(),
            note: row.note.clone(),
            tags: row.tags.0.clone(),
            timing: Timing {
                expressions: row.expressions.0.clone(),
                zone: row.zone.clone(),
                gap: row.dst_gap,
                overlap: row.dst_overlap,
                start_at: row.start_at.map(Timestamp::utc),
                end_at: row.end_at.map(Timestamp::utc),
                jitter_seconds: row.jitter_ms / 1_000,
            },
            calendars: vec![],
            max_fires: row.max_fires,
            misfire: Misfire {
                catch_up: row.catch_up,
                grace_seconds: row.grace_ms / 1_000,
                max: row.catch_up_max.into(),
                spacing_seconds: row.catch_up_spacing_ms / 1_000,
                window_seconds: row.catch_up_window_ms / 1_000,
            },
            overlap: row.overlap,
            buffer_limit: row.buffer_limit.map(Into::into),
            group: None,
            priority: row.priority.into(),
            start_deadline_seconds: row.start_deadline_ms.map(|ms| ms / 1_000),
            context: row.context.clone(),
            retention_days: row.retention_days.map(Into::into),
            ping: row.ping.clone().and_then(|ping| serde_json::from_value(ping).ok()),
        }
    }

    /// The columns of the definition, without the keys of the calendars and the group.
    pub(crate) fn columns(&self) -> ActiveModel {
        let timing = &self.timing;
        ActiveModel {
            name: Set(self.name.clone()),
            note: Set(self.note.clone()),
            tags: Set(Strings(self.tags.clone())),
            expressions: Set(Strings(timing.expressions.clone())),
            zone: Set(timing.zone.clone()),
            dst_gap: Set(timing.gap),
            dst_overlap: Set(timing.overlap),
            start_at: Set(timing.start_at.map(Timestamp::from)),
            end_at: Set(timing.end_at.map(Timestamp::from)),
            jitter_ms: Set(timing.jitter_seconds * 1_000),
            catch_up: Set(self.misfire.catch_up),
            grace_ms: Set(self.misfire.grace_seconds * 1_000),
            max_fires: Set(self.max_fires),
            // The check limits it to 10,000.
            catch_up_max: Set(i32::try_from(self.misfire.max).unwrap_or(i32::MAX)),
            catch_up_spacing_ms: Set(self.misfire.spacing_seconds * 1_000),
            catch_up_window_ms: Set(self.misfire.window_seconds * 1_000),
            overlap: Set(self.overlap),
            // The checks limit both values.
            buffer_limit: Set(self.buffer_limit.and_then(|limit| i32::try_from(limit).ok())),
            priority: Set(i16::try_from(self.priority).unwrap_or_default()),
            start_deadline_ms: Set(self.start_deadline_seconds.map(|seconds| seconds * 1_000)),
            context: Set(self.context.clone()),
            retention_days: Set(self.retention_days.and_then(|days| i32::try_from(days).ok())),
            ping: Set(self.ping.as_ref().map(|ping| serde_json::json!(ping))),
            ..ActiveModel::default()
        }
    }
}

impl Timing {
    /// Checks the fields that the calculator does not check.
    pub fn check(&self) -> Result<(), BadInput> {
        check::number("timing.jitterSeconds", self.jitter_seconds, 0..=DAY, "seconds")
    }

    /// The calculator's input for a schedule with this key and this anchor.
    pub fn definition(&self, id: uuid::Uuid, anchor: DateTime<Utc>) -> timetable::Definition {
        timetable::Definition {
            expressions: self.expressions.clone(),
            zone: self.zone.clone(),
            dst: timetable::DstPolicy {
                gap: match self.gap {
                    DstGap::Shift => timetable::Gap::Shift,
                    DstGap::Skip => timetable::Gap::Skip,
                },
                overlap: match self.overlap {
                    DstOverlap::First => timetable::Overlap::First,
                    DstOverlap::Last => timetable::Overlap::Last,
                    DstOverlap::Both => timetable::Overlap::Both,
                },
            },
            anchor,
            start: self.start_at,
            end: self.end_at,
            // A value out of bounds is refused by `check`, whatever its source.
            jitter: Duration::from_secs(u64::try_from(self.jitter_seconds).unwrap_or(0)),
            seed: id.into_bytes(),
        }
    }
}

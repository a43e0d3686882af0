use async_graphql::{Enum, InputObject, Object, SimpleObject};
use chrono::{DateTime, TimeDelta, Utc};
use entity::schedule;
use timetable::Timetable;
use uuid::Uuid;

use super::{context::Ask, error::Result, page::bounded, scalar::Instant};
use crate::engine::commands::{self, BadInput, Spec};

/// When a schedule is due.
pub(crate) struct Timing {
    spec: commands::Timing,
    definition: timetable::Definition,
}

impl Timing {
    /// Of a schedule's row.
    pub(crate) fn of(row: &schedule::Model) -> Self {
        let spec = Spec::of(row).timing;
        let definition = spec.definition(row.id, row.anchor_at.utc());
        Self { spec, definition }
    }

    /// Compiled. A stored timing can only fail to compile when its zone has left the zone data.
    pub(crate) fn timetable(
        &self,
        cx: &async_graphql::Context<'_>,
    ) -> std::result::Result<Timetable, timetable::TimingError> {
        cx.commands().cache.timetable(&self.definition)
    }
}

/// When a schedule is due.
#[Object]
impl Timing {
    /// One to sixteen, in union: cron of 5, 6 (seconds first) or 7 fields (year last), a nickname,
    /// `@every`, `@at`.
    async fn expressions(&self) -> &[String] {
        &self.spec.expressions
    }

    async fn zone(&self) -> &str {
        &self.spec.zone
    }

    async fn gap(&self) -> GapPolicy {
        self.spec.gap.into()
    }

    async fn overlap(&self) -> OverlapHourPolicy {
        self.spec.overlap.into()
    }

    async fn start_at(&self) -> Option<Instant> {
        self.spec.start_at.map(Instant)
    }

    async fn end_at(&self) -> Option<Instant> {
        self.spec.end_at.map(Instant)
    }

    async fn jitter_seconds(&self) -> i64 {
        self.spec.jitter_seconds
    }

    /// In words.
    async fn description(&self, cx: &async_graphql::Context<'_>) -> String {
        match self.timetable(cx) {
            Ok(timetable) => timetable.describe(),
            Err(error) => error.to_string(),
        }
    }

    async fn warnings(&self, cx: &async_graphql::Context<'_>) -> Vec<TimingWarning> {
        match self.timetable(cx) {
            Ok(timetable) => lint(&timetable, cx.commands().clock.now()),
            Err(error) => vec![TimingWarning {
                code: "unusable".to_owned(),
                message: format!("it does not fire: {}", error.problem),
                field: error.field,
                suggestion: Some(error.help),
            }],
        }
    }
}

/// What a fixed local time that the clock skips does: fire once right after the gap, or not at all.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "schedule::DstGap")]
pub(crate) enum GapPolicy {
    /// Fires once, at the first instant after the gap.
    Shift,
    /// Does not fire.
    Skip,
}

/// In which pass a fixed local time that the clock repeats fires.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "schedule::DstOverlap")]
pub(crate) enum OverlapHourPolicy {
    /// The first.
    First,
    /// The last.
    Last,
    /// Each.
    Both,
}

/// Something that is valid and likely not meant.
#[derive(SimpleObject)]
pub(crate) struct TimingWarning {
    code: String,
    message: String,
    field: String,
    suggestion: Option<String>,
}

impl From<timetable::Warning> for TimingWarning {
    fn from(warning: timetable::Warning) -> Self {
        // A unit variant is a word in JSON.
        let code = serde_json::to_value(warning.code).unwrap_or_default();
        Self {
            code: code.as_str().unwrap_or_default().to_owned(),
            message: warning.message,
            field: warning.field,
            suggestion: warning.suggestion,
        }
    }
}

pub(crate) fn lint(timetable: &Timetable, from: DateTime<Utc>) -> Vec<TimingWarning> {
    timetable.lint(from).into_iter().map(Into::into).collect()
}

/// Why a timing cannot be used.
#[derive(SimpleObject)]
pub(crate) struct TimingProblem {
    field: String,
    value: String,
    problem: String,
    help: String,
    /// Byte offsets within the value.
    start: Option<usize>,
    end: Option<usize>,
}

impl From<BadInput> for TimingProblem {
    fn from(bad: BadInput) -> Self {
        Self {
            field: bad.field,
            value: bad.value,
            problem: bad.problem,
            help: bad.help,
            start: bad.position.as_ref().map(|position| position.start),
            end: bad.position.map(|position| position.end),
        }
    }
}

/// What a clock change made of a fire.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "entity::fire::Kind")]
pub(crate) enum FireKind {
    /// Its local time comes once.
    Normal,
    /// Its local time does not exist; it fires at the end of the gap.
    Shifted,
    /// Its local time comes twice; this is the first.
    FirstOfTwo,
    /// Its local time comes twice; this is the second.
    SecondOfTwo,
}

/// An instant at which a timing fires.
#[derive(SimpleObject)]
pub(crate) struct PreviewFire {
    at: Instant,
    /// Wall-clock time in the schedule's zone, without offset: 2026-03-29T03:00:00
    local: String,
    /// As +02:00
    offset: String,
    kind: FireKind,
}

/// How wall-clock times are written.
pub(crate) const LOCAL: &str = "%Y-%m-%dT%H:%M:%S";

impl From<timetable::Fire> for PreviewFire {
    fn from(fire: timetable::Fire) -> Self {
        Self {
            at: fire.at.into(),
            local: fire.local.format(LOCAL).to_string(),
            offset: fire.offset.to_string(),
            kind: match fire.kind {
                timetable::FireKind::Normal => FireKind::Normal,
                timetable::FireKind::Shifted => FireKind::Shifted,
                timetable::FireKind::FirstOfTwo => FireKind::FirstOfTwo,
                timetable::FireKind::SecondOfTwo => FireKind::SecondOfTwo,
            },
        }
    }
}

/// The next `count` fires after `from`.
pub(crate) fn next(
    timetable: &Timetable,
    from: DateTime<Utc>,
    count: i32,
) -> Result<Vec<PreviewFire>> {
    let count = usize::try_from(bounded("count", count)?).unwrap_or_default();
    let fires = timetable.fires(from, DateTime::<Utc>::MAX_UTC);
    Ok(fires.take(count).map(Into::into).collect())
}

/// What a timing would do, before it is saved.
#[derive(SimpleObject)]
pub(crate) struct SchedulePreview {
    description: Option<String>,
    fires: Vec<PreviewFire>,
    warnings: Vec<TimingWarning>,
    problem: Option<TimingProblem>,
    /// Fires in the next 365 days.
    fires_per_year: Option<u64>,
}

impl SchedulePreview {
    /// Of a timing that can be used.
    pub(crate) fn of(timetable: &Timetable, from: DateTime<Utc>, count: i32) -> Result<Self> {
        let year = from.checked_add_signed(TimeDelta::days(365));
        Ok(Self {
            description: Some(timetable.describe()),
            fires: next(timetable, from, count)?,
            warnings: lint(timetable, from),
            problem: None,
            fires_per_year: year.map(|until| timetable.count(from, until)),
        })
    }

    /// Of one that cannot.
    pub(crate) fn refused(problem: BadInput) -> Self {
        Self {
            description: None,
            fires: vec![],
            warnings: vec![],
            problem: Some(problem.into()),
            fires_per_year: None,
        }
    }
}

/// When a schedule is to be due.
#[derive(InputObject)]
pub(crate) struct TimingInput {
    pub(crate) expressions: Vec<String>,
    #[graphql(default = "UTC")]
    pub(crate) zone: String,
    #[graphql(default_with = "GapPolicy::Shift")]
    pub(crate) gap: GapPolicy,
    #[graphql(default_with = "OverlapHourPolicy::First")]
    pub(crate) overlap: OverlapHourPolicy,
    pub(crate) start_at: Option<Instant>,
    pub(crate) end_at: Option<Instant>,
    #[graphql(default)]
    pub(crate) jitter_seconds: i64,
}

impl From<TimingInput> for commands::Timing {
    fn from(input: TimingInput) -> Self {
        Self {
            expressions: input.expressions,
            zone: input.zone,
            gap: input.gap.into(),
            overlap: input.overlap.into(),
            start_at: input.start_at.map(|at| at.0),
            end_at: input.end_at.map(|at| at.0),
            jitter_seconds: input.jitter_seconds,
        }
    }
}

/// Compiles what a form shows. `like` is the schedule that the form edits, if it does: its key
/// decides what `H` stands for and its anchor where `@every` counts from.
pub(crate) fn compile(
    cx: &async_graphql::Context<'_>,
    input: TimingInput,
    like: Option<&schedule::Model>,
) -> std::result::Result<Timetable, BadInput> {
    let timing = commands::Timing::from(input);
    timing.check()?;
    let (id, anchor) = match like {
        Some(row) => (row.id, row.anchor_at.utc()),
        None => (Uuid::nil(), chrono::SubsecRound::trunc_subsecs(cx.commands().clock.now(), 0)),
    };
    let definition = timing.definition(id, anchor);
    cx.commands().cache.timetable(&definition).map_err(BadInput::timing)
}

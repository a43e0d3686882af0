use async_graphql::{Enum, InputObject, Object, SimpleObject};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{Keys, schedule};
use timetable::{Timetable, TimingError};
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    loaders::CalendarRow,
    page::{DECLARED, bounded},
    query::namespace_id,
    scalar::Instant,
};
use crate::{
    commands::{BadInput, CommandError, UnsetSecret, schedules::suppression},
    model::{Spec, calendars},
};

/// The minimum cost of compiling a timing that is not cached, checking it, and counting its fires
/// in a year. One unit is about a microsecond of CPU time.
pub(crate) const PREVIEW: usize = 1_000;
/// The cost of looking up a compiled timing.
pub(crate) const COMPILED: usize = 20;

/// The cost of checking a stored timing for likely mistakes, and of describing it: far higher with
/// 16 expressions than usual, because only the usual patterns are cached.
const CHECKED: usize = 150;
const DESCRIBED: usize = 50;

/// The cost of a timing that is not cached, because each of its expressions and calendars is
/// evaluated for each fire.
pub(crate) fn preview_cost(timing: &TimingInput, calendars: Option<&[String]>) -> usize {
    let parts = timing.expressions.len() + calendars.map_or(0, <[String]>::len);
    PREVIEW.saturating_add(parts.saturating_mul(PREVIEW / 4))
}

/// When a schedule is due.
pub(crate) struct Timing {
    spec: crate::model::Timing,
    definition: timetable::Definition,
    calendars: Option<Keys>,
}

impl Timing {
    /// The timing of a schedule's row.
    pub(crate) fn of(row: &schedule::Model) -> Self {
        let spec = Spec::of(row).timing;
        let definition = spec.definition(row.id, row.anchor_at.utc());
        Self { spec, definition, calendars: row.calendars.clone() }
    }

    /// The compiled timing with its calendars. A stored timing fails to compile only if its zone
    /// was removed from the zone data, or a calendar can no longer be read.
    pub(crate) async fn timetable(
        &self,
        cx: &async_graphql::Context<'_>,
    ) -> Result<std::result::Result<Timetable, TimingError>> {
        match cx.commands().cache.timetable(&self.definition) {
            Ok(plain) => suppressed(cx, plain, self.calendars.as_ref()).await,
            Err(error) => Ok(Err(error)),
        }
    }
}

/// The same timetable with the calendars with these ids.
async fn suppressed(
    cx: &async_graphql::Context<'_>,
    plain: Timetable,
    keys: Option<&Keys>,
) -> Result<std::result::Result<Timetable, TimingError>> {
    let Some(Keys(ids)) = keys else { return Ok(Ok(plain)) };
    let rows = cx.rows().load_many(ids.iter().copied().map(CalendarRow)).await?;
    let compiled = rows.values().map(|row| (row.id, cx.commands().calendars.compiled(row)));
    Ok(calendars::with(plain, keys, &compiled.collect()))
}

/// When a schedule is due.
#[Object]
impl Timing {
    /// 1 to 16 expressions, combined as a union: cron of 5, 6 (seconds first) or 7 fields (year
    /// last), a nickname, `@every`, `@at`.
    async fn expressions(&self) -> &[String] {
        &self.spec.expressions
    }

    /// IANA name of the zone on whose clock the expressions are read.
    async fn zone(&self) -> &str {
        &self.spec.zone
    }

    /// What happens to a fixed local time that a clock change skips.
    async fn gap(&self) -> GapPolicy {
        self.spec.gap.into()
    }

    /// Which occurrence of a fixed local time fires when a clock change repeats it.
    async fn overlap(&self) -> OverlapHourPolicy {
        self.spec.overlap.into()
    }

    /// Fires from this instant on; null for no start.
    async fn start_at(&self) -> Option<Instant> {
        self.spec.start_at.map(Instant)
    }

    /// Fires only before this instant; null for no end.
    async fn end_at(&self) -> Option<Instant> {
        self.spec.end_at.map(Instant)
    }

    /// The longest delay of a fire after its scheduled instant. Each fire has a fixed delay.
    async fn jitter_seconds(&self) -> i64 {
        self.spec.jitter_seconds
    }

    /// A description of the timing.
    #[graphql(complexity = "DESCRIBED")]
    async fn description(&self, cx: &async_graphql::Context<'_>) -> Result<String> {
        Ok(match self.timetable(cx).await? {
            Ok(timetable) => timetable.describe(),
            Err(error) => error.to_string(),
        })
    }

    /// Likely mistakes in the timing.
    #[graphql(complexity = "CHECKED + DECLARED * child_complexity")]
    async fn warnings(&self, cx: &async_graphql::Context<'_>) -> Result<Vec<TimingWarning>> {
        Ok(match self.timetable(cx).await? {
            Ok(timetable) => lint(&timetable, cx.commands().clock.now()),
            Err(error) => vec![TimingWarning {
                code: "unusable".to_owned(),
                message: format!("it does not fire: {}", error.problem),
                field: error.field,
                suggestion: Some(error.help),
            }],
        })
    }
}

/// What happens to a fixed local time that a clock change skips.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "schedule::DstGap")]
pub(crate) enum GapPolicy {
    /// Fires once, at the first instant after the gap.
    Shift,
    /// The schedule does not fire.
    Skip,
}

/// Which occurrence of a fixed local time fires if a clock change repeats it.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "schedule::DstOverlap")]
pub(crate) enum OverlapHourPolicy {
    /// The first occurrence.
    First,
    /// The last occurrence.
    Last,
    /// Each occurrence.
    Both,
}

/// A likely mistake in a valid definition.
#[derive(SimpleObject)]
pub(crate) struct TimingWarning {
    /// The kind of warning, such as `never_fires` or `secret_not_set`.
    code: String,
    /// What will happen, in one sentence.
    message: String,
    /// The field that the warning concerns, such as `expressions[0]`.
    field: String,
    /// What to write instead, if there is one clear answer.
    suggestion: Option<String>,
}

impl From<timetable::Warning> for TimingWarning {
    fn from(warning: timetable::Warning) -> Self {
        // A unit variant is serialized as a string.
        let code = serde_json::to_value(warning.code).unwrap_or_default();
        Self {
            code: code.as_str().unwrap_or_default().to_owned(),
            message: warning.message,
            field: warning.field,
            suggestion: warning.suggestion,
        }
    }
}

impl From<UnsetSecret> for TimingWarning {
    fn from(unset: UnsetSecret) -> Self {
        let message = unset.message();
        let help = "set it by `setSecret` or `carillon secret set`";
        Self {
            code: "secret_not_set".to_owned(),
            message: format!("{message}; {help}"),
            field: unset.field,
            suggestion: None,
        }
    }
}

/// The warnings for a saved object: about its timing, and about secrets that its tasks use but that
/// are not set.
pub(crate) fn told(
    warnings: Vec<timetable::Warning>,
    unset: Vec<UnsetSecret>,
) -> Vec<TimingWarning> {
    warnings.into_iter().map(Into::into).chain(unset.into_iter().map(Into::into)).collect()
}

pub(crate) fn lint(timetable: &Timetable, from: DateTime<Utc>) -> Vec<TimingWarning> {
    timetable.lint(from).into_iter().map(Into::into).collect()
}

/// Why a timing cannot be used.
#[derive(SimpleObject)]
pub(crate) struct TimingProblem {
    /// The field that is wrong, such as `timing.expressions[0]`.
    field: String,
    /// The value as it was given.
    value: String,
    /// What is wrong with it.
    problem: String,
    /// What to do about it.
    help: String,
    /// Start of the wrong part, as a byte offset in the value; null if all of it is wrong.
    start: Option<usize>,
    /// End of the wrong part, exclusive, as a byte offset; null if all of it is wrong.
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

/// How a clock change affects a fire.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "entity::fire::Kind")]
pub(crate) enum FireKind {
    /// The local time occurs once.
    Normal,
    /// The local time does not exist; the schedule fires at the end of the gap.
    Shifted,
    /// The local time occurs twice; this is the first occurrence.
    FirstOfTwo,
    /// The local time occurs twice; this is the second occurrence.
    SecondOfTwo,
}

/// An instant at which a timing fires.
#[derive(SimpleObject)]
pub(crate) struct PreviewFire {
    /// The instant, before jitter.
    at: Instant,
    /// Wall-clock time in the schedule's zone, without offset: 2026-03-29T03:00:00
    local: String,
    /// UTC offset, such as +02:00
    offset: String,
    /// How a clock change affects the instant.
    kind: FireKind,
    /// The name of the calendar that suppresses the fire, if one does: then it does not run.
    suppressed_by: Option<String>,
}

/// The format of wall-clock times.
pub(crate) const LOCAL: &str = "%Y-%m-%dT%H:%M:%S";

impl PreviewFire {
    pub(super) fn of(timetable: &Timetable, fire: timetable::Fire) -> Self {
        Self {
            at: fire.at.into(),
            local: fire.local.format(LOCAL).to_string(),
            offset: fire.offset.to_string(),
            kind: fire.kind.into(),
            suppressed_by: timetable.suppressed_by(fire.at).map(|name| name.to_string()),
        }
    }
}

impl From<timetable::FireKind> for FireKind {
    fn from(kind: timetable::FireKind) -> Self {
        match kind {
            timetable::FireKind::Normal => Self::Normal,
            timetable::FireKind::Shifted => Self::Shifted,
            timetable::FireKind::FirstOfTwo => Self::FirstOfTwo,
            timetable::FireKind::SecondOfTwo => Self::SecondOfTwo,
        }
    }
}

/// The next `count` fires after `from`, including those that a calendar suppresses.
pub(crate) fn next(
    timetable: &Timetable,
    from: DateTime<Utc>,
    count: i32,
) -> Result<Vec<PreviewFire>> {
    let count = usize::try_from(bounded("count", count)?).unwrap_or_default();
    let fires = timetable.fires(from, DateTime::<Utc>::MAX_UTC);
    Ok(fires.take(count).map(|fire| PreviewFire::of(timetable, fire)).collect())
}

/// The fires up to and including the last of the `left` fires that may still run.
pub(crate) fn next_of(fires: Vec<PreviewFire>, left: i64) -> Vec<PreviewFire> {
    let mut left = left;
    let mut kept = Vec::with_capacity(fires.len());
    for fire in fires {
        if left <= 0 {
            break;
        }
        left -= i64::from(fire.suppressed_by.is_none());
        kept.push(fire);
    }
    kept
}

/// What a timing would do, before it is saved.
#[derive(SimpleObject)]
pub(crate) struct SchedulePreview {
    /// The timing in words; null if it cannot be used.
    description: Option<String>,
    /// The next instants of the timing, in order.
    fires: Vec<PreviewFire>,
    /// Likely mistakes in the timing.
    warnings: Vec<TimingWarning>,
    /// Why the timing cannot be used; null if it can.
    problem: Option<TimingProblem>,
    /// Fires in the next 365 days that no calendar suppresses; null if there are too many windows
    /// to count.
    fires_per_year: Option<u64>,
}

impl SchedulePreview {
    /// The preview of a valid timing.
    pub(crate) fn of(timetable: &Timetable, from: DateTime<Utc>, count: i32) -> Result<Self> {
        let year = from.checked_add_signed(TimeDelta::days(365));
        Ok(Self {
            description: Some(timetable.describe()),
            fires: next(timetable, from, count)?,
            warnings: lint(timetable, from),
            problem: None,
            fires_per_year: year.and_then(|until| {
                if timetable.has_calendars() {
                    timetable.count_allowed(from, until)
                } else {
                    Some(timetable.count(from, until))
                }
            }),
        })
    }

    /// The preview of a timing without a schedule. The real schedule will get its own `H`.
    pub(crate) fn example(timetable: &Timetable, from: DateTime<Utc>, count: i32) -> Result<Self> {
        let mut preview = Self::of(timetable, from, count)?;
        preview.warnings.extend(timetable.example().map(Into::into));
        Ok(preview)
    }

    /// The preview of an invalid timing.
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

/// A timing for a schedule.
#[derive(InputObject)]
pub(crate) struct TimingInput {
    /// 1 to 16 expressions, combined as a union: cron of 5, 6 (seconds first) or 7 fields (year
    /// last), a nickname, `@every`, `@at`.
    pub(crate) expressions: Vec<String>,
    /// IANA name of the zone on whose clock the expressions are read.
    #[graphql(default = "UTC")]
    pub(crate) zone: String,
    /// What happens to a fixed local time that a clock change skips.
    #[graphql(default_with = "GapPolicy::Shift")]
    pub(crate) gap: GapPolicy,
    /// Which occurrence of a fixed local time fires when a clock change repeats it.
    #[graphql(default_with = "OverlapHourPolicy::First")]
    pub(crate) overlap: OverlapHourPolicy,
    /// Fires from this instant on; no start if absent.
    pub(crate) start_at: Option<Instant>,
    /// Fires only before this instant; no end if absent.
    pub(crate) end_at: Option<Instant>,
    /// The longest delay of a fire after its scheduled instant: 0 to a day. Each fire has a fixed
    /// delay.
    #[graphql(default)]
    pub(crate) jitter_seconds: i64,
}

impl From<TimingInput> for crate::model::Timing {
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

/// Compiles a form's timing. `like` is the schedule that the form edits, if any: its id determines
/// the value of `H`, and its anchor the start of `@every`.
pub(crate) fn compile(
    cx: &async_graphql::Context<'_>,
    input: TimingInput,
    like: Option<&schedule::Model>,
) -> std::result::Result<Timetable, BadInput> {
    let timing = crate::model::Timing::from(input);
    timing.check()?;
    let (id, anchor) = match like {
        Some(row) => (row.id, row.anchor_at.utc()),
        None => (Uuid::nil(), chrono::SubsecRound::trunc_subsecs(cx.commands().clock.now(), 0)),
    };
    let definition = timing.definition(id, anchor);
    cx.commands().cache.timetable(&definition).map_err(BadInput::timing)
}

/// Compiles a timing with the calendars named in the form, or else those of the edited schedule.
pub(crate) async fn compile_with(
    cx: &async_graphql::Context<'_>,
    input: TimingInput,
    like: Option<&schedule::Model>,
    names: Option<(String, Vec<String>)>,
) -> Result<std::result::Result<Timetable, BadInput>> {
    let plain = match compile(cx, input, like) {
        Ok(plain) => plain,
        Err(problem) => return Ok(Err(problem)),
    };
    let Some((namespace, names)) = names else {
        let keys = like.and_then(|row| row.calendars.as_ref());
        return Ok(suppressed(cx, plain, keys).await?.map_err(BadInput::of_calendars));
    };
    let (namespace, connection) = (namespace_id(cx, &namespace).await?, cx.store().read());
    let commands = cx.commands();
    match commands.suppressed(connection, namespace, plain, &names, false).await {
        Ok((timetable, _)) => {
            let allowed = suppression::allows_something(&names, &timetable, commands.clock.now());
            Ok(allowed.map(|()| timetable))
        }
        Err(CommandError::BadInput(problem)) => Ok(Err(problem)),
        Err(error) => Err(error.into()),
    }
}

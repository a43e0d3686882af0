//! Timings, with their description and warnings.

use async_graphql::{Enum, InputObject, Object, SimpleObject};
use chrono::{DateTime, Utc};
use entity::{Keys, schedule};
use timetable::{Timetable, TimingError};
use uuid::Uuid;

use super::{
    context::ContextExt, error::Result, loaders::CalendarRow, page::DECLARED, query::namespace_id,
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

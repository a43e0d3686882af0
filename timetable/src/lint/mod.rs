//! Warnings about definitions that are valid but probably not what was intended.
//!
//! Every rule compares what was typed with what would fire, and reports the effect with figures:
//! how often, on which date, at which hour. It is judged at an instant that the caller passes. The
//! cost is a few searches per expression, whatever they contain.
//!
//! - [`frequency`]: never, rarely, very often; jitter against the rhythm.
//! - [`steps`]: steps that do not divide their field.
//! - [`days`]: the rule that joins the day fields; months without such a day.
//! - [`dst`]: the effect of the next two clock changes, and for a schedule of every hour of all
//!   changes in the coming years.
//! - [`quartz`]: weekdays numbered as in another dialect.
//! - [`example`]: times that `H` would choose differently.
//! - [`rewrite`]: builds a suggestion from what was typed.

mod days;
mod dst;
mod example;
mod frequency;
mod quartz;
mod rewrite;
mod steps;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{
    expression::{Cron, Expression},
    pattern::Pattern,
    source::Source,
    timetable::{Parts, Timetable},
};

/// A warning about a definition that is valid but probably not what was intended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The kind of warning.
    pub code: WarningCode,
    /// The effect, in one sentence with figures.
    pub message: String,
    /// The field of the [`Definition`](crate::Definition) that the warning is about.
    pub field: String,
    /// What to write instead, if there is one clear answer.
    pub suggestion: Option<String>,
}

/// The kinds of [`Warning`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningCode {
    /// The timing never fires again: every instant is past.
    NeverFires,
    /// The timing's calendars suppress every remaining fire.
    NeverAllowed,
    /// No fire lies between start and end, or none is left.
    OutsideBounds,
    /// Years pass between two fires.
    FiresRarely,
    /// Thousands of fires a day.
    FiresOften,
    /// The jitter is longer than the time between two fires.
    JitterOverlaps,
    /// An expression that fires exactly when an earlier one does.
    Duplicate,
    /// A step does not divide its field, so the rhythm breaks where the field starts over.
    UnevenStep,
    /// A step is longer than its range, so that only the first value fires.
    StepTooLarge,
    /// Day of month and day of week are both given, and either may match.
    EitherDay,
    /// Day of month and day of week are both given, and both must match.
    BothDays,
    /// Some months have no such day.
    SkipsMonths,
    /// A fixed time does not exist on a date on which the clock goes forward.
    DstGap,
    /// A fixed time occurs twice on a date on which the clock goes back.
    DstOverlap,
    /// Written with `*`, it follows the clock and misses times when the clock goes forward.
    WildcardMissesGap,
    /// Written with `*`, it follows the clock and fires in both passes when the clock goes back.
    WildcardRepeats,
    /// Written without `*`, it contains every hour and yet skips one that occurs twice.
    SkipsRepeatedHour,
    /// Written like Quartz, which counts weekdays from 1: here they are counted from 0.
    OtherDialect,
    /// The value of `H` is an example only: no schedule exists yet that would determine it.
    HashedExample,
}

pub(crate) use example::hashed;

/// A cron expression of a definition, as the rules examine it.
struct Subject<'a> {
    field: String,
    text: &'a str,
    cron: &'a Cron,
    pattern: &'a Pattern,
    seed: &'a [u8; 16],
}

impl Subject<'_> {
    fn warning(&self, code: WarningCode, message: String, suggestion: Option<String>) -> Warning {
        Warning { code, message, field: self.field.clone(), suggestion }
    }

    /// Whether this expression would be accepted instead.
    fn accepts(&self, text: &str) -> bool {
        match Expression::parse(text, self.seed) {
            Ok(Expression::Cron(cron)) => Pattern::compile(&cron).is_ok(),
            Ok(Expression::Every(_) | Expression::At(_) | Expression::Manually) => true,
            Err(_) => false,
        }
    }
}

/// The warnings; those about the whole definition come first.
pub(crate) fn lint(timetable: &Timetable, parts: &Parts, from: DateTime<Utc>) -> Vec<Warning> {
    // A timing that no longer fires needs no advice on how it fires.
    let Some(first) = timetable.next(from) else {
        // The user asked for a timing that never fires on its own.
        if parts.expressions.iter().all(|(_, e)| *e == Expression::Manually) {
            return Vec::new();
        }
        return vec![frequency::never(timetable, parts, from)];
    };
    let mut warnings = frequency::whole(timetable, parts, first);
    for (index, (text, expression)) in parts.expressions.iter().enumerate() {
        let field = format!("expressions[{index}]");
        warnings.extend(frequency::often(&field, &parts.sources[index], from));
        warnings.extend(frequency::duplicate(&field, parts, index));
        if let (Expression::Cron(cron), Source::Cron(pattern)) = (expression, &parts.sources[index])
        {
            let subject = Subject { field, text, cron, pattern, seed: &parts.seed };
            warnings.extend(quartz::weekdays(&subject));
            warnings.extend(steps::uneven(&subject));
            warnings.extend(days::joined(&subject, from));
            warnings.extend(days::short_months(&subject));
            warnings.extend(dst::changes(&subject, parts, from));
        }
    }
    warnings
}

/// A change of a zone's clock, and its effect on a timetable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockChange {
    /// When the clock changes.
    pub at: DateTime<Utc>,
    /// The effect on the times that the change affects: one sentence for each expression that has
    /// such times.
    pub effects: Vec<String>,
}

/// The first clock change after `from`, up to `until`, that affects a time of the timetable.
pub(crate) fn clock_change(
    parts: &Parts,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Option<ClockChange> {
    let mut span = parts.zone.span_at(from.timestamp());
    while !span.is_last() && span.end <= until.timestamp() {
        span = parts.zone.span_at(span.end);
        let mut effects = Vec::new();
        for (index, (text, expression)) in parts.expressions.iter().enumerate() {
            if let (Expression::Cron(cron), Source::Cron(pattern)) =
                (expression, &parts.sources[index])
            {
                let field = format!("expressions[{index}]");
                let subject = Subject { field, text, cron, pattern, seed: &parts.seed };
                effects.extend(dst::effect(&subject, parts, &span).map(|warning| warning.message));
            }
        }
        let at = DateTime::from_timestamp(span.start, 0)?;
        let is_within =
            parts.start.is_none_or(|start| start <= at) && parts.end.is_none_or(|end| at <= end);
        if is_within && !effects.is_empty() {
            return Some(ClockChange { at, effects });
        }
    }
    None
}

//! Warnings about definitions that are valid but probably not what was intended.
//!
//! Every rule compares the typed text with the fires, and reports the effect with figures: how
//! often, on which date, at which hour. The caller passes the instant at which the definition is
//! judged. The cost is a few searches per expression, whatever the expressions contain.
//!
//! - [`frequency`]: expressions that fire never, rarely
//!   or very often; jitter longer than the rhythm.
//! - [`steps`]: steps that do not divide their field.
//! - [`days`]: the rule that joins the day fields; days that some months lack.
//! - [`dst`]: the effect of the next two clock changes; for a schedule of every hour,
//!   that of all changes in the coming years.
//! - [`quartz`]: weekdays numbered as in another dialect.
//! - [`example`]: values of `H` that only a schedule's seed will determine.
//! - [`rewrite`]: builds a suggestion from the typed text.

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
    /// The expression to write instead, if there is one clear answer.
    pub suggestion: Option<String>,
}

/// The kinds of [`Warning`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningCode {
    /// The timing never fires again: all of its instants are past.
    NeverFires,
    /// The timing's calendars suppress every remaining fire.
    NeverAllowed,
    /// No fire lies between the definition's start and end, or none is left.
    OutsideBounds,
    /// The timing fires less than once a year.
    FiresRarely,
    /// The timing fires thousands of times a day.
    FiresOften,
    /// The jitter is longer than the time between two fires.
    JitterOverlaps,
    /// The expression fires exactly when an earlier one does.
    Duplicate,
    /// A step does not divide its field, so the rhythm breaks where the field starts over.
    UnevenStep,
    /// A step is longer than its range: only the first value fires.
    StepTooLarge,
    /// Day of month and day of week are both given, and either may match.
    EitherDay,
    /// Day of month and day of week are both given, and both must match.
    BothDays,
    /// Some of the specified months do not have the specified day.
    SkipsMonths,
    /// A fixed time does not exist on a date on which the clock goes forward.
    DstGap,
    /// A fixed time occurs twice on a date on which the clock goes back.
    DstOverlap,
    /// A wildcard time follows the clock: it is missed when the clock goes forward.
    WildcardMissesGap,
    /// A wildcard time follows the clock: it fires twice when the clock goes back.
    WildcardRepeats,
    /// Every hour is written as fixed times, which skip an hour that occurs twice.
    SkipsRepeatedHour,
    /// The weekdays look like those of Quartz, which counts from 1; this crate counts from 0.
    OtherDialect,
    /// The value of `H` is an example only: no schedule exists yet that would determine it.
    HashedExample,
}

pub(crate) use example::hashed;

/// A cron expression of a definition, as the rules of this module examine it.
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

    /// Whether another expression would be accepted in place of this one.
    fn accepts(&self, text: &str) -> bool {
        match Expression::parse(text, self.seed) {
            Ok(Expression::Cron(cron)) => Pattern::compile(&cron).is_ok(),
            Ok(Expression::Every(_) | Expression::At(_) | Expression::Manually) => true,
            Err(_) => false,
        }
    }
}

/// All warnings; those about the whole definition come first.
pub(crate) fn lint(timetable: &Timetable, parts: &Parts, from: DateTime<Utc>) -> Vec<Warning> {
    // A timing that no longer fires gets no other advice.
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
    /// The effect on the times that the change affects:
    /// one sentence for each expression with such times.
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

use chrono::{DateTime, Utc};
use clap::{Args, ValueEnum};
use timetable::{Definition, Dialect, DstPolicy, Gap, Overlap, Timetable, TimingError};

use super::{
    CliError, caret,
    when::{ParsedTime, somewhere},
};
use crate::clock::Clock;

/// A timing on the command line.
#[derive(Debug, Args)]
pub(super) struct Timing {
    /// Cron, a nickname, @every or @at
    // The calculator refuses one that begins with a hyphen: it reports where and why.
    #[arg(allow_hyphen_values = true)]
    expression: Option<String>,
    /// Another expression, combined with the first as a union; may be given several times
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true, requires = "expression")]
    also: Vec<String>,
    /// IANA time zone
    #[arg(long, value_name = "ZONE", default_value = "UTC")]
    tz: String,
    /// Start after this instant, exclusive, in the zone of --tz unless it has an offset; @every
    /// counts from it [default: now]
    #[arg(long, value_name = "WHEN", value_parser = somewhere)]
    from: Option<ParsedTime>,
    /// Whether a fixed time that the clock skips fires right after the gap, or not at all
    #[arg(long, value_enum, value_name = "POLICY", default_value = "shift")]
    dst_gap: GapFlag,
    /// Which occurrence of a fixed time fires when the clock repeats it
    #[arg(long, value_enum, value_name = "POLICY", default_value = "first")]
    dst_overlap: OverlapFlag,
    /// Dialect of the expressions, if it is not Carillon's
    #[arg(long, value_enum, value_name = "DIALECT")]
    dialect: Option<DialectFlag>,
}

/// Another scheduler's dialect: weekdays from 1 (Sunday), ranges that wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DialectFlag {
    /// Second, minute, hour, day of month, month, day of week, and optionally a year
    Quartz,
    /// cron(minute hour day-of-month month day-of-week year), rate(5 minutes), at(...)
    Eventbridge,
}

impl DialectFlag {
    pub(super) fn dialect(self) -> Dialect {
        match self {
            Self::Quartz => Dialect::Quartz,
            Self::Eventbridge => Dialect::EventBridge,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum GapFlag {
    Shift,
    Skip,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OverlapFlag {
    First,
    Last,
    Both,
}

/// Defaults for the omitted arguments of a question.
pub(super) struct Defaults<'a> {
    pub(super) tz: &'a str,
    pub(super) now: DateTime<Utc>,
    /// The start, read in the zone of the question.
    from: Option<ParsedTime>,
    pub(super) dst: DstPolicy,
    pub(super) dialect: Option<Dialect>,
}

impl Defaults<'_> {
    /// The instant after which to look for fires if the question gives none: that of the flags,
    /// read in `zone`, or else now.
    pub(super) fn start_in(&self, zone: &str) -> Result<DateTime<Utc>, String> {
        self.from.map_or(Ok(self.now), |from| instant(from, zone, self.now))
    }
}

/// The instant that a text means in the zone of a timing. If the zone does not exist, this returns
/// the current instant, and the calculator reports the zone.
fn instant(when: ParsedTime, zone: &str, now: DateTime<Utc>) -> Result<DateTime<Utc>, String> {
    match when.ahead_in(zone, now) {
        Some(at) => Ok(at),
        None if timetable::wall_clock(zone, now).is_none() => Ok(now),
        None => Err("is too far from now".to_owned()),
    }
}

/// The instant in a batch question.
pub(super) fn read_instant(
    text: &str,
    zone: &str,
    now: DateTime<Utc>,
) -> Result<DateTime<Utc>, String> {
    instant(somewhere(text)?, zone, now)
}

/// Translates an expression to our dialect.
pub(super) fn translated(text: &str, dialect: Option<Dialect>) -> Result<String, String> {
    let Some(dialect) = dialect else { return Ok(text.to_owned()) };
    dialect.translate(text).map_err(|error| format!("expression {text:?}: {error}"))
}

impl Timing {
    /// All arguments except the expressions.
    pub(super) fn defaults(&self) -> Defaults<'_> {
        let (now, dialect) = (Clock::system().now(), self.dialect.map(DialectFlag::dialect));
        Defaults { tz: &self.tz, now, from: self.from, dst: self.policy(), dialect }
    }

    /// The compiled timing, and the instant after which to look.
    pub(super) fn compile(&self) -> Result<(Timetable, DateTime<Utc>), CliError> {
        let dialect = self.dialect.map(DialectFlag::dialect);
        let expressions = self.expressions().iter().map(|text| translated(text, dialect)).collect();
        let expressions: Vec<String> = Result::map_err(expressions, CliError::Timing)?;
        if expressions.is_empty() {
            let text = "give an expression, such as '30 2 * * *'";
            return Err(CliError::Usage(text.to_owned()));
        }
        let defaults = self.defaults();
        let Defaults { tz, dst, .. } = defaults;
        let from = defaults.start_in(tz);
        let from = from.map_err(|problem| CliError::Usage(format!("--from {problem}")))?;
        let definition = definition(&expressions, tz, from, dst);
        let compiled = Timetable::new(&definition);
        Ok((compiled.map_err(|error| CliError::Timing(self.explain(&expressions, &error)))?, from))
    }

    fn expressions(&self) -> Vec<String> {
        self.expression.iter().chain(&self.also).cloned().collect()
    }

    fn policy(&self) -> DstPolicy {
        let gap = match self.dst_gap {
            GapFlag::Shift => Gap::Shift,
            GapFlag::Skip => Gap::Skip,
        };
        let overlap = match self.dst_overlap {
            OverlapFlag::First => Overlap::First,
            OverlapFlag::Last => Overlap::Last,
            OverlapFlag::Both => Overlap::Both,
        };
        DstPolicy { gap, overlap }
    }

    /// The error in terms of the command line, with a mark at the position.
    fn explain(&self, expressions: &[String], error: &TimingError) -> String {
        let index = error
            .field
            .strip_prefix("expressions[")
            .and_then(|rest| rest.strip_suffix(']').and_then(|index| index.parse::<usize>().ok()));
        let (name, text) = match (error.field.as_str(), index) {
            ("zone", _) => ("--tz".to_owned(), Some(&self.tz)),
            (_, Some(0)) if expressions.len() == 1 => {
                ("expression".to_owned(), expressions.first())
            }
            (_, Some(index)) => (format!("expression {}", index + 1), expressions.get(index)),
            (field, None) => (field.to_owned(), None),
        };
        let place = match &error.position {
            Some(position) => format!(" at byte {}", position.start),
            None => String::new(),
        };
        let line = format!("{name} {:?}{place}: {}; {}", error.value, error.problem, error.help);
        let marked = text.zip(error.position.clone()).and_then(|(text, at)| caret::mark(text, at));
        marked.map_or(line.clone(), |marked| format!("{line}\n{marked}"))
    }
}

/// A timing from the command line, as the calculator's definition.
pub(super) fn definition(
    expressions: &[String],
    zone: &str,
    anchor: DateTime<Utc>,
    dst: DstPolicy,
) -> Definition {
    Definition { dst, anchor, ..Definition::new(expressions.to_vec(), zone) }
}

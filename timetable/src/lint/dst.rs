use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

use super::{Subject, Warning, WarningCode, rewrite};
use crate::{
    calendar::DAY,
    definition::{Gap, Overlap},
    describe::{counted, duration, list},
    expression::Unit,
    timetable::Parts,
    zone::{HOUR, Span},
};

/// A clock change further ahead than this is not worth a warning today.
const SOON: i64 = 400 * DAY;

/// Up to this many times are listed one by one; more are only counted.
const NAMED: usize = 3;

/// How far ahead to look for an hour that occurs twice: ten years.
const YEARS: i64 = 3_653 * DAY;

/// A clock that goes forward by this much or more, or back by more, corrects its zone's time. No
/// policy for daylight saving time applies to that.
const CORRECTION: i64 = 3 * HOUR;

/// Warnings about the effect of the next two clock changes on an expression, between the start and
/// the end of the definition.
pub(super) fn changes(subject: &Subject<'_>, parts: &Parts, from: DateTime<Utc>) -> Vec<Warning> {
    let every_hour = subject.pattern.clock.hours.count_ones() == 24;
    // A wildcard of every hour is meant to follow the clock: it loses or repeats only the hours
    // that the clock itself loses or repeats.
    if !subject.pattern.fixed && every_hour {
        return Vec::new();
    }
    let now = from.timestamp();
    // A change at the start itself has an effect.
    let begin = parts.start.map_or(now, |start| now.max(start.timestamp() - 1));
    let mut warnings = Vec::new();
    if every_hour {
        warnings.extend(repeated_hour(subject, parts, begin));
    }
    let mut span = parts.zone.span_at(begin);
    for _ in 0..2 {
        if span.is_last() || span.end > now + SOON || is_over(parts, span.end) {
            break;
        }
        span = parts.zone.span_at(span.end);
        warnings.extend(effect(subject, parts, &span));
    }
    warnings
}

/// Whether the definition has ended before an instant.
fn is_over(parts: &Parts, instant: i64) -> bool {
    parts.end.is_some_and(|end| end.timestamp() < instant)
}

/// The effect on an expression of the clock change that begins a span.
/// An expression of every hour follows the clock and is not affected, unless it gains a fire.
pub(super) fn effect(subject: &Subject<'_>, parts: &Parts, span: &Span) -> Option<Warning> {
    let every_hour = subject.pattern.clock.hours.count_ones() == 24;
    if every_hour && (!subject.pattern.fixed || !adds_a_fire(subject, parts, span)) {
        return None;
    }
    change(subject, parts, span)
}

/// Warns about every hour written as fixed times: the expression looks like
/// a rhythm, but skips an hour that occurs twice.
fn repeated_hour(subject: &Subject<'_>, parts: &Parts, now: i64) -> Option<Warning> {
    if parts.dst.overlap == Overlap::Both {
        return None;
    }
    let mut span = parts.zone.span_at(now);
    while !span.is_last() && span.end <= now + YEARS && !is_over(parts, span.end) {
        span = parts.zone.span_at(span.end);
        let start = span.civil_start();
        let repeats = (-CORRECTION..0).contains(&span.jump_in);
        if repeats && subject.pattern.count(start, start - span.jump_in) > 0 {
            let date = date(start)?;
            return Some(subject.warning(
                WarningCode::SkipsRepeatedHour,
                format!(
                    "it names every hour without `*`, so it is a fixed time: when the clocks go \
                     back, next on {date} in {}, it does not fire in one of the two equal hours",
                    parts.zone.name()
                ),
                rewrite::field(subject.text, Unit::Hour, "*"),
            ));
        }
    }
    None
}

/// Whether an expression of every hour gains a fire: a time in a gap fires at an instant that the
/// expression does not contain. Other effects of the change only reflect the shorter or longer day.
fn adds_a_fire(subject: &Subject<'_>, parts: &Parts, span: &Span) -> bool {
    (1..CORRECTION).contains(&span.jump_in)
        && parts.dst.gap == Gap::Shift
        && !subject.pattern.matches(span.civil_start())
}

/// Which rule applies to fires around a clock change.
enum Rule {
    /// The policy applies to fixed times.
    Policy,
    /// A correction: no policy applies to fixed times.
    Correction,
    /// Wildcard times follow the clock.
    Clock,
}

/// Warns about the effect of the clock change that begins a span.
fn change(subject: &Subject<'_>, parts: &Parts, span: &Span) -> Option<Warning> {
    let gap = span.jump_in > 0;
    // The missing times end where the span starts; the repeated times begin there.
    let (low, high) = if gap {
        (span.civil_start() - span.jump_in, span.civil_start())
    } else {
        (span.civil_start(), span.civil_start() - span.jump_in)
    };
    let count = subject.pattern.count(low, high);
    if count == 0 {
        return None;
    }
    let correction = !(-CORRECTION..CORRECTION).contains(&span.jump_in);
    let rule = match subject.pattern.fixed {
        true if correction => Rule::Correction,
        true => Rule::Policy,
        false => Rule::Clock,
    };
    let (date, zone) = (date(low)?, parts.zone.name());
    let (one, times) = (count == 1, times(subject, low, high)?);
    let what = match (gap, one) {
        (true, true) => format!("{times} does not exist on {date} in {zone}"),
        (true, false) => format!("{times} do not exist on {date} in {zone}"),
        (false, true) => format!("{times} occurs twice on {date} in {zone}"),
        (false, false) => format!("{times} occur twice on {date} in {zone}"),
    };
    let by = duration(span.jump_in.abs());
    let then = match (gap, rule) {
        (true, Rule::Policy) => shifted(subject, parts, span, count)?,
        (true, Rule::Correction) => format!(
            ": the clock is put forward by {by}, a correction for which nothing is made up, so it \
             does not fire then"
        ),
        (true, Rule::Clock) => match day_count(subject, span, low) {
            0 => ", and `*` follows the clock: it does not fire at all on that date".to_owned(),
            left => format!(
                ", and `*` follows the clock: it fires {} on that date",
                counted(left, "time")
            ),
        },
        (false, Rule::Policy) => match parts.dst.overlap {
            Overlap::First => ": it fires the first time only".to_owned(),
            Overlap::Last => ": it fires the second time only".to_owned(),
            Overlap::Both => ": it fires both times".to_owned(),
        },
        (false, Rule::Correction) => format!(
            ": the clock is put back by {by}, a correction after which times fire again, so it \
             fires both times"
        ),
        (false, Rule::Clock) => ", and `*` follows the clock: it fires both times".to_owned(),
    };
    let code = match (gap, subject.pattern.fixed) {
        (true, true) => WarningCode::DstGap,
        (false, true) => WarningCode::DstOverlap,
        (true, false) => WarningCode::WildcardMissesGap,
        (false, false) => WarningCode::WildcardRepeats,
    };
    // Around a correction, fixed times behave no better, so none are suggested.
    let wildcard = !subject.pattern.fixed && !correction;
    let suggestion = if wildcard { without_star(subject) } else { None };
    Some(subject.warning(code, format!("{what}{then}"), suggestion))
}

/// Describes the effect of a gap on fixed times.
fn shifted(subject: &Subject<'_>, parts: &Parts, span: &Span, count: u64) -> Option<String> {
    let start = span.civil_start();
    let mut back = time(start)?;
    // If the gap ends on the next day, the date is named as well.
    let day = date(start)?;
    if date(start - span.jump_in) != Some(day) {
        back = format!("{back} on {day}");
    }
    let once = if count == 1 { "" } else { "once " };
    Some(match parts.dst.gap {
        Gap::Skip => ": it does not fire then".to_owned(),
        Gap::Shift if subject.pattern.matches(start) => {
            format!(": it fires once at {back}, the first instant after the gap, as it does anyway")
        }
        Gap::Shift => {
            format!(": it fires {once}at {back} instead, the first instant after the gap")
        }
    })
}

/// Number of fires on the date of a gap, before and after the gap.
fn day_count(subject: &Subject<'_>, span: &Span, low: i64) -> u64 {
    let midnight = low.div_euclid(DAY) * DAY;
    let before = subject.pattern.count(midnight, low);
    before + subject.pattern.count(span.civil_start(), (midnight + DAY).max(span.civil_start()))
}

/// The expression without `*` in its time of day: as fixed times, it is protected by the policy.
fn without_star(subject: &Subject<'_>) -> Option<String> {
    let mut text = subject.text.to_owned();
    for unit in [Unit::Second, Unit::Minute, Unit::Hour] {
        if subject.cron.field(unit).starred {
            let fixed = match rewrite::typed(&text, unit)?.strip_prefix('*')? {
                "" => format!("0-{}", unit.last()),
                rest => format!("0{rest}"),
            };
            text = rewrite::field(&text, unit, &fixed)?;
        }
    }
    Some(text)
}

/// Describes the matching times in an interval of civil time: one by one, or their number.
fn times(subject: &Subject<'_>, low: i64, high: i64) -> Option<String> {
    let mut named = Vec::new();
    let mut next = low;
    while let Some(civil) = subject.pattern.next(next).filter(|civil| *civil < high) {
        if named.len() == NAMED {
            let count = subject.pattern.count(low, high);
            return Some(format!("{count} times between {} and {}", time(low)?, time(high)?));
        }
        named.push(time(civil)?);
        next = civil + 1;
    }
    Some(list(&named, "and"))
}

fn date(civil: i64) -> Option<NaiveDate> {
    DateTime::from_timestamp(civil, 0).map(|at| at.date_naive())
}

fn time(civil: i64) -> Option<String> {
    let seconds = u32::try_from(civil.rem_euclid(DAY)).ok()?;
    let time = NaiveTime::from_num_seconds_from_midnight_opt(seconds, 0)?;
    let format = if seconds.is_multiple_of(60) { "%H:%M" } else { "%H:%M:%S" };
    Some(time.format(format).to_string())
}

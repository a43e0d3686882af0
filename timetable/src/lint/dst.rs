use chrono::{DateTime, NaiveDate, NaiveTime, Utc};

use super::{Subject, Warning, WarningCode, rewrite};
use crate::{
    calendar::DAY,
    definition::{Gap, Overlap},
    describe::list,
    expression::Unit,
    timetable::Parts,
    zone::{HOUR, Span},
};

/// A clock change further away is not worth a warning today.
const SOON: i64 = 400 * DAY;

/// This many times are named one by one.
const NAMED: usize = 3;

/// What the next two clock changes do to an expression.
pub(super) fn changes(subject: &Subject<'_>, parts: &Parts, from: DateTime<Utc>) -> Vec<Warning> {
    let hours = subject.pattern.clock.hours.count_ones();
    let fixed = subject.pattern.fixed;
    // A wildcard of every hour is meant to follow the clock, and loses and repeats nothing that
    // its rhythm does not.
    if !fixed && hours == 24 {
        return Vec::new();
    }
    if fixed && hours == 24 && parts.zone.keeps_changing() && parts.dst.overlap != Overlap::Both {
        return vec![subject.warning(
            WarningCode::SkipsRepeatedHour,
            "it names every hour without `*`, so it is a fixed time: when the clocks go back, it \
             does not fire in one of the two equal hours"
                .to_owned(),
            rewrite::field(subject.text, Unit::Hour, "*"),
        )];
    }
    let now = from.timestamp();
    let mut span = parts.zone.span_at(now);
    let mut warnings = Vec::new();
    for _ in 0..2 {
        if span.is_last() || span.end > now + SOON {
            break;
        }
        span = parts.zone.span_at(span.end);
        warnings.extend(change(subject, parts, &span));
    }
    warnings
}

/// What the change into a span does.
fn change(subject: &Subject<'_>, parts: &Parts, span: &Span) -> Option<Warning> {
    let gap = span.jump_in > 0;
    // The missing times before the span's first, or the times that come again from it on.
    let (low, high) = if gap {
        (span.civil_start() - span.jump_in, span.civil_start())
    } else {
        (span.civil_start(), span.civil_start() - span.jump_in)
    };
    let count = subject.pattern.count(low, high);
    if count == 0 {
        return None;
    }
    let date = date(low)?;
    let zone = parts.zone.name();
    let (times, verb) = (times(subject, low, high)?, if count == 1 { "does" } else { "do" });
    let back = time(span.civil_start())?;
    let fixed = subject.pattern.fixed && span.jump_in.abs() <= 3 * HOUR;
    let message = match (gap, fixed) {
        (true, true) if span.jump_in < 3 * HOUR && parts.dst.gap == Gap::Shift => format!(
            "{times} {verb} not exist on {date} in {zone}: it fires at {back} instead, the first \
             instant after the gap"
        ),
        (true, true) => {
            format!("{times} {verb} not exist on {date} in {zone}: it does not fire then")
        }
        (true, false) => {
            let left = day_count(subject, span, low);
            let rest = match left {
                0 => "does not fire at all on that date".to_owned(),
                _ => format!("fires {left} times on that date"),
            };
            format!(
                "{times} {verb} not exist on {date} in {zone}, and `*` follows the clock: it {rest}"
            )
        }
        (false, true) => {
            let which = match parts.dst.overlap {
                Overlap::First => "the first time only",
                Overlap::Last => "the second time only",
                Overlap::Both => "both times",
            };
            format!("{times} {} twice on {date} in {zone}: it fires {which}", comes(count))
        }
        (false, false) => format!(
            "{times} {} twice on {date} in {zone}, and `*` follows the clock: it fires both times",
            comes(count)
        ),
    };
    let code = match (gap, subject.pattern.fixed) {
        (true, true) => WarningCode::DstGap,
        (false, true) => WarningCode::DstOverlap,
        (true, false) => WarningCode::WildcardMissesGap,
        (false, false) => WarningCode::WildcardRepeats,
    };
    Some(subject.warning(code, message, if fixed { None } else { without_star(subject) }))
}

fn comes(count: u64) -> &'static str {
    if count == 1 { "comes" } else { "come" }
}

/// How many fires the date has on both sides of a gap.
fn day_count(subject: &Subject<'_>, span: &Span, low: i64) -> u64 {
    let midnight = low.div_euclid(DAY) * DAY;
    let before = subject.pattern.count(midnight, low);
    before + subject.pattern.count(span.civil_start(), (midnight + DAY).max(span.civil_start()))
}

/// The same times without a `*`, which makes them fixed and so protects them.
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

/// The matching times of a stretch of civil time: one by one, or how many.
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

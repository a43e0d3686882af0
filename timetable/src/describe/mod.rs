//! Describes a timetable in words.
//!
//! The words describe the fires, not the typed text: `*/40` in the minute field becomes minutes 0
//! and 40, because "every 40 minutes" would be wrong for an hour of 60.
//!
//! - [`clock`]: describes the time of day.
//! - [`days`]: describes the days, and the rule that joins the two day fields.
//! - [`form`]: the shape of a set of numbers: all, every n-th, a run, a list.
//! - [`words`]: numbers, lists and durations.

mod clock;
mod days;
mod form;
mod words;

pub(crate) use days::{month_name, weekday_name};
pub(crate) use words::{counted, duration, instant, list, ordinal};

use crate::{
    calendar::DAY,
    calendars::{Calendar, CalendarMode},
    definition::{DstPolicy, Gap, Overlap},
    expression::{Cron, Expression, Unit},
    pattern::Clock,
    source::Source,
    timetable::Parts,
    zone::Span,
};

pub(crate) fn describe(parts: &Parts) -> String {
    let mut phrases: Vec<String> = Vec::new();
    for ((_, expression), source) in parts.expressions.iter().zip(&parts.sources) {
        let phrase = phrase(expression, source);
        if !phrases.contains(&phrase) {
            phrases.push(phrase);
        }
    }
    let mut sentences = vec![capital(&phrases.join("; and "))];
    sentences.extend(zone(parts));
    sentences.extend(dst(parts));
    if !parts.jitter.is_zero() {
        let seconds = parts.jitter.as_secs_f64();
        sentences
            .push(format!("Each fire is delayed by up to {seconds} s, always the same for it"));
    }
    sentences.extend(bounds(parts));
    sentences.join(". ") + "."
}

/// Describes the effect of a calendar in a sentence of its own.
pub(crate) fn calendar(calendar: &Calendar) -> String {
    let name = calendar.name();
    match calendar.mode() {
        CalendarMode::Exclude => format!(" Not in the calendar `{name}`."),
        CalendarMode::Only => format!(" Only in the calendar `{name}`."),
    }
}

/// Describes one expression as a phrase that can begin a sentence.
fn phrase(expression: &Expression, source: &Source) -> String {
    match (expression, source) {
        (Expression::Cron(cron), Source::Cron(pattern)) => {
            let when = clock::words(pattern.clock);
            let mut phrase = format!("{when}{}", days::words(cron, pattern));
            if let Some(hashed) = hashed(cron) {
                phrase.push_str(&hashed);
            }
            phrase
        }
        (Expression::Every(seconds), Source::Every(every)) => {
            format!("every {}, counted from {}", duration(*seconds), instant(every.anchor))
        }
        (_, Source::At(at)) => format!("once, at {}", instant(*at)),
        (_, Source::Never) => "only when it is triggered".to_owned(),
        // The expression and the source come from the same text, so both are of the same kind.
        (_, Source::Cron(_) | Source::Every(_)) => String::new(),
    }
}

/// Describes the fields whose value `H` chose.
fn hashed(cron: &Cron) -> Option<String> {
    const UNITS: [Unit; 6] =
        [Unit::Second, Unit::Minute, Unit::Hour, Unit::DayOfMonth, Unit::Month, Unit::DayOfWeek];
    let chosen = UNITS.iter().filter(|unit| cron.field(**unit).hashed);
    let names: Vec<String> = chosen.map(|unit| unit.name().to_owned()).collect();
    (!names.is_empty())
        .then(|| format!(" (by `H`, the schedule's identity chose the {})", list(&names, "and")))
}

fn zone(parts: &Parts) -> Option<String> {
    let civil = parts.sources.iter().any(|source| matches!(source, Source::Cron(_)));
    civil.then(|| format!("Times are those of {}", parts.zone.name()))
}

/// Describes the effect of clock changes, if the zone has one that can affect an expression.
fn dst(parts: &Parts) -> Option<String> {
    let changes = parts.zone.yearly_changes()?;
    let touched = |fixed: bool| {
        parts.sources.iter().any(|source| match source {
            // A rhythm through all hours follows the clock, which needs no explanation.
            Source::Cron(pattern) => {
                let restricted = fixed || pattern.clock.hours.count_ones() < 24;
                pattern.fixed == fixed
                    && restricted
                    && changes.iter().any(|span| touches(pattern.clock, span))
            }
            Source::Every(_) | Source::At(_) | Source::Never => false,
        })
    };
    let following = "a time that does not exist does not fire, a time that occurs twice fires \
                     twice";
    match (touched(true), touched(false)) {
        (false, false) => None,
        (false, true) => Some(format!("When the clocks change it follows them: {following}")),
        (true, false) => Some(policy(parts.dst)),
        (true, true) => Some(format!(
            "{}; times written with `*` follow the clock: {following}",
            policy(parts.dst)
        )),
    }
}

/// Whether a time of day lies where the change into a span skips or repeats times.
fn touches(clock: Clock, span: &Span) -> bool {
    let low = (span.civil_start() - span.jump_in.max(0)).rem_euclid(DAY);
    let high = low + span.jump_in.abs();
    // The skipped or repeated times may cross midnight:
    // check the part before it and the part after it.
    clock.before(high.min(DAY)) > clock.before(low) || (high > DAY && clock.before(high - DAY) > 0)
}

fn policy(dst: DstPolicy) -> String {
    let gap = match dst.gap {
        Gap::Shift => "fires at the first instant after the gap",
        Gap::Skip => "does not fire",
    };
    let overlap = match dst.overlap {
        Overlap::First => "the first time only",
        Overlap::Last => "the second time only",
        Overlap::Both => "both times",
    };
    format!(
        "When the clocks go forward, a time that does not exist {gap}; when they go back, a time \
         that occurs twice fires {overlap}"
    )
}

fn bounds(parts: &Parts) -> Option<String> {
    let words = |at: chrono::DateTime<chrono::Utc>| instant(at.timestamp_millis());
    match (parts.start.map(words), parts.end.map(words)) {
        (None, None) => None,
        (Some(start), None) => Some(format!("Not before {start}")),
        (None, Some(end)) => Some(format!("Only before {end}")),
        (Some(start), Some(end)) => Some(format!("From {start} on and before {end}")),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

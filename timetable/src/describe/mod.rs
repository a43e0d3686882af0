//! A timetable in words.
//!
//! The words describe the fires, not the text that was typed: `*/40` in the minute field becomes
//! minutes 0 and 40, because "every 40 minutes" would be wrong for an hour of 60.
//!
//! - [`clock`]: the time of day.
//! - [`days`]: the days, and the rule that joins the two day fields.
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

/// The effect of a calendar, as an additional sentence.
pub(crate) fn calendar(calendar: &Calendar) -> String {
    let name = calendar.name();
    match calendar.mode() {
        CalendarMode::Exclude => format!(" Not in the calendar `{name}`."),
        CalendarMode::Only => format!(" Only in the calendar `{name}`."),
    }
}

/// One expression, as a phrase that can begin a sentence.
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
        // Both come from the same text, so they are of one kind.
        (_, Source::Cron(_) | Source::Every(_)) => String::new(),
    }
}

/// The fields whose value `H` chose.
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

/// The effect of clock changes, if one of the zone's changes can affect one of the times.
fn dst(parts: &Parts) -> Option<String> {
    let changes = parts.zone.yearly_changes()?;
    let touched = |fixed: bool| {
        parts.sources.iter().any(|source| match source {
            // A rhythm through all hours simply follows the clock, as everyone expects.
            Source::Cron(pattern) => {
                let restricted = fixed || pattern.clock.hours.count_ones() < 24;
                pattern.fixed == fixed
                    && restricted
                    && changes.iter().any(|span| touches(pattern.clock, span))
            }
            Source::Every(_) | Source::At(_) | Source::Never => false,
        })
    };
    let following = "what does not exist does not fire, what comes twice fires twice";
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
    // The part before midnight, and the part after it.
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
         that comes twice fires {overlap}"
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

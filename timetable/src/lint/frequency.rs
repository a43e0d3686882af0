use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use super::{Warning, WarningCode};
use crate::{
    calendar::DAY,
    describe::duration,
    fire::Fire,
    source::Source,
    timetable::{Parts, Timetable},
};

/// Minimum number of fires a day that counts as often: one every five seconds.
const OFTEN: u64 = 17_280;

/// A gap between two fires that is longer than this is worth a warning.
const RARE: TimeDelta = TimeDelta::days(367);

/// Maximum number of fires examined to compare the jitter with the time between fires.
const SEARCHES: usize = 256;

/// A moment before every instant that a definition can contain, in milliseconds.
const BEGINNING: i64 = DateTime::<Utc>::MIN_UTC.timestamp_millis();

/// Warnings about the whole definition; `first` is its next fire.
pub(super) fn whole(timetable: &Timetable, parts: &Parts, first: Fire) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let Some(second) = timetable.next(first.at) else {
        return warnings;
    };
    let between = second.at - first.at;
    if between > RARE {
        warnings.push(Warning {
            code: WarningCode::FiresRarely,
            message: format!(
                "it fires rarely: the next two fires are {} and {}",
                first.local.date(),
                second.local.date()
            ),
            field: "expressions".to_owned(),
            suggestion: None,
        });
    }
    warnings.extend(jitter(timetable, parts, first));
    warnings
}

/// Warns about a jitter that is longer than the shortest time between two of the next fires.
fn jitter(timetable: &Timetable, parts: &Parts, first: Fire) -> Option<Warning> {
    let jitter = TimeDelta::from_std(parts.jitter).unwrap_or(TimeDelta::MAX);
    if jitter.is_zero() {
        return None;
    }
    // Finding a fire may search every expression, so more
    // expressions mean that fewer fires are examined.
    let ahead =
        timetable.fires(first.at, DateTime::<Utc>::MAX_UTC).take(SEARCHES / parts.sources.len());
    let mut before = first;
    let mut shortest: Option<(TimeDelta, Fire, Fire)> = None;
    for fire in ahead {
        let between = fire.at - before.at;
        if shortest.is_none_or(|(known, ..)| between < known) {
            shortest = Some((between, before, fire));
        }
        before = fire;
    }
    let (between, one, other) = shortest.filter(|(between, ..)| jitter > *between)?;
    let seconds = between.num_seconds().max(1);
    Some(Warning {
        code: WarningCode::JitterOverlaps,
        message: format!(
            "the jitter of {} is longer than the {} between the fires at {} and {}; no fire waits \
             beyond the next one",
            duration(jitter.num_seconds()),
            duration(seconds),
            one.local,
            other.local,
        ),
        field: "jitter".to_owned(),
        suggestion: Some(format!("{seconds} s")),
    })
}

/// Says why nothing fires after `from`: the definition's start or end
/// prevents it, or none of its instants are left.
pub(super) fn never(timetable: &Timetable, parts: &Parts, from: DateTime<Utc>) -> Warning {
    let bounds = |field: &str, message: String| Warning {
        code: WarningCode::OutsideBounds,
        message,
        field: field.to_owned(),
        suggestion: None,
    };
    let fires_after = |at: DateTime<Utc>| {
        let ms = at.timestamp_millis();
        parts.sources.iter().any(|source| source.next(&parts.zone, parts.dst, ms).is_some())
    };
    let start = parts.start.filter(|start| *start > from);
    // Searches look strictly after an instant, and a fire at the start itself is allowed.
    let behind = start.map_or(from, |start| start - TimeDelta::milliseconds(1));
    if let Some(end) = parts.end
        && fires_after(behind)
    {
        let end = words(end);
        let message = match (timetable.last(from, DateTime::<Utc>::MIN_UTC), parts.start) {
            (Some(last), _) => {
                format!(
                    "it never fires again: it ends at {end}, and its last fire was {}",
                    words(last.at)
                )
            }
            (None, Some(start)) => format!(
                "it never fires: no instant that it names lies between its start, {}, and its end, \
                 {end}",
                words(start)
            ),
            (None, None) => {
                format!("it never fires: no instant that it names lies before its end, {end}")
            }
        };
        return bounds("end", message);
    }
    let last_named = |to: DateTime<Utc>| {
        let previous = |source: &Source| {
            source.previous(&parts.zone, parts.dst, to.timestamp_millis(), BEGINNING)
        };
        let last = parts.sources.iter().filter_map(previous).max_by_key(|moment| moment.at);
        last.and_then(|moment| DateTime::from_timestamp_millis(moment.at)).map(words)
    };
    if let Some(start) = start
        && let Some(last) = last_named(behind).filter(|_| fires_after(from))
    {
        let start = words(start);
        return bounds(
            "start",
            format!(
                "it never fires: the last instant that it names, {last}, lies before its start, {start}"
            ),
        );
    }
    let past =
        last_named(from).map_or("there was none".to_owned(), |last| format!("the last was {last}"));
    Warning {
        code: WarningCode::NeverFires,
        message: format!("it will never fire: every instant that it names is past; {past}"),
        field: "expressions".to_owned(),
        suggestion: None,
    }
}

fn words(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// Warns about an expression that alone causes a considerable load.
pub(super) fn often(field: &str, source: &Source, from: DateTime<Utc>) -> Option<Warning> {
    let a_day = match source {
        Source::Cron(pattern) => pattern.clock.per_day(),
        Source::Every(every) => u64::try_from(86_400_000 / every.interval).unwrap_or(0),
        Source::At(_) | Source::Never => 0,
    };
    if a_day < OFTEN {
        return None;
    }
    let today = from.timestamp().div_euclid(DAY);
    let days = match source {
        Source::Cron(pattern) => pattern.days.count(today, today + 365),
        Source::Every(_) | Source::At(_) | Source::Never => 365,
    };
    let when = match days {
        365 => "a day".to_owned(),
        _ => format!("on every day that it names, {days} in the next 365"),
    };
    Some(Warning {
        code: WarningCode::FiresOften,
        message: format!("it fires {a_day} times {when}, and every fire is a run with a history"),
        field: field.to_owned(),
        suggestion: None,
    })
}

/// Warns about an expression that fires exactly when an earlier one does.
pub(super) fn duplicate(field: &str, parts: &Parts, index: usize) -> Option<Warning> {
    let same = |other: &Source| match (other, &parts.sources[index]) {
        (Source::Cron(a), Source::Cron(b)) => a == b,
        (Source::Every(a), Source::Every(b)) => a == b,
        (Source::At(a), Source::At(b)) => a == b,
        (Source::Cron(_) | Source::Every(_) | Source::At(_) | Source::Never, _) => false,
    };
    let twin = parts.sources[..index].iter().position(same)?;
    Some(Warning {
        code: WarningCode::Duplicate,
        message: format!("it adds nothing: it fires exactly when expressions[{twin}] does"),
        field: field.to_owned(),
        suggestion: None,
    })
}

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use super::{Warning, WarningCode};
use crate::{
    describe::duration,
    source::Source,
    timetable::{Parts, Timetable},
};

/// From this many fires a day on: one in five seconds.
const OFTEN: u64 = 17_280;

/// A longer time between two fires is worth a remark.
const RARE: TimeDelta = TimeDelta::days(367);

/// What holds for the whole definition.
pub(super) fn whole(timetable: &Timetable, parts: &Parts, from: DateTime<Utc>) -> Vec<Warning> {
    let Some(first) = timetable.next(from) else {
        return vec![never(timetable, parts, from)];
    };
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
    let jitter = TimeDelta::from_std(parts.jitter).unwrap_or(TimeDelta::MAX);
    if jitter > between {
        warnings.push(Warning {
            code: WarningCode::JitterOverlaps,
            message: format!(
                "the jitter of {} is longer than the {} between the next two fires; no fire waits \
                 beyond the next one",
                duration(jitter.num_seconds()),
                duration(between.num_seconds().max(1)),
            ),
            field: "jitter".to_owned(),
            suggestion: Some(format!("at most {} s", between.num_seconds().max(1))),
        });
    }
    warnings
}

/// Why nothing fires after `from`.
fn never(timetable: &Timetable, parts: &Parts, from: DateTime<Utc>) -> Warning {
    let words = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::AutoSi, true);
    let ms = from.max(parts.start.unwrap_or(from)).timestamp_millis();
    let otherwise = parts.sources.iter().any(|s| s.next(&parts.zone, parts.dst, ms).is_some());
    let past = match timetable.last(from, DateTime::<Utc>::MIN_UTC) {
        Some(last) => format!("the last was {}", words(last.at)),
        None => "there was none".to_owned(),
    };
    match parts.end {
        Some(end) if otherwise => Warning {
            code: WarningCode::OutsideBounds,
            message: format!("it never fires again, because it ends before {}: {past}", words(end)),
            field: "end".to_owned(),
            suggestion: None,
        },
        _ => Warning {
            code: WarningCode::NeverFires,
            message: format!("it will never fire: every instant that it names is past; {past}"),
            field: "expressions".to_owned(),
            suggestion: None,
        },
    }
}

/// An expression that is a load of its own.
pub(super) fn often(field: &str, source: &Source) -> Option<Warning> {
    let a_day = match source {
        Source::Cron(pattern) => pattern.clock.per_day(),
        Source::Every(every) => u64::try_from(86_400_000 / every.interval).unwrap_or(0),
        Source::At(_) => 0,
    };
    (a_day >= OFTEN).then(|| Warning {
        code: WarningCode::FiresOften,
        message: format!("it fires {a_day} times a day, and every fire is a run with a history"),
        field: field.to_owned(),
        suggestion: None,
    })
}

/// An expression that fires exactly when an earlier one does.
pub(super) fn duplicate(field: &str, parts: &Parts, index: usize) -> Option<Warning> {
    let same = |other: &Source| match (other, &parts.sources[index]) {
        (Source::Cron(a), Source::Cron(b)) => a == b,
        (Source::Every(a), Source::Every(b)) => a == b,
        (Source::At(a), Source::At(b)) => a == b,
        (Source::Cron(_) | Source::Every(_) | Source::At(_), _) => false,
    };
    let twin = parts.sources[..index].iter().position(same)?;
    Some(Warning {
        code: WarningCode::Duplicate,
        message: format!("it adds nothing: it fires exactly when expressions[{twin}] does"),
        field: field.to_owned(),
        suggestion: None,
    })
}

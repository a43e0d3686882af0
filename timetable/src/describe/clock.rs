use super::{
    form::{Form, values},
    words::{list, ordinal},
};
use crate::pattern::Clock;

/// If more times of day than this match, the fields are described instead of the times.
const NAMED: u64 = 6;

/// Whether the words describe a rhythm around the clock that is the same every day.
pub(super) fn around(clock: Clock) -> bool {
    !named(clock) && matches!(Form::of(values(clock.hours), 24), Form::All | Form::Even(_))
}

fn named(clock: Clock) -> bool {
    clock.per_day() <= NAMED && clock.seconds.count_ones() == 1
}

/// Describes the time of day: `at 02:30`, `every 15 minutes from 09:00 to 17:59`.
pub(super) fn words(clock: Clock) -> String {
    if named(clock) {
        return format!("at {}", list(&times(clock), "and"));
    }
    let second = Form::of(values(clock.seconds), 60);
    let minute = Form::of(values(clock.minutes), 60);
    let hour = Form::of(values(clock.hours), 24);
    match second {
        // A single second is named only if it is not second 0.
        Form::List(ref seconds) if seconds.len() == 1 => {
            let at =
                if seconds[0] == 0 { String::new() } else { format!(" at second {}", seconds[0]) };
            format!("{}{at}", minutes(&minute, &hour))
        }
        Form::All | Form::Even(_) | Form::Run(..) | Form::Steps(..) | Form::List(_) => {
            // A rhythm that fills the whole minute (`All`,
            // `Even`) is described without "of every minute".
            let of = match (&second, &minute) {
                (Form::Run(..) | Form::Steps(..) | Form::List(_), Form::All) => " of every minute",
                _ => "",
            };
            format!("{}{of}{}", count("second", &second), within(&minute, &hour))
        }
    }
}

/// The matching times of day, with seconds if any time has a second other than 0.
fn times(clock: Clock) -> Vec<String> {
    let mut times = Vec::new();
    for hour in values(clock.hours) {
        for minute in values(clock.minutes) {
            for second in values(clock.seconds) {
                times.push(match second {
                    0 => format!("{hour:02}:{minute:02}"),
                    _ => format!("{hour:02}:{minute:02}:{second:02}"),
                });
            }
        }
    }
    times
}

/// Describes an interval in a unit: `every minute`, `every 15 minutes`.
fn count(unit: &str, form: &Form) -> String {
    match form {
        Form::All | Form::Even(1) => format!("every {unit}"),
        Form::Even(step) => format!("every {step} {unit}s"),
        Form::Run(first, last) => format!("every {unit} from {unit} {first} to {last}"),
        Form::Steps(first, last, step) => {
            format!("every {step} {unit}s from {unit} {first} to {last}")
        }
        Form::List(values) => format!("at {}", numbers(unit, values)),
    }
}

/// Describes the minutes and hours at which the expression fires.
fn minutes(minute: &Form, hour: &Form) -> String {
    match (minute, hour) {
        // Minute 0 alone: the expression fires on the hour.
        (Form::List(minutes), Form::All | Form::Even(_)) if minutes[..] == [0] => {
            count("hour", hour)
        }
        (Form::List(minutes), Form::Run(first, last)) if minutes.len() == 1 => {
            let minute = minutes[0];
            format!("every hour from {first:02}:{minute:02} to {last:02}:{minute:02}")
        }
        (Form::List(minutes), Form::Steps(first, last, step)) if minutes.len() == 1 => {
            let minute = minutes[0];
            format!("every {step} hours from {first:02}:{minute:02} to {last:02}:{minute:02}")
        }
        (Form::List(minutes), Form::Even(step)) if minutes.len() == 1 => {
            let (minute, last) = (minutes[0], 24 - step);
            format!("every {step} hours from 00:{minute:02} to {last:02}:{minute:02}")
        }
        (Form::All | Form::Even(_), Form::List(hours)) if hours.len() == 1 => {
            let hour = hours[0];
            format!("{} from {hour:02}:00 to {hour:02}:59", count("minute", minute))
        }
        (Form::All | Form::Even(_), Form::All) => count("minute", minute),
        (Form::All | Form::Even(_), Form::Run(first, last)) => {
            format!("{} from {first:02}:00 to {last:02}:59", count("minute", minute))
        }
        _ => format!("{} of {}", count("minute", minute), hours(hour)),
    }
}

/// Describes the minutes and hours during which the expression fires every few seconds.
fn within(minute: &Form, hour: &Form) -> String {
    match (minute, hour) {
        (Form::All, Form::All) => String::new(),
        (Form::All, Form::Run(first, last)) => format!(" from {first:02}:00 to {last:02}:59"),
        (Form::All, Form::List(hours)) if hours.len() == 1 => {
            format!(" from {0:02}:00 to {0:02}:59", hours[0])
        }
        (Form::All, hour) => format!(" of {}", hours(hour)),
        (Form::List(minutes), hour) => {
            format!(" of {} of {}", numbers("minute", minutes), hours(hour))
        }
        (Form::Even(step), hour) => {
            format!(" of every {} minute from 0 of {}", ordinal(*step), hours(hour))
        }
        (Form::Run(..) | Form::Steps(..), hour) => {
            format!(" of {} of {}", count("minute", minute), hours(hour))
        }
    }
}

fn hours(hour: &Form) -> String {
    match hour {
        Form::All => "every hour".to_owned(),
        Form::Even(step) => format!("every {} hour from 0", ordinal(*step)),
        Form::Run(first, last) => format!("every hour from {first} to {last}"),
        Form::Steps(first, last, step) => {
            format!("every {} hour from {first} to {last}", ordinal(*step))
        }
        Form::List(values) => numbers("hour", values),
    }
}

/// Describes numbers: `minute 5`, `minutes 5, 20 and 35`, `hours 8 to 18 and 20`.
fn numbers(unit: &str, values: &[u16]) -> String {
    let plural = if values.len() == 1 { "" } else { "s" };
    let runs = values.chunk_by(|a, b| a + 1 == *b);
    let words: Vec<String> = runs
        .flat_map(|run| match run {
            [first, _, .., last] => vec![format!("{first} to {last}")],
            few => few.iter().map(u16::to_string).collect(),
        })
        .collect();
    format!("{unit}{plural} {}", list(&words, "and"))
}

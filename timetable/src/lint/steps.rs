use super::{Subject, Warning, WarningCode, rewrite};
use crate::expression::{Item, Unit};

/// Fields that begin anew, and how many values they have.
const CYCLES: [(Unit, u16, &str); 4] = [
    (Unit::Second, 60, "minute"),
    (Unit::Minute, 60, "hour"),
    (Unit::Hour, 24, "day"),
    (Unit::Month, 12, "year"),
];

/// Steps over a whole field that do not divide it.
pub(super) fn uneven(subject: &Subject<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (unit, size, cycle) in CYCLES {
        let [Item::Any { step: Some(step) }] = subject.cron.field(unit).items[..] else {
            continue;
        };
        let name = unit.name();
        if step >= size {
            warnings.push(subject.warning(
                WarningCode::StepTooLarge,
                format!(
                    "a step of {step} {name}s is longer than the {cycle}: only the first fires"
                ),
                rewrite::field(subject.text, unit, &unit.values().start().to_string()),
            ));
        } else if size % step != 0 {
            let rest = size - (size - 1) / step * step;
            warnings.push(subject.warning(
                WarningCode::UnevenStep,
                format!(
                    "`*/{step}` begins anew with every {cycle}: the last step of the {cycle} is \
                     {rest} {name}{} long, not {step}",
                    if rest == 1 { "" } else { "s" }
                ),
                suggestion(subject, unit, size, step),
            ));
        }
    }
    warnings.extend(days(subject));
    warnings
}

/// Days in steps begin anew with the month, which has no fixed length, and weekdays with the week,
/// which seven steps divide only by one.
fn days(subject: &Subject<'_>) -> Option<Warning> {
    let step = |unit: Unit| match subject.cron.field(unit).items[..] {
        [Item::Any { step: Some(step @ 2..) }] => Some(step),
        _ => None,
    };
    if let Some(step) = step(Unit::DayOfMonth) {
        return Some(subject.warning(
            WarningCode::UnevenStep,
            format!(
                "`*/{step}` begins anew on the 1st of every month, so the step over the end of a \
                 month is shorter or longer than {step} days"
            ),
            None,
        ));
    }
    let step = step(Unit::DayOfWeek).filter(|step| *step < 7)?;
    Some(subject.warning(
        WarningCode::UnevenStep,
        format!(
            "`*/{step}` begins anew on Sunday, so the step over the weekend is not {step} days"
        ),
        None,
    ))
}

/// An interval, where the step is the only restriction; otherwise the nearest step that divides.
fn suggestion(subject: &Subject<'_>, unit: Unit, size: u16, step: u16) -> Option<String> {
    let free = |unit: &Unit| subject.cron.field(*unit).any();
    let days = [Unit::DayOfMonth, Unit::Month, Unit::DayOfWeek, Unit::Year].iter().all(free);
    match unit {
        Unit::Minute if days && free(&Unit::Hour) => Some(format!("@every {step}m")),
        Unit::Hour if days => Some(format!("@every {step}h")),
        Unit::Second
        | Unit::Minute
        | Unit::Hour
        | Unit::DayOfMonth
        | Unit::Month
        | Unit::DayOfWeek
        | Unit::Year => {
            let nearest =
                (1..size).filter(|n| size.is_multiple_of(*n)).min_by_key(|n| n.abs_diff(step))?;
            rewrite::field(subject.text, unit, &format!("*/{nearest}"))
        }
    }
}

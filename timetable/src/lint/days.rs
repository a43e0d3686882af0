use chrono::{DateTime, Utc};

use super::{Subject, Warning, WarningCode, rewrite};
use crate::{
    calendar::DAY,
    describe::{counted, list, month_name},
    expression::{Item, Unit},
};

/// Warns if both day fields are restricted: says which rule joins them, and the resulting days.
pub(super) fn joined(subject: &Subject<'_>, from: DateTime<Utc>) -> Option<Warning> {
    let restricted = |unit| !subject.cron.field(unit).any();
    if !restricted(Unit::DayOfMonth) || !restricted(Unit::DayOfWeek) {
        return None;
    }
    let today = from.timestamp().div_euclid(DAY);
    let days = counted(subject.pattern.days.count(today, today + 365), "day");
    let (month, week) = (
        rewrite::typed(subject.text, Unit::DayOfMonth)?,
        rewrite::typed(subject.text, Unit::DayOfWeek)?,
    );
    Some(if subject.cron.field(Unit::DayOfWeek).both {
        // The user asked explicitly for both fields to match.
        return None;
    } else if subject.cron.both_days() {
        subject.warning(
            WarningCode::BothDays,
            format!(
                "day of month `{month}` and day of week `{week}` must both match, because one of \
                 them begins with `*`: {days} in the next 365"
            ),
            None,
        )
    } else {
        subject.warning(
            WarningCode::EitherDay,
            format!(
                "day of month `{month}` or day of week `{week}`: either will do, which is {days} \
                 in the next 365; put `+` in front of the day of week if both must match"
            ),
            // The two may never coincide, and a suggestion must itself be accepted.
            rewrite::field(subject.text, Unit::DayOfWeek, &format!("+{week}"))
                .filter(|text| subject.accepts(text)),
        )
    })
}

/// Warns about a day that some of the specified months do not have.
pub(super) fn short_months(subject: &Subject<'_>) -> Option<Warning> {
    let (month, week) = (subject.cron.field(Unit::DayOfMonth), subject.cron.field(Unit::DayOfWeek));
    let [Item::Value(day @ 29..)] = month.items[..] else {
        return None;
    };
    // 29 February exists in all of the specified years if they are all leap years.
    if !week.any() || (day == 29 && !subject.cron.field(Unit::Year).any()) {
        return None;
    }
    let without: Vec<String> = subject
        .pattern
        .days
        .months_without(day)
        .map(|number| month_name(number).to_owned())
        .collect();
    (!without.is_empty()).then(|| {
        let (verb, then) = if without.len() == 1 { ("has", "then") } else { ("have", "in them") };
        // The 30th and the 31st are missing in leap years as well.
        let when = if day == 29 { " in a common year" } else { "" };
        subject.warning(
            WarningCode::SkipsMonths,
            format!(
                "{} {verb} no day {day}{when}, so it does not fire {then}; the last day of a \
                 month is `L`",
                list(&without, "and")
            ),
            rewrite::field(subject.text, Unit::DayOfMonth, "L"),
        )
    })
}

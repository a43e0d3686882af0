use chrono::{DateTime, Utc};

use super::{Subject, Warning, WarningCode, rewrite};
use crate::{
    calendar::DAY,
    expression::{Item, Unit},
};

/// Both day fields are restricted: which rule joins them, and what that comes to.
pub(super) fn joined(subject: &Subject<'_>, from: DateTime<Utc>) -> Option<Warning> {
    let restricted = |unit| !subject.cron.field(unit).any();
    if !restricted(Unit::DayOfMonth) || !restricted(Unit::DayOfWeek) {
        return None;
    }
    let today = from.timestamp().div_euclid(DAY);
    let days = subject.pattern.days.count(today, today + 365);
    let (month, week) = (
        rewrite::typed(subject.text, Unit::DayOfMonth)?,
        rewrite::typed(subject.text, Unit::DayOfWeek)?,
    );
    Some(if subject.cron.field(Unit::DayOfWeek).both {
        // Asked for in so many words.
        return None;
    } else if subject.cron.both_days() {
        subject.warning(
            WarningCode::BothDays,
            format!(
                "day of month `{month}` and day of week `{week}` must both match, because one of \
                 them begins with `*`: {days} days in the next 365"
            ),
            None,
        )
    } else {
        subject.warning(
            WarningCode::EitherDay,
            format!(
                "day of month `{month}` or day of week `{week}`: either will do, which is {days} \
                 days in the next 365; put `+` in front of the day of week if both must match"
            ),
            rewrite::field(subject.text, Unit::DayOfWeek, &format!("+{week}")),
        )
    })
}

/// Only days that some of the named months do not have.
pub(super) fn short_months(subject: &Subject<'_>) -> Option<Warning> {
    let (month, week) = (subject.cron.field(Unit::DayOfMonth), subject.cron.field(Unit::DayOfWeek));
    let [Item::Value(day @ 29..)] = month.items[..] else {
        return None;
    };
    if !week.any() {
        return None;
    }
    let without = subject.pattern.days.months_without(day);
    (without > 0).then(|| {
        subject.warning(
            WarningCode::SkipsMonths,
            format!(
                "it does not fire in months without a day {day}, in a common year {without} of \
                 those that it names; the last day of every month is `L`"
            ),
            rewrite::field(subject.text, Unit::DayOfMonth, "L"),
        )
    })
}

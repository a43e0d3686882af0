use super::{Subject, Warning, WarningCode, rewrite};
use crate::{
    describe::{counted, ordinal, weekday_name},
    expression::Unit,
};

/// Fields that start over, their number of values, and the unit with which they start over.
/// A month has no fixed length; the number is that of the longest.
const CYCLES: [(Unit, u16, &str); 6] = [
    (Unit::Second, 60, "minute"),
    (Unit::Minute, 60, "hour"),
    (Unit::Hour, 24, "day"),
    (Unit::Month, 12, "year"),
    (Unit::DayOfMonth, 31, "month"),
    (Unit::DayOfWeek, 7, "week"),
];

/// A field whose only item has steps.
struct Steps<'a> {
    unit: Unit,
    size: u16,
    cycle: &'static str,
    /// The typed text: the part before the slash, and the whole item.
    head: &'a str,
    typed: &'a str,
    low: u16,
    high: u16,
    step: u16,
}

/// Warns about steps that do not divide their range.
pub(super) fn uneven(subject: &Subject<'_>) -> Vec<Warning> {
    let judge = |steps: Steps<'_>| steps.too_large(subject).or_else(|| steps.uneven(subject));
    let cycles = CYCLES.into_iter();
    let cycles = cycles.filter_map(|(unit, size, cycle)| Steps::of(subject, unit, size, cycle));
    cycles.filter_map(judge).collect()
}

impl<'a> Steps<'a> {
    fn of(subject: &Subject<'a>, unit: Unit, size: u16, cycle: &'static str) -> Option<Self> {
        let field = subject.cron.field(unit);
        let [item] = field.items[..] else {
            return None;
        };
        let typed = rewrite::typed(subject.text, unit)?.trim_start_matches('+');
        let (head, _) = typed.split_once('/')?;
        // The start of an `H` over part of the field differs from schedule to schedule.
        if head.contains('(') {
            return None;
        }
        let (low, high, step) = item.run(unit)?;
        Some(Steps { unit, size, cycle, head, typed, low, high, step })
    }

    /// Whether the steps run through the whole field.
    /// `9-17/2` and `30/10` are windows, whose ends were chosen by the user.
    fn whole(&self) -> bool {
        self.high >= self.unit.last() && self.low - self.unit.first_in_steps() < self.step
    }

    fn too_large(&self, subject: &Subject<'_>) -> Option<Warning> {
        let Steps { unit, low, high, step, cycle, .. } = *self;
        let noun = unit.noun();
        if step <= high - low {
            return None;
        }
        // A step of all sixty minutes means once an hour, exactly as intended.
        // Months differ in length.
        if self.whole() && step == self.size && unit != Unit::DayOfMonth {
            return None;
        }
        let message = if step > self.size || unit == Unit::DayOfMonth && step == self.size {
            let than = if step > self.size { "longer than" } else { "as long as" };
            format!(
                "a step of {} is {than} the {cycle}: only the first fires",
                counted(step.into(), noun)
            )
        } else {
            format!(
                "a step of {} from {low} leads past {high}: only {low} fires",
                counted(step.into(), noun)
            )
        };
        let hashed = subject.cron.field(unit).hashed;
        let one = if hashed { self.head.to_owned() } else { low.to_string() };
        let plus = if subject.cron.field(unit).both { "+" } else { "" };
        let suggestion = if loosens(subject, unit) {
            None
        } else {
            rewrite::field(subject.text, unit, &format!("{plus}{one}"))
        };
        Some(subject.warning(WarningCode::StepTooLarge, message, suggestion))
    }

    fn uneven(&self, subject: &Subject<'_>) -> Option<Warning> {
        let Steps { unit, size, low, step, cycle, typed, .. } = *self;
        if !self.whole() || step == 1 {
            return None;
        }
        // Sunday counts once, as the first or the last day of the week.
        let high = self.high.min(low + size - 1);
        let rest = low + size - (low + (high - low) / step * step);
        if rest == step && unit != Unit::DayOfMonth {
            return None;
        }
        let message = match unit {
            Unit::DayOfMonth => format!(
                "`{typed}` starts over on the {} of every month, so the step over the end of a \
                 month is shorter or longer than {step} days",
                ordinal(low)
            ),
            Unit::DayOfWeek => format!(
                "`{typed}` starts over every {}, so the step over the end of the week is {} long, \
                 not {step}",
                weekday_name(low),
                counted(rest.into(), "day")
            ),
            Unit::Second | Unit::Minute | Unit::Hour | Unit::Month | Unit::Year => format!(
                "`{typed}` starts over with every {cycle}: the last step of the {cycle} is {} \
                 long, not {step}",
                counted(rest.into(), unit.noun())
            ),
        };
        Some(subject.warning(WarningCode::UnevenStep, message, self.even(subject)))
    }

    /// Suggests an interval if the step is the only restriction, otherwise
    /// the nearest step that divides the field evenly.
    fn even(&self, subject: &Subject<'_>) -> Option<String> {
        let Steps { unit, size, low, step, head, .. } = *self;
        let free = |unit: Unit| subject.cron.field(unit).any();
        let clock = subject.pattern.clock;
        let (one_second, one_minute) =
            (clock.seconds.count_ones() == 1, clock.minutes.count_ones() == 1);
        let days = [Unit::DayOfMonth, Unit::Month, Unit::DayOfWeek, Unit::Year];
        let interval = match unit {
            // No step divides a month or a week evenly.
            Unit::DayOfMonth | Unit::DayOfWeek => return None,
            Unit::Second => free(Unit::Minute) && free(Unit::Hour),
            Unit::Minute => free(Unit::Hour) && one_second,
            Unit::Hour => one_minute && one_second,
            Unit::Month | Unit::Year => false,
        };
        if interval && days.into_iter().all(free) {
            let letter = unit.name().get(..1)?;
            return Some(format!("@every {step}{letter}"));
        }
        let divisors = (1..=size).filter(|n| size.is_multiple_of(*n));
        let nearest = divisors.min_by_key(|n| n.abs_diff(step))?;
        let first = unit.first_in_steps();
        let low = first + (low - first) % nearest;
        let named = subject.cron.field(unit).hashed || head == "*";
        let text = match (named, head.split_once('-')) {
            (true, _) if nearest == size && head == "*" => first.to_string(),
            (true, _) if nearest == size => head.to_owned(),
            (true, _) => format!("{head}/{nearest}"),
            (false, _) if nearest == size => low.to_string(),
            (false, Some((_, high))) => format!("{low}-{high}/{nearest}"),
            (false, None) => format!("{low}/{nearest}"),
        };
        rewrite::field(subject.text, unit, &text)
    }
}

/// Whether the suggestion would take away the `*` that makes both day fields match. Then the same
/// days written as numbers would mean something else: a match of either field would be enough.
fn loosens(subject: &Subject<'_>, unit: Unit) -> bool {
    let (month, week) = (subject.cron.field(Unit::DayOfMonth), subject.cron.field(Unit::DayOfWeek));
    let other_is_starred = match unit {
        Unit::DayOfMonth => week.starred,
        Unit::DayOfWeek => month.starred,
        Unit::Second | Unit::Minute | Unit::Hour | Unit::Month | Unit::Year => return false,
    };
    subject.cron.field(unit).starred && !other_is_starred && !week.both
}

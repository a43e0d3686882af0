use super::{Warning, WarningCode};
use crate::{expression::Expression, timetable::Parts};

/// Warns about an `H` in a definition that belongs to no schedule yet.
pub(crate) fn hashed(parts: &Parts) -> Option<Warning> {
    let hashed = |expression: &Expression| match expression {
        Expression::Cron(cron) => cron.hashed(),
        Expression::Every(_) | Expression::At(_) | Expression::Manually => false,
    };
    let index = parts.expressions.iter().position(|(_, expression)| hashed(expression))?;
    Some(Warning {
        code: WarningCode::HashedExample,
        message:
            "`H` is derived from a schedule's identity, and no schedule is asked about: these \
                  times are an example, those of a schedule will differ"
                .to_owned(),
        field: format!("expressions[{index}]"),
        suggestion: None,
    })
}

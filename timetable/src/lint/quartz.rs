use super::{Subject, Warning, WarningCode, rewrite};
use crate::{dialect::Dialect, expression::Unit};

/// A `?` together with a seconds field is typical of Quartz,
/// where weekday 1 is Sunday; here it is Monday.
pub(super) fn weekdays(subject: &Subject<'_>) -> Option<Warning> {
    let words = subject.text.split_ascii_whitespace().count();
    let month = rewrite::typed(subject.text, Unit::DayOfMonth)?;
    let week = rewrite::typed(subject.text, Unit::DayOfWeek)?;
    // A digit after `#` counts weeks, and a digit after `/` is a step: neither is a weekday.
    let counts = |item: &str| {
        let day = item.split(['#', '/']).next().unwrap_or(item);
        day.bytes().any(|byte| byte.is_ascii_digit())
    };
    if words < 6 || month != "?" || !week.split(',').any(counts) {
        return None;
    }
    let there = Dialect::Quartz.translate(subject.text).ok();
    let there = there.filter(|there| subject.accepts(there));
    let written = there.as_deref().and_then(|text| rewrite::typed(text, Unit::DayOfWeek));
    let there_is = written.map_or(String::new(), |week| format!(" (`{week}` here)"));
    Some(subject.warning(
        WarningCode::OtherDialect,
        format!(
            "`?` beside a second looks like Quartz, where weekdays count from 1, Sunday{there_is}; \
             here 0 and 7 are Sunday: write names, such as MON, or translate it by \
             `--dialect quartz`"
        ),
        there,
    ))
}

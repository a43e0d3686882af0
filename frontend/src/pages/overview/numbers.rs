//! The row of figures.

use leptos::prelude::*;

use crate::{model::Overview, route::Route};

/// Live runs, schedules, and the last day by outcome.
pub(super) fn figures(overview: &Overview) -> AnyView {
    let runs = |state: &str| Route::Runs.narrowed(&[("state", state)]);
    let states =
        format!("{} active, {} paused", overview.active_schedules, overview.paused_schedules);
    let (now, day) = (|| "right now".to_owned(), || "last 24 h".to_owned());
    let ended = overview.executions;
    let (failed, missed) = (ended.failed + ended.timed_out, ended.missed + ended.abandoned);
    view! {
        <dl class="figures">
            {figure("Live runs", overview.live_runs, "running", now(), Some(runs("live")))}
            {figure("Schedules", overview.schedules, "", states, Some(Route::Schedules.path()))}
            {figure("Succeeded", ended.succeeded, "succeeded", day(), None)}
            {figure("Failed", failed, "failed", day(), Some(runs("failed")))}
            {figure("Skipped", ended.skipped, "skipped", day(), None)}
            {figure("Missed", missed, "missed", day(), None)}
        </dl>
    }
    .into_any()
}

/// A figure: what it counts, how many, the state that colours it when it is not zero, and where it leads.
fn figure(
    name: &'static str,
    count: i64,
    state: &'static str,
    note: String,
    href: Option<String>,
) -> AnyView {
    let number = match href {
        Some(href) => view! { <a href=href>{group(count)}</a> }.into_any(),
        None => group(count).into_any(),
    };
    view! {
        <div class="figure" data-state=(count > 0).then_some(state)>
            <dt>{name}</dt>
            <dd class="figure-count">{number}</dd>
            <dd class="figure-note">{note}</dd>
        </div>
    }
    .into_any()
}

/// Thousands apart: `86 400`, with a narrow space that does not break.
fn group(count: i64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + 8);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && grouped != "-" {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::group;

    #[test]
    fn thousands_stand_apart() {
        let shown = [0, 999, 1_000, 86_400, 1_234_567].map(group);
        assert_eq!(shown, ["0", "999", "1\u{202f}000", "86\u{202f}400", "1\u{202f}234\u{202f}567"]);
    }
}

//! The row of figures.

use leptos::prelude::*;

use crate::{model::Overview, route::Route};

/// A figure: what it counts, how many, and the state that colours it when it is not zero.
#[component]
fn Figure(
    name: &'static str,
    count: Signal<i64>,
    #[prop(optional)] state: &'static str,
    #[prop(into, optional)] note: Signal<String>,
    #[prop(optional)] href: Option<String>,
) -> impl IntoView {
    let shown = move || group(count.get());
    let state = move || (count.get() > 0 && !state.is_empty()).then_some(state);
    let number = match href {
        Some(href) => view! { <a href=href>{shown}</a> }.into_any(),
        None => shown.into_any(),
    };
    view! {
        <div class="figure" data-state=state>
            <dt>{name}</dt>
            <dd class="figure-count">{number}</dd>
            <dd class="figure-note">{note}</dd>
        </div>
    }
}

/// Live runs, schedules, and the last day by outcome.
#[component]
pub(super) fn Numbers(house: Signal<Overview>) -> impl IntoView {
    let count = move |take: fn(&Overview) -> i64| Signal::derive(move || house.with(take));
    let states = Signal::derive(move || {
        house.with(|house| format!("{} active, {} paused", house.active, house.paused))
    });
    let day = Signal::derive(|| "last 24 h".to_owned());
    view! {
        <dl class="figures">
            <Figure name="Live runs" count=count(|h| h.live_runs) state="running" note=Signal::derive(|| "right now".to_owned())
                href=super::super::with_query(Route::Runs, &[("state", "live".into())])/>
            <Figure name="Schedules" count=count(|h| h.schedules) note=states href=Route::Schedules.path()/>
            <Figure name="Succeeded" count=count(|h| h.tally.succeeded) state="succeeded" note=day/>
            <Figure name="Failed" count=count(|h| h.tally.failed) state="failed" note=day
                href=super::super::with_query(Route::Runs, &[("state", "failed".into())])/>
            <Figure name="Skipped" count=count(|h| h.tally.skipped) state="skipped" note=day/>
            <Figure name="Missed" count=count(|h| h.tally.missed) state="missed" note=day/>
        </dl>
    }
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

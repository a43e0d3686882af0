//! Help with an expression for users who do not write cron: presets, and a field for each of the five parts.

use leptos::prelude::*;

use super::draft::Draft;
use crate::components::{Choice, Field};

/// The most common timings.
const PRESETS: [Choice; 6] = [
    ("*/5 * * * *", "Every 5 minutes"),
    ("H * * * *", "Hourly, spread"),
    ("H H(0-5) * * *", "Nightly, spread"),
    ("0 9 * * MON-FRI", "Working days at 9"),
    ("0 6 * * MON", "Mondays at 6"),
    ("0 3 1 * *", "Monthly on the 1st"),
];

const PARTS: [(&str, &str, &str); 5] = [
    ("part-minute", "Minute", "0-59, */5, H"),
    ("part-hour", "Hour", "0-23, 9-17"),
    ("part-day", "Day of month", "1-31, L"),
    ("part-month", "Month", "1-12, JAN"),
    ("part-weekday", "Weekday", "MON-FRI, 5#2"),
];

/// The presets and the parts of the first expression.
pub(super) fn builder(draft: Draft) -> AnyView {
    let set = move |text: String| {
        if let Some((_, first)) = draft.expressions.with_untracked(|all| all.first().cloned()) {
            first.set(text);
        }
    };
    let preset = move |(expression, words): Choice| {
        let choose = move |_| set(expression.to_owned());
        view! { <button type="button" class="query-view" title=expression on:click=choose>{words}</button> }
            .into_any()
    };
    let first = Memo::new(move |_| {
        draft.expressions.with(|all| all.first().map(|(_, text)| text.get()).unwrap_or_default())
    });
    let parts: Vec<RwSignal<String>> = (0..PARTS.len())
        .map(|at| RwSignal::new(part(&first.get_untracked(), at).unwrap_or("*").to_owned()))
        .collect();
    // The text is authoritative: the fields are derived from it, and change it only when the user edits them.
    let followed = parts.clone();
    Effect::new(move |_| {
        let text = first.get();
        for (at, field) in followed.iter().enumerate() {
            if let Some(now) =
                part(&text, at).filter(|now| field.with_untracked(|known| known != now))
            {
                field.set(now.to_owned());
            }
        }
    });
    let written = parts.clone();
    Effect::new(move |before: Option<String>| {
        let text = written.iter().map(|field| field.get().trim().to_owned()).collect::<Vec<_>>();
        let text = text.join(" ");
        let now = first.get_untracked();
        // An expression of fewer parts would no longer follow the fields, so one that is cleared to be typed anew waits.
        let is_cron = [&now, &text].iter().all(|text| part(text, 0).is_some());
        if before.is_some_and(|before| before != text) && is_cron && now != text {
            set(text.clone());
        }
        text
    });
    let fields = PARTS
        .into_iter()
        .zip(parts)
        .map(|((id, label, hint), value)| Field::new(id, label, value).code().hint(hint).text());
    view! {
        <div class="query-views" role="group" aria-label="Presets">{Vec::from(PRESETS.map(preset))}</div>
        <details class="more">
            <summary>"Build the first expression from its parts"</summary>
            <div class="cron-parts">{fields.collect::<Vec<_>>()}</div>
        </details>
    }
    .into_any()
}

/// One field of an expression with five fields; `None` for any other.
fn part(expression: &str, at: usize) -> Option<&str> {
    let parts: Vec<&str> = expression.split_whitespace().collect();
    if parts.len() == PARTS.len() && !expression.starts_with('@') {
        parts.get(at).copied()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn only_an_expression_of_five_fields_has_parts() {
        assert_eq!(part("0 9 * * MON-FRI", 4), Some("MON-FRI"));
        assert_eq!(part("* * * * * *", 0), None);
        assert_eq!(part("@every 1h 2m 3s 4ms", 0), None);
        assert_eq!(part("@daily", 0), None);
    }
}

//! What became of the fires of the last 24 hours, as one thin bar.

use leptos::prelude::*;

use crate::model::Tally;

fn parts(tally: Tally) -> [(&'static str, i64); 5] {
    [
        ("succeeded", tally.succeeded),
        ("running", tally.running),
        ("skipped", tally.skipped),
        ("missed", tally.missed),
        ("failed", tally.failed),
    ]
}

/// Shares in colour; the numbers are in its name and tooltip.
#[component]
pub(crate) fn TallyBar(#[prop(into)] tally: Signal<Tally>) -> impl IntoView {
    let words = move || {
        let words: Vec<String> = parts(tally.get())
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        if words.is_empty() { "No fires in 24 h".to_owned() } else { words.join(", ") }
    };
    let bars = move || {
        let parts = parts(tally.get());
        let total: i64 = parts.iter().map(|(_, count)| count).sum();
        // A single failure among thousands must still be seen.
        let scale =
            |count: i64| if count == 0 { 0.0 } else { (count as f64 / total as f64).max(0.04) };
        let sum: f64 = parts.iter().map(|(_, count)| scale(*count)).sum();
        let mut x = 0.0;
        parts
            .map(|(name, count)| {
                let width = if total == 0 { 0.0 } else { scale(count) / sum * 100.0 };
                let bar = view! {
                    <rect class="tally-part" data-state=name x=x y="0" width=width height="6"/>
                };
                x += width;
                bar
            })
            .collect_view()
    };
    view! {
        <span class="tally" role="img" aria-label=words title=words>
            <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
                <rect class="tally-ground" x="0" y="0" width="100" height="6"/>
                {bars}
            </svg>
        </span>
    }
}

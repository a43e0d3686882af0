//! The outcomes of the fires of the last 24 hours, as one thin bar.

use leptos::prelude::*;

use crate::model::Tally;

/// The bar's length.
const WIDTH: i64 = 1_000;
/// The minimum length of a part, so that a single failure among thousands is still visible.
const LEAST: i64 = 40;

/// The bar with the shares in colour. The numbers are in its accessible name and tooltip.
pub(crate) fn tally_bar(tally: Tally) -> AnyView {
    let parts = parts(tally);
    let mut at = 0;
    let bars = widths(parts.map(|(_, count)| count)).into_iter().zip(parts).map(|(width, part)| {
        let x = at;
        at += width;
        view! { <rect class="tally-part" data-state=part.0 x=x y="0" width=width height="6"/> }
            .into_any()
    });
    let bars: Vec<_> = bars.collect();
    let name = words(parts);
    view! {
        <span class="tally" role="img" aria-label=name.clone() title=name>
            <svg viewBox="0 0 1000 6" preserveAspectRatio="none" aria-hidden="true">
                <rect class="tally-ground" x="0" y="0" width="1000" height="6"/>
                {bars}
            </svg>
        </span>
    }
    .into_any()
}

fn parts(tally: Tally) -> [(&'static str, i64); 5] {
    [
        ("succeeded", tally.succeeded),
        ("running", tally.running),
        ("skipped", tally.skipped),
        ("missed", tally.missed),
        ("failed", tally.failed),
    ]
}

fn words(parts: [(&'static str, i64); 5]) -> String {
    let words: Vec<String> = parts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    if words.is_empty() { "No fires in 24 h".to_owned() } else { words.join(", ") }
}

fn widths(counts: [i64; 5]) -> [i64; 5] {
    let total: i64 = counts.iter().sum();
    let share = |count: i64| if count == 0 { 0 } else { (count * WIDTH / total).max(LEAST) };
    let shares = counts.map(share);
    let sum: i64 = shares.iter().sum();
    shares.map(|share| if sum == 0 { 0 } else { share * WIDTH / sum })
}

#[cfg(test)]
mod tests {
    use super::widths;

    #[test]
    fn a_single_failure_among_thousands_is_seen() {
        let [succeeded, .., failed] = widths([9_999, 0, 0, 0, 1]);
        assert!(failed >= 30 && succeeded < 970, "{succeeded}, {failed}");
    }

    #[test]
    fn nothing_has_no_width() {
        assert_eq!(widths([0; 5]), [0; 5]);
    }
}

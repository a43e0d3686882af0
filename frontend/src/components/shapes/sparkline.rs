//! The last runs as bars: how each ended by colour, how long it took by height.

use leptos::prelude::*;

use super::scale::{share, short};

const HEIGHT: f64 = 20.0;
/// The minimum height of a bar, so that a run that took no time is still visible.
const LEAST: f64 = 4.0;
const STEP: usize = 5;
/// Number of bars that fit; fewer are drawn at the right end, at the same width.
const SLOTS: usize = 40;

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SparkBar {
    /// The name by which the style sheet colours its state.
    pub(crate) state: &'static str,
    /// The state's word, for the summary.
    pub(crate) word: &'static str,
    /// The height of the bar relative to the others; a bar without a value is as tall as the tallest.
    pub(crate) value: Option<i64>,
}

/// The bars, oldest first. Screen readers hear the summary.
pub(crate) fn sparkline(what: &'static str, bars: &[SparkBar]) -> AnyView {
    let top = bars.iter().filter_map(|bar| bar.value).max().unwrap_or(0);
    let slots = bars.len().max(SLOTS);
    let first = slots - bars.len();
    let bar = |(index, bar): (usize, &SparkBar)| {
        let height = short(height(bar.value, top));
        view! {
            <rect
                class="chart-part"
                data-state=bar.state
                x=(first + index) * STEP
                y=short(HEIGHT - height)
                width=STEP - 1
                height=height
            />
        }
        .into_any()
    };
    let drawn: Vec<_> = bars.iter().enumerate().map(bar).collect();
    let name = sum(what, bars);
    view! {
        <svg
            class="sparkline"
            viewBox=format!("0 0 {} 20", slots * STEP)
            preserveAspectRatio="none"
            role="img"
            aria-label=name
        >
            {drawn}
        </svg>
    }
    .into_any()
}

fn height(value: Option<i64>, top: i64) -> f64 {
    value.map_or(HEIGHT, |value| LEAST + share(value, top, HEIGHT - LEAST))
}

fn sum(what: &str, bars: &[SparkBar]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for bar in bars {
        match counts.iter_mut().find(|(word, _)| *word == bar.word) {
            Some((_, count)) => *count += 1,
            None => counts.push((bar.word, 1)),
        }
    }
    let words: Vec<String> =
        counts.iter().map(|(word, count)| format!("{count} {}", word.to_lowercase())).collect();
    let words = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
    format!("{what}: {words}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_is_the_highest_and_the_shortest_is_seen() {
        assert_eq!(
            [height(Some(0), 10), height(Some(10), 10), height(None, 10)],
            [4.0, 20.0, 20.0]
        );
    }

    #[test]
    fn the_sum_counts_by_word() {
        let bar = |word| SparkBar { state: "", word, value: None };
        let bars = [bar("Succeeded"), bar("Failed"), bar("Succeeded")];
        assert_eq!(sum("The last runs", &bars), "The last runs: 2 succeeded, 1 failed");
        assert_eq!(sum("The last runs", &[]), "The last runs: none");
    }
}

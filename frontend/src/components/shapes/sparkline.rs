//! The last runs as bars: the colour shows the outcome, and the height the duration.

use leptos::prelude::*;

use super::scale::{coordinate, share};

/// The height of a row of bars.
pub(in crate::components) const HEIGHT: f64 = 20.0;
/// The minimum height of a bar, so that a run that took no time is still visible.
const LEAST: f64 = 4.0;
/// The width of a bar and the gap after it.
pub(super) const STEP: usize = 5;
/// Number of bars that fit. If there are fewer, each still has the same width.
const SLOTS: usize = 40;

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SparkBar {
    /// The name by which the style sheet colours its state.
    pub(crate) state: &'static str,
    /// The state's word, for the summary.
    pub(crate) word: &'static str,
    /// The height of the bar relative to the others. A bar without a value is as tall as the tallest.
    pub(crate) value: Option<i64>,
}

/// The bars, oldest first. If there are fewer than fit, they are at the right end. Screen readers hear the summary.
pub(crate) fn sparkline(what: &'static str, bars: &[SparkBar]) -> AnyView {
    let top = bars.iter().filter_map(|bar| bar.value).max().unwrap_or(0);
    let drawn: Vec<_> = bars.iter().map(|bar| (bar.state, height(bar.value, top))).collect();
    let first = slots(bars.len()) - bars.len();
    let name = sum(what, bars);
    view! {
        <svg
            class="sparkline"
            viewBox=view_box(bars.len())
            preserveAspectRatio="none"
            role="img"
            aria-label=name
        >
            {outlines(&drawn, first)}
        </svg>
    }
    .into_any()
}

/// The number of slots in a row with this many bars.
pub(in crate::components) fn slots(bars: usize) -> usize {
    bars.max(SLOTS)
}

/// The view box of a row of bars.
pub(in crate::components) fn view_box(bars: usize) -> String {
    format!("0 0 {} {}", slots(bars) * STEP, coordinate(HEIGHT))
}

/// Bars with a state and a height each, the first of them at this slot. All bars of a state form one outline: a page
/// of schedules has two thousand bars, and drawing an element for each would take longer than drawing the rest of the
/// page.
pub(in crate::components) fn outlines(bars: &[(&'static str, f64)], first: usize) -> AnyView {
    let outline = |(state, path): (&'static str, String)| {
        view! { <path class="chart-part" data-state=state d=path/> }.into_any()
    };
    paths(bars, first).into_iter().map(outline).collect::<Vec<_>>().into_any()
}

fn paths(bars: &[(&'static str, f64)], first: usize) -> Vec<(&'static str, String)> {
    let mut paths: Vec<(&'static str, String)> = Vec::new();
    let bottom = coordinate(HEIGHT);
    let drawn = bars.iter().enumerate().filter(|(_, (_, height))| *height > 0.0);
    for (index, (state, height)) in drawn {
        let (x, width, height) = ((first + index) * STEP, STEP - 1, coordinate(*height));
        let bar = format!("M{x} {bottom}v-{height}h{width}v{height}z");
        match paths.iter_mut().find(|(known, _)| known == state) {
            Some((_, path)) => path.push_str(&bar),
            None => paths.push((*state, bar)),
        }
    }
    paths
}

fn height(value: Option<i64>, top: i64) -> f64 {
    value.map_or(HEIGHT, |value| visible(value, top))
}

/// The height of a bar, which is visible however small its value is.
pub(super) fn visible(value: i64, top: i64) -> f64 {
    LEAST + share(value, top, HEIGHT - LEAST)
}

fn sum(what: &str, bars: &[SparkBar]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for bar in bars {
        match counts.iter_mut().find(|(word, _)| *word == bar.word) {
            Some((_, count)) => *count += 1,
            None => counts.push((bar.word, 1)),
        }
    }
    let words: Vec<String> = counts
        .iter()
        .map(|(word, count)| format!("{count} {}", word.to_ascii_lowercase()))
        .collect();
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
    fn the_bars_of_a_state_are_one_outline_and_each_keeps_its_place() {
        let bars = [("succeeded", 20.0), ("failed", 4.0), ("succeeded", 12.25)];
        let drawn = paths(&bars, 37);
        let succeeded = "M185 20v-20h4v20zM195 20v-12.25h4v12.25z".to_owned();
        assert_eq!(drawn, [("succeeded", succeeded), ("failed", "M190 20v-4h4v4z".to_owned())]);
        assert!(paths(&[], 40).is_empty());
        assert!(paths(&[("failed", 0.0)], 0).is_empty());
        assert_eq!([view_box(3), view_box(60)], ["0 0 200 20", "0 0 300 20"]);
    }

    #[test]
    fn the_sum_counts_by_word() {
        let bar = |word| SparkBar { state: "", word, value: None };
        let bars = [bar("Succeeded"), bar("Failed"), bar("Succeeded")];
        assert_eq!(sum("The last runs", &bars), "The last runs: 2 succeeded, 1 failed");
        assert_eq!(sum("The last runs", &[]), "The last runs: none");
    }
}

//! Values over time as small bars, for a row of a table. Layers share a scale and are drawn over each other, such as the
//! failed runs over all that ended.

use leptos::prelude::*;

use super::{
    scale::coordinate,
    sparkline::{HEIGHT, STEP, outlines, visible},
};

/// One layer of a trend.
pub(crate) struct TrendLayer {
    /// The name by which the style sheet colours the layer.
    pub(crate) state: &'static str,
    /// The value of each step, the oldest first. A step without a value is a gap.
    pub(crate) values: Vec<Option<i64>>,
}

/// Draws the layers, the first one at the back. `said` sums them up for screen readers.
pub(crate) fn trend(said: String, layers: &[TrendLayer]) -> AnyView {
    let steps = layers.iter().map(|layer| layer.values.len()).max().unwrap_or(0);
    let top = layers.iter().flat_map(|layer| &layer.values).flatten().copied().max().unwrap_or(0);
    let drawn: Vec<_> = layers.iter().map(|layer| outlines(&bars(layer, top), 0)).collect();
    view! {
        <svg
            class="sparkline trend"
            viewBox=format!("0 0 {} {}", steps.max(1) * STEP, coordinate(HEIGHT))
            preserveAspectRatio="none"
            role="img"
            aria-label=said
        >
            {drawn}
        </svg>
    }
    .into_any()
}

fn bars(layer: &TrendLayer, top: i64) -> Vec<(&'static str, f64)> {
    let bar = |value: &Option<i64>| (layer.state, value.map_or(0.0, |value| visible(value, top)));
    layer.values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_without_a_value_is_a_gap_and_a_small_one_is_seen() {
        let layer = TrendLayer { state: "failed", values: vec![None, Some(0), Some(9)] };
        let heights: Vec<f64> = bars(&layer, 9).into_iter().map(|(_, height)| height).collect();
        assert_eq!(heights, [0.0, 4.0, HEIGHT]);
    }
}

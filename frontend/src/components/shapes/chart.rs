//! The parts that all charts over time share: the plot with its axes, the text for the column under
//! the pointer, the legend, and the text twin.

use leptos::{html, prelude::*};

use super::{
    drag::Drag,
    twin::{Twin, twin},
};

/// The width and height of the plot in the drawing's own units; the plot is stretched to the
/// available space.
pub(super) const LENGTH: f64 = 1_000.0;
pub(super) const HEIGHT: f64 = 100.0;

/// The parts of a chart around its plot.
pub(super) struct Chart {
    /// The chart in one sentence, for screen readers.
    pub(super) summary: String,
    /// The labels of the upper end and the middle of the scale.
    pub(super) top: String,
    pub(super) middle: String,
    /// Labels under the plot, evenly spaced; the first and the last are at its ends.
    pub(super) axis: Vec<String>,
    /// States, or names of lines, with their labels.
    pub(super) legend: Vec<(&'static str, &'static str)>,
    /// The text of each column, shown when the pointer is over it.
    pub(super) readout: Vec<String>,
    pub(super) drawing: AnyView,
    pub(super) twin: Twin,
}

/// Draws the chart. Dragging over columns calls `chosen` with the first and the last of them.
pub(super) fn chart(chart: Chart, drag: Drag, chosen: Callback<(usize, usize)>) -> AnyView {
    let plot = NodeRef::<html::Div>::new();
    let count = chart.readout.len();
    let readout = chart.readout;
    let words = move || {
        let said = |at: usize| readout.get(at).cloned().unwrap_or_default();
        match (drag.range(), drag.at.get()) {
            (Some((first, last)), _) if first != last => {
                format!("{} – {}", said(first), said(last))
            }
            (_, Some(at)) => said(at),
            (_, None) => "\u{a0}".to_owned(),
        }
    };
    let selection = move || {
        let width = LENGTH / count.max(1) as f64;
        let (first, last) = drag.range().or_else(|| drag.at.get().map(|at| (at, at)))?;
        let (x, width) = (first as f64 * width, (last + 1 - first) as f64 * width);
        Some(
            view! { <rect class="chart-selection" x=x y="0" width=width height=HEIGHT/> }
                .into_any(),
        )
    };
    let axis: Vec<_> =
        chart.axis.into_iter().map(|words| view! { <span>{words}</span> }.into_any()).collect();
    let key = |(state, words): (&'static str, &'static str)| {
        view! { <li data-state=state>{words}</li> }.into_any()
    };
    let legend: Vec<_> = chart.legend.into_iter().map(key).collect();
    view! {
        <figure class="chart">
            <div class="chart-scale" aria-hidden="true">
                <span>{chart.top}</span><span>{chart.middle}</span><span>"0"</span>
            </div>
            <div
                class="chart-plot"
                node_ref=plot
                on:pointerdown=move |event| drag.down(&event, plot, count)
                on:pointermove=move |event| drag.moved(&event, plot, count)
                on:pointerup=move |_| drag.up(chosen)
                on:pointercancel=move |_| drag.leave()
                on:pointerleave=move |_| drag.out()
            >
                <svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label=chart.summary>
                    <path class="chart-grid" d="M0 0H1000M0 50H1000M0 100H1000"/>
                    {move || selection()}
                    {chart.drawing}
                </svg>
            </div>
            <div class="chart-axis" aria-hidden="true">{axis}</div>
            <div class="chart-foot">
                <ul class="legend">{legend}</ul>
                <p class="chart-readout" aria-hidden="true">{words}</p>
            </div>
            {twin(chart.twin)}
        </figure>
    }
    .into_any()
}

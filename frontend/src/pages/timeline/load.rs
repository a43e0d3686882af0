//! The chart of how many runs were executed at once. Dragging over a part of it shows that part.

use leptos::prelude::*;

use super::window::Window;
use crate::{
    components::{BarColumn, Drag, live, peak_bars, use_drag},
    data::Load,
    model::RunsAtOnce,
    pages::steps,
    route::Route,
    state::{Range, use_zone},
    time::Moment,
};

pub(super) fn chart(load: Load<RunsAtOnce>, window: Memo<Window>, range: Range) -> AnyView {
    let (zone, drag) = (use_zone(), use_drag());
    let chosen = Callback::new(move |(from, until): (Moment, Moment)| {
        range.choose(Some(from), Some(until));
    });
    live(move || {
        let (zone, window) = (zone.get().zone(None), window.get());
        let drawn = load.with(|load| drawn(load, window, &zone, drag, chosen));
        drawn.unwrap_or_else(|| ().into_any())
    })
}

fn drawn(
    load: &RunsAtOnce,
    window: Window,
    zone: &str,
    drag: Drag,
    chosen: Callback<(Moment, Moment)>,
) -> AnyView {
    let (begin, step) = (load.from, load.step_seconds.max(1) * 1_000);
    let at = move |index: usize| begin.later(i64::try_from(index).unwrap_or(0) * step);
    let column = |(index, peak): (usize, i64)| BarColumn {
        name: steps::name(at(index), zone),
        href: Some(Route::Runs.narrowed(&[
            ("from", &at(index).to_rfc3339()),
            ("until", &at(index + 1).to_rfc3339()),
        ])),
        counts: vec![peak],
    };
    let columns = columns(load, window).into_iter().enumerate().map(column).collect();
    let axis = steps::axis(window.from, window.to, zone);
    let note = (!load.is_complete).then(|| {
        view! { <p class="panel-note">"There were too many runs to count them all: the oldest are left out."</p> }
            .into_any()
    });
    let dragged = Callback::new(move |(first, last): (usize, usize)| {
        chosen.run((at(first), at(last + 1)));
    });
    let bars = peak_bars("Runs at once", ("running", "Runs"), columns, axis, drag, dragged);
    view! { {bars}{note} }.into_any()
}

/// One number for each step of the window; nothing is executed yet in steps to come.
fn columns(load: &RunsAtOnce, window: Window) -> Vec<i64> {
    let step = load.step_seconds.max(1) * 1_000;
    let steps = (window.to.since(load.from) + step - 1) / step;
    let steps = usize::try_from(steps).unwrap_or_default().min(1_000);
    (0..steps).map(|index| load.peaks.get(index).copied().unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_to_come_are_empty() {
        let at = Moment::from_millis;
        let load =
            RunsAtOnce { from: at(0), step_seconds: 60, peaks: vec![3, 1], is_complete: true };
        let window = Window { from: at(10_000), to: at(200_000) };
        assert_eq!(columns(&load, window), [3, 1, 0, 0]);
    }
}

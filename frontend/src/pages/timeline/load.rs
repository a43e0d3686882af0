//! The chart of how many runs were executed at once. Dragging over a part of it shows that part, and each step leads to
//! the lanes of the runs that it counts.

use leptos::prelude::*;

use super::window::Window;
use crate::{
    components::{AsyncView, BarColumn, Drag, live, peak_bars, use_drag},
    data::Load,
    model::RunsAtOnce,
    pages::{filters::Filters, steps},
    route::Route,
    state::{Range, use_zone},
    time::Moment,
};

/// An answer has at most 400 steps. A window that needs more of the same length is not the one that was asked about.
const MAX_STEPS: usize = 500;

pub(super) fn chart(
    load: Load<RunsAtOnce>,
    window: Memo<Window>,
    range: Range,
    filters: Filters,
) -> AnyView {
    let (zone, drag) = (use_zone(), use_drag());
    let chosen = Callback::new(move |(from, until): (Moment, Moment)| {
        range.choose(Some(from), Some(until));
    });
    view! {
        <AsyncView loading=load.loading what="the runs at once">
            {live(move || {
                let (zone, window, search) = (zone.get().zone(None), window.get(), filters.get("q"));
                let drawn = load.with(|load| drawn(load, window, &zone, &search, drag, chosen));
                drawn.flatten().unwrap_or_else(|| ().into_any())
            })}
        </AsyncView>
    }
    .into_any()
}

/// The chart; `None` if the answer is about another window.
fn drawn(
    load: &RunsAtOnce,
    window: Window,
    zone: &str,
    search: &str,
    drag: Drag,
    chosen: Callback<(Moment, Moment)>,
) -> Option<AnyView> {
    let step = load.step_seconds.max(1) * 1_000;
    let (begin, peaks) = peaks(load, window)?;
    let at = move |index: usize| begin.later(i64::try_from(index).unwrap_or(0) * step);
    let column = |(index, peak): (usize, i64)| BarColumn {
        name: steps::name(at(index), zone),
        href: Some(Route::Timeline.narrowed(&[
            ("q", search),
            ("from", &at(index).to_rfc3339()),
            ("until", &at(index + 1).to_rfc3339()),
        ])),
        counts: vec![peak],
    };
    let columns = peaks.into_iter().enumerate().map(column).collect();
    let axis = steps::axis(window.from, window.to, zone);
    let note = (!load.is_complete).then(|| {
        view! { <p class="panel-note">"There were too many runs to count them all: the oldest are left out."</p> }
            .into_any()
    });
    let dragged = Callback::new(move |(first, last): (usize, usize)| {
        chosen.run((at(first), at(last + 1)));
    });
    let parts = vec![("running", "Runs")];
    let bars = peak_bars("Runs at once", parts, columns, axis, drag, dragged);
    Some(view! { {bars}{note} }.into_any())
}

/// The begin of the window's first step, and one number for each of its steps: nothing is executed yet in steps to
/// come. The window may have moved since the answer was asked for; steps that the answer does not have are empty, too.
fn peaks(load: &RunsAtOnce, window: Window) -> Option<(Moment, Vec<i64>)> {
    let step = load.step_seconds.max(1) * 1_000;
    let first = window.from.since(load.from).div_euclid(step);
    let begin = load.from.later(first * step);
    let steps = usize::try_from((window.to.since(begin) + step - 1) / step).unwrap_or_default();
    if steps > MAX_STEPS {
        return None;
    }
    let peak = |index: i64| usize::try_from(index).ok().and_then(|index| load.peaks.get(index));
    let peaks = (first..).take(steps).map(|index| peak(index).copied().unwrap_or_default());
    Some((begin, peaks.collect()))
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
        assert_eq!(peaks(&load, window), Some((at(0), vec![3, 1, 0, 0])));
    }

    #[test]
    fn the_answer_for_another_window_is_shown_at_its_own_instants() {
        let at = Moment::from_millis;
        let load =
            RunsAtOnce { from: at(0), step_seconds: 60, peaks: vec![3, 1], is_complete: true };
        let of = |from, to| peaks(&load, Window { from: at(from), to: at(to) });
        assert_eq!(of(70_000, 200_000), Some((at(60_000), vec![1, 0, 0])));
        assert_eq!(of(-100_000, 50_000), Some((at(-120_000), vec![0, 0, 3])));
        assert_eq!(of(-100_000, -10_000), Some((at(-120_000), vec![0, 0])));
        assert_eq!(of(0, 31 * 24 * 3_600_000), None);
    }
}

//! A lane as a row of the table: the schedule's name, and its bars on the axis of time.

use leptos::prelude::*;

use super::{
    bars::{Bar, bars, summary},
    window::{Window, percent},
};
use crate::{
    components::{Column, RowName, live},
    model::Lane,
    pages::{kit::place_note, steps},
    route::Route,
    state::{use_now, use_zone},
    time::Moment,
};

/// The columns of the table.
pub(super) fn columns(window: Memo<Window>) -> Vec<Column> {
    let bars = Column::new("time", "Over time", move |lane: &Lane| drawn(lane, window));
    vec![
        Column::new("schedule", "Schedule", name).head(),
        bars.class("lane-cell").below_heading(move || axis(window)),
    ]
}

/// The name of a row, and the ids by which tests find it.
pub(super) fn row_name(lane: &Lane) -> RowName {
    RowName { name: lane.schedule.name.clone(), test: "lane", state: "" }
}

fn name(lane: &Lane) -> AnyView {
    let schedule = &lane.schedule;
    let href = Route::Schedule(schedule.id.clone()).path_at(&schedule.namespace);
    view! {
        <a href=href>{schedule.name.clone()}</a>{place_note(&schedule.namespace)}
        <span class="lane-note" data-testid="lane-note">{summary(lane)}</span>
    }
    .into_any()
}

/// The labels of the axis, and the line of the present.
fn axis(window: Memo<Window>) -> AnyView {
    let zone = use_zone();
    live(move || {
        let zone = zone.get().zone(None);
        let Window { from, to } = window.get();
        let label = |words: String| view! { <span>{words}</span> }.into_any();
        let labels: Vec<_> = steps::axis(from, to, &zone).into_iter().map(label).collect();
        view! {
            <span class="lane-axis" aria-hidden="true">{labels}</span>
            <span class="lane-zone" data-testid="lane-zone">{format!("times in {zone}")}</span>
        }
        .into_any()
    })
}

fn drawn(lane: &Lane, window: Memo<Window>) -> AnyView {
    let clock = use_zone();
    // Tracked by the row, which is drawn again when the window or the clock changes.
    let zone = clock.get().zone(None);
    let shown = window.get();
    let all = bars(lane, Moment::now(), &zone);
    let all: Vec<_> = all.into_iter().filter_map(|bar| one(bar, shown)).collect();
    let overlaps: Vec<_> =
        lane.overlaps.iter().filter_map(|at| overlap(*at, shown, &zone)).collect();
    view! { <div class="lane">{all}{overlaps}{present(window)}</div> }.into_any()
}

/// A bar that leads to what it shows. The arrow keys reach it; each lane has one tab stop.
fn one(bar: Bar, window: Window) -> Option<AnyView> {
    let (left, width) = window.span(bar.from, bar.to)?;
    // The card is below the bar and stays inside the table.
    let side = if left > 500 { "end" } else { "start" };
    Some(
        view! {
            <a
                class="lane-bar"
                data-testid="lane-bar"
                data-kind=bar.kind
                data-state=bar.state
                data-side=side
                data-words=bar.words.clone()
                href=bar.href
                tabindex="-1"
                aria-label=bar.words
                style:left=percent(left)
                style:width=percent(width)
            ></a>
        }
        .into_any(),
    )
}

/// The mark of an instant at which an earlier run was alive.
fn overlap(at: Moment, window: Window, zone: &str) -> Option<AnyView> {
    let (left, _) = window.span(at, at)?;
    let words = format!("An earlier run was alive at {}", steps::name(at, zone));
    Some(
        view! {
            <span class="lane-overlap" data-testid="lane-overlap" role="img" aria-label=words.clone() title=words style:left=percent(left)></span>
        }
        .into_any(),
    )
}

/// The line of the present, if it is in the window.
fn present(window: Memo<Window>) -> AnyView {
    let now = use_now();
    // Moves only when its place has changed.
    let place = Memo::new(move |_| {
        let now = now.get();
        let window = window.get();
        (now >= window.from && now < window.to).then(|| window.thousandth(now))
    });
    let left = move || place.get().map(percent).unwrap_or_default();
    view! {
        <span class="lane-now" aria-hidden="true" hidden=move || place.get().is_none() style:left=left></span>
    }
    .into_any()
}

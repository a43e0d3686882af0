//! The fires to come on a line from now to the far end of what is known.

use leptos::prelude::*;

use crate::{
    state::use_now,
    time::{Moment, seconds},
};

/// Windows that one can grasp, in seconds; the line is as long as the smallest that holds every fire.
const WINDOWS: [i64; 9] = [60, 300, 900, 3_600, 21_600, 86_400, 604_800, 2_592_000, 31_536_000];
const WIDTH: i64 = 1_000;

/// A tick for each fire, moving with the clock.
pub(crate) fn horizon(fires: Vec<Moment>) -> AnyView {
    let now = use_now();
    view! { {move || line(&fires, now.get())} }.into_any()
}

fn line(fires: &[Moment], now: Moment) -> AnyView {
    let ahead = fires.last().map_or(0, |last| last.since(now) / 1_000);
    let window = WINDOWS.into_iter().find(|window| *window >= ahead).unwrap_or(31_536_000);
    let ticks: Vec<_> = fires
        .iter()
        .map(|at| at.since(now) * WIDTH / (window * 1_000))
        .filter(|x| (0..=WIDTH).contains(x))
        .map(|x| view! { <line class="horizon-tick" x1=x x2=x y1="6" y2="30"/> }.into_any())
        .collect();
    let label = format!("{} fires in the next {}", fires.len(), seconds(window));
    let quarter = |quarter: i64| view! { <span>{seconds(window * quarter / 4)}</span> }.into_any();
    view! {
        <figure class="horizon">
            <svg viewBox="0 0 1000 36" preserveAspectRatio="none" role="img" aria-label=label>
                <line class="horizon-line" x1="0" x2="1000" y1="30" y2="30"/>
                <path class="horizon-grid" d="M250 0v36M500 0v36M750 0v36"/>
                {ticks}
            </svg>
            <figcaption><span>"now"</span>{Vec::from([1, 2, 3, 4].map(quarter))}</figcaption>
        </figure>
    }
    .into_any()
}

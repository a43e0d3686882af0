//! The fires to come on a line from now to the far end of what is known.

use leptos::prelude::*;

use crate::time::{Moment, seconds};

/// Windows that one can grasp, in seconds; the line is as long as the smallest that holds every fire.
const WINDOWS: [i64; 9] = [60, 300, 900, 3_600, 21_600, 86_400, 604_800, 2_592_000, 31_536_000];
const WIDTH: f64 = 1_000.0;

/// A tick for each fire.
#[component]
pub(crate) fn Horizon(
    #[prop(into)] fires: Signal<Vec<Moment>>,
    now: ReadSignal<Moment>,
) -> impl IntoView {
    let window = Memo::new(move |_| {
        let last = fires.with(|fires| fires.last().copied());
        let ahead = last.map_or(0.0, |last| last.since(now.get()) / 1_000.0);
        WINDOWS.into_iter().find(|window| *window as f64 >= ahead).unwrap_or(31_536_000)
    });
    let ticks = move || {
        let (now, window) = (now.get(), window.get() as f64 * 1_000.0);
        fires
            .get()
            .into_iter()
            .map(|at| at.since(now) / window * WIDTH)
            .filter(|x| (0.0..=WIDTH).contains(x))
            .map(|x| view! { <line class="horizon-tick" x1=x x2=x y1="6" y2="30"/> })
            .collect_view()
    };
    let label =
        move || format!("{} fires in the next {}", fires.with(Vec::len), seconds(window.get()));
    view! {
        <figure class="horizon">
            <svg viewBox="0 0 1000 36" preserveAspectRatio="none" role="img" aria-label=label>
                <line class="horizon-line" x1="0" x2="1000" y1="30" y2="30"/>
                {[250, 500, 750].map(|x| view! {
                    <line class="horizon-grid" x1=x x2=x y1="0" y2="36"/>
                })}
                {ticks}
            </svg>
            <figcaption>
                <span>"now"</span>
                {[1, 2, 3].map(|quarter| view! {
                    <span>{move || seconds(window.get() * quarter / 4)}</span>
                })}
                <span>{move || seconds(window.get())}</span>
            </figcaption>
        </figure>
    }
}

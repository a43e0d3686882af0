//! The button that holds live lists still, and lets them go again.

use leptos::prelude::*;

use super::{Glyph, icon, live};

/// The button. `waiting` is the number of changes that have arrived since the lists are held.
pub(crate) fn hold_button(
    is_held: Signal<bool>,
    waiting: Signal<usize>,
    turn: Callback<()>,
) -> AnyView {
    let face = live(move || {
        let (glyph, words) = match (is_held.get(), waiting.get()) {
            (false, _) => (Glyph::Pause, "Hold".to_owned()),
            (true, 0) => (Glyph::Resume, "Held".to_owned()),
            (true, waiting) => (Glyph::Resume, format!("{waiting} new")),
        };
        view! { {icon(glyph)}<span class="hold-words">{words}</span> }.into_any()
    });
    view! {
        <button
            type="button"
            class="menu-button hold"
            aria-pressed=move || is_held.get().to_string()
            title="Hold live lists still, or release them"
            on:click=move |_| turn.run(())
        >{face}</button>
    }
    .into_any()
}

//! The button that holds all lists still, or releases them.

use leptos::prelude::*;

use crate::{
    components::{Glyph, icon, live},
    state::{use_address, use_hold},
};

/// The button that holds or releases the lists.
pub(super) fn button() -> AnyView {
    let (hold, address) = (use_hold(), use_address());
    // A new page starts with live lists.
    Effect::new(move |before: Option<_>| {
        let route = address.route();
        if before.is_some_and(|before| before != route) {
            hold.let_go();
        }
        route
    });
    let face = live(move || {
        let (glyph, words) = match (hold.is_held(), hold.waiting()) {
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
            aria-pressed=move || hold.is_held().to_string()
            title="Hold live lists still, or release them"
            on:click=move |_| hold.turn()
        >{face}</button>
    }
    .into_any()
}

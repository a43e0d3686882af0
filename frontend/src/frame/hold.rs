//! The button that holds all lists still, or releases them.

use leptos::prelude::*;

use crate::{
    components::hold_button,
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
    hold_button(
        Signal::derive(move || hold.is_held()),
        Signal::derive(move || hold.waiting()),
        Callback::new(move |()| hold.turn()),
    )
}

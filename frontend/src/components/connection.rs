//! Whether events flow, discreetly: a dot, and a word when they do not.

use leptos::prelude::*;

use crate::{
    api::{Link, Socket},
    state::use_socket,
};

/// The state of the live connection, which lives as long as this mark.
#[component]
pub(crate) fn Connection() -> impl IntoView {
    let socket = use_socket();
    socket.connect();
    let link = socket.link();
    let socket = StoredValue::new_local(socket);
    on_cleanup(move || socket.with_value(Socket::disconnect));
    let state_and_word = move || match link.get() {
        Link::Idle => ("idle", "Idle"),
        Link::Connecting => ("connecting", "Connecting"),
        Link::Live => ("live", "Live"),
        Link::Waiting => ("waiting", "Reconnecting"),
    };
    view! {
        <span
            class="connection"
            role="status"
            data-testid="connection"
            data-state=move || state_and_word().0
            title="Live events from the server"
        >
            {move || state_and_word().1}
        </span>
    }
}

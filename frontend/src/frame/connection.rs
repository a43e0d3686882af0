//! The mark of the live connection: a small dot and a word.

use leptos::prelude::*;

use crate::{
    api::{Link, Socket},
    data::use_socket,
};

/// The state of the live connection, which is open as long as this mark exists.
#[component]
pub(crate) fn Connection() -> impl IntoView {
    let socket = use_socket();
    socket.connect();
    let link = socket.link();
    let socket = StoredValue::new_local(socket);
    on_cleanup(move || socket.with_value(Socket::disconnect));
    view! {
        <span
            class="connection"
            role="status"
            data-testid="connection"
            data-state=move || state_and_word(link.get()).0
            title="Live events from the server"
        >
            {move || state_and_word(link.get()).1}
        </span>
    }
}

fn state_and_word(link: Link) -> (&'static str, &'static str) {
    match link {
        Link::Idle => ("idle", "Idle"),
        Link::Connecting => ("connecting", "Connecting"),
        Link::Live => ("live", "Live"),
        Link::Waiting => ("waiting", "Reconnecting"),
    }
}

//! The note above a form that came back with what was typed in it before.

use leptos::prelude::*;

use crate::{
    components::{Look, button, live},
    state::Draft,
};

/// The note, while it is true; one may start afresh.
pub(in crate::pages) fn restored(draft: Draft) -> AnyView {
    live(move || {
        if !draft.is_restored() {
            return ().into_any();
        }
        let afresh = move || {
            draft.forget();
            let _reloads = window().location().reload();
        };
        view! {
            <p class="pause-note form-note" role="status">
                "What you had typed is back."
                {button(Look::Plain, None, "Start afresh", afresh)}
            </p>
        }
        .into_any()
    })
}

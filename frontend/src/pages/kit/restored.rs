//! The note above a form whose earlier input was restored.

use leptos::prelude::*;

use crate::{
    components::{Look, button, live},
    state::Draft,
};

/// The note, shown while it applies, with a button that starts afresh.
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

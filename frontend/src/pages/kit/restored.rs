//! The note above a form whose earlier input was restored.

use leptos::prelude::*;

use crate::{
    components::{Look, button, live},
    state::Draft,
};

/// The note, with a button that starts over. It is shown as long as it applies. `lost` returns sentences about the
/// input that was not saved; tracked.
pub(in crate::pages) fn restored(
    draft: Draft,
    lost: impl Fn() -> String + Send + Sync + 'static,
) -> AnyView {
    restored_by(draft, lost, move || {
        draft.forget();
        let _reloads = window().location().reload();
    })
}

/// The note for a form that can start over by itself: the button calls `afresh`.
pub(super) fn restored_by(
    draft: Draft,
    lost: impl Fn() -> String + Send + Sync + 'static,
    afresh: impl Fn() + Copy + Send + Sync + 'static,
) -> AnyView {
    let lost = Signal::derive(lost);
    live(move || {
        if !draft.is_restored() {
            return ().into_any();
        }
        view! {
            <p class="pause-note form-note" role="status">
                <span>"What you had typed is back. "{move || lost.get()}</span>
                {button(Look::Plain, None, "Start afresh", afresh)}
            </p>
        }
        .into_any()
    })
}

//! The states loading, empty, failed and loaded, shown the same way on every page.

use leptos::prelude::*;

use super::{Glyph, Look, button, icon, live};
use crate::model::Failure;

/// The loading state of some data, and a way to reload it.
#[derive(Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) has_data: Signal<bool>,
    pub(crate) failure: Signal<Option<Failure>>,
    pub(crate) retry: Callback<()>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Loading,
    Failed,
    Empty,
    Ready,
}

/// Draws its children when there is data. Data on the screen stays while newer data loads. It also stays if that
/// fails; then a note says so.
#[component]
pub(crate) fn AsyncView(
    #[prop(into)] loading: Waiting,
    /// The name of what is loaded, shown while waiting: `runs`.
    what: &'static str,
    #[prop(into, optional)] is_empty: Signal<bool>,
    #[prop(into, optional)] empty: ViewFn,
    children: ChildrenFn,
) -> impl IntoView {
    let phase =
        Memo::new(move |_| match (loading.has_data.get(), loading.failure.with(Option::is_some)) {
            (false, false) => Phase::Loading,
            (false, true) => Phase::Failed,
            (true, _) if is_empty.get() => Phase::Empty,
            (true, _) => Phase::Ready,
        });
    view! {
        // An error in a search is shown under the search line.
        {live(move || match loading.failure.get().filter(|failure| !failure.is_of_search()) {
            Some(failure) => {
                view! { <FailureNote failure=failure retry=move || loading.retry.run(())/> }.into_any()
            }
            None => ().into_any(),
        })}
        {live(move || match phase.get() {
            Phase::Loading => view! {
                <div class="loading" role="status">
                    <span class="visually-hidden">{format!("Loading {what}")}</span>
                    <span class="loading-bar"></span>
                    <span class="loading-bar"></span>
                    <span class="loading-bar"></span>
                </div>
            }
            .into_any(),
            Phase::Failed => ().into_any(),
            Phase::Empty => view! { <div class="empty">{empty.run()}</div> }.into_any(),
            Phase::Ready => children().into_any(),
        })}
    }
}

/// An error, the advice for it, and a button that tries again.
#[component]
pub(crate) fn FailureNote(failure: Failure, retry: impl Fn() + 'static) -> impl IntoView {
    view! {
        <div class="failure" role="alert">
            {icon(Glyph::Alert)}
            <p><strong>{failure.message.clone()}</strong>" "{failure.advice()}</p>
            {button(Look::Plain, None, "Try again", retry)}
        </div>
    }
}

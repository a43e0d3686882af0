//! Loading, empty, error and data, the same on every page.

use leptos::prelude::*;

use crate::{
    api::{Failure, Load},
    components::{Glyph, Icon},
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Loading,
    Failed,
    Empty,
    Ready,
}

/// Draws `children` with what was loaded. Data that is on the screen stays there while newer data comes, and when newer
/// data fails to come; then a note says so.
#[component]
pub(crate) fn AsyncView<T, V>(
    load: Load<T>,
    /// What is loaded, for the waiting reader: `runs`.
    what: &'static str,
    #[prop(into, optional)] is_empty: Signal<bool>,
    #[prop(into, optional)] empty: ViewFn,
    children: impl Fn(Signal<T>) -> V + Send + Sync + 'static,
) -> impl IntoView
where
    T: Clone + PartialEq + Send + Sync + 'static,
    V: IntoView + 'static,
{
    let phase = Memo::new(move |_| {
        match (load.data.with(Option::is_some), load.failure.with(Option::is_some)) {
            (false, false) => Phase::Loading,
            (false, true) => Phase::Failed,
            (true, _) if is_empty.get() => Phase::Empty,
            (true, _) => Phase::Ready,
        }
    });
    let ready = move || {
        let first = load.data.get_untracked()?;
        let data = Memo::new(move |previous: Option<&T>| {
            load.data.get().unwrap_or_else(|| previous.unwrap_or(&first).clone())
        });
        Some(children(data.into()))
    };
    view! {
        {move || {
            load.failure.get().map(|failure| view! {
                <FailureNote failure=failure retry=move || load.reload()/>
            })
        }}
        {move || match phase.get() {
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
            Phase::Ready => ready().into_any(),
        }}
    }
}

/// What went wrong, what to do, and a button to do it.
#[component]
pub(crate) fn FailureNote(failure: Failure, retry: impl Fn() + 'static) -> impl IntoView {
    view! {
        <div class="failure" role="alert">
            <Icon glyph=Glyph::Alert/>
            <p><strong>{failure.message.clone()}</strong>" "{failure.advice()}</p>
            <button type="button" class="button" on:click=move |_| retry()>"Try again"</button>
        </div>
    }
}

//! Views whose code may still have to be loaded: pages, and what is hidden until the user asks for it.
//!
//! `parts` lists them. Without the feature `split`, the code of all of them is there from the start.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use leptos::{prelude::*, task::spawn_local};
use wasm_split_helpers::SplitLoaderError;

use crate::{
    components::{Dialog, FailureNote, live},
    model::{Code as FailureCode, Failure},
};

type Loading<T> = Pin<Box<dyn Future<Output = Result<T, SplitLoaderError>>>>;

/// A view whose code may still have to be loaded.
pub(crate) struct Deferred {
    load: fn() -> Loading<()>,
    view: Box<dyn Fn() -> Loading<AnyView> + Send + Sync>,
}

/// The loading state of a view's code.
#[derive(Clone, Copy, PartialEq)]
enum Code {
    Loading,
    Loaded,
    Missing,
}

impl Deferred {
    pub(super) fn new(
        load: fn() -> Loading<()>,
        view: impl Fn() -> Loading<AnyView> + Send + Sync + 'static,
    ) -> Self {
        Self { load, view: Box::new(view) }
    }

    /// The view, at once if its code is loaded. `what` names it in the error if the code cannot be loaded: `page`.
    pub(crate) fn show(self, what: &'static str) -> AnyView {
        self.drawn(what, None)
    }

    /// The view. `waits` is set while its code is being loaded.
    fn drawn(self, what: &'static str, waits: Option<RwSignal<bool>>) -> AnyView {
        let tell = move |is_waiting: bool| {
            if let Some(waits) = waits.filter(|waits| waits.get_untracked() != is_waiting) {
                waits.set(is_waiting);
            }
        };
        if let Some(view) = self.view() {
            tell(false);
            return view;
        }
        let (code, start) = (RwSignal::new(Code::Loading), self.load);
        let load = move || {
            code.set(Code::Loading);
            let loading = start();
            spawn_local(async move {
                let outcome = loading.await;
                // The user may have gone to another page in the meantime.
                let _gone =
                    code.try_set(if outcome.is_ok() { Code::Loaded } else { Code::Missing });
            });
        };
        load();
        live(move || {
            let code = code.get();
            tell(code == Code::Loading);
            match code {
                Code::Loading => {
                    view! { <div class="page-loading" aria-busy="true"></div> }.into_any()
                }
                Code::Loaded => self.view().into_any(),
                Code::Missing => missing(what, load),
            }
        })
    }

    /// The view, or `None` while its code is not loaded.
    fn view(&self) -> Option<AnyView> {
        let mut view = (self.view)();
        // What the view reads while it is made does not make it anew.
        let made = untrack(|| view.as_mut().poll(&mut Context::from_waker(Waker::noop())));
        match made {
            Poll::Ready(view) => view.ok(),
            Poll::Pending => None,
        }
    }
}

/// The error if code cannot be loaded. The server may have been upgraded since it served this console.
fn missing(what: &'static str, load: impl Fn() + 'static) -> AnyView {
    let advice = "After an upgrade of the server, reload the console.";
    let message = format!("This {what} could not be loaded. {advice}");
    let failure = Failure::new(FailureCode::Unreachable, message);
    view! { <FailureNote failure=failure retry=load/> }.into_any()
}

/// A dialog whose content is loaded when the dialog is first opened. It opens once the content is there, so that the
/// focus goes to the first field, or once it is known that the content cannot be loaded.
pub(super) fn dialog(
    open: RwSignal<bool>,
    title: &'static str,
    content: impl Fn() -> Deferred + Send + Sync + 'static,
) -> AnyView {
    let waits = RwSignal::new(false);
    let content = Arc::new(move || content().drawn("dialog", Some(waits)));
    view! { <Dialog open=open title=title waits=waits>{content()}</Dialog> }.into_any()
}

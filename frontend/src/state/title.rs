//! The page's name: in the browser's tab and history, and in the breadcrumb.

use leptos::prelude::*;

#[derive(Clone, Copy)]
struct Title(RwSignal<String>);

pub(super) fn provide() {
    let title = Title(RwSignal::new(String::new()));
    Effect::new(move |_| document().set_title(&format!("{} · Carillon", title.0.get())));
    provide_context(title);
}

/// Sets the page's name while the page is shown.
pub(crate) fn use_title(name: impl Fn() -> String + 'static) {
    let title = expect_context::<Title>();
    Effect::new(move |_| title.0.set(name()));
}

/// The name of the current page.
pub(crate) fn page_title() -> Signal<String> {
    expect_context::<Title>().0.into()
}

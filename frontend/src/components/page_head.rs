//! The head of a page: its name, its state, and its actions. The breadcrumb is in the frame.

use leptos::prelude::*;

/// A head under construction; `view` builds it.
pub(crate) struct PageHead {
    title: AnyView,
    aside: AnyView,
    actions: AnyView,
}

impl PageHead {
    /// A head with the page's name.
    pub(crate) fn new(title: impl IntoView + 'static) -> Self {
        Self { title: title.into_any(), aside: ().into_any(), actions: ().into_any() }
    }

    /// Shows a view beside the name: a state, a count.
    pub(crate) fn aside(self, aside: impl IntoView + 'static) -> Self {
        Self { aside: aside.into_any(), ..self }
    }

    /// Shows buttons at the far end.
    pub(crate) fn actions(self, actions: impl IntoView + 'static) -> Self {
        Self { actions: actions.into_any(), ..self }
    }

    pub(crate) fn view(self) -> AnyView {
        view! {
            <header class="page-head">
                <h1>{self.title}</h1>
                <div class="page-aside">{self.aside}</div>
                <div class="actions">{self.actions}</div>
            </header>
        }
        .into_any()
    }
}

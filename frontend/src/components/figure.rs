//! A number and its name, as one of several figures.

use leptos::prelude::*;

/// Draws the figure: its name, the number, the state that colours it, a note, and the page that it
/// links to.
pub(crate) fn figure(
    name: &'static str,
    number: String,
    state: &'static str,
    note: String,
    href: Option<String>,
) -> AnyView {
    let number = match href {
        Some(href) => view! { <a href=href>{number}</a> }.into_any(),
        None => number.into_any(),
    };
    view! {
        <div class="figure" data-state=(!state.is_empty()).then_some(state)>
            <dt>{name}</dt>
            <dd class="figure-count">{number}</dd>
            <dd class="figure-note">{note}</dd>
        </div>
    }
    .into_any()
}

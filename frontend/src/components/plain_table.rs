//! A table in a frame of its own that scrolls sideways, with its name for screen readers.

use leptos::prelude::*;

/// Headings over rows.
pub(crate) fn table(
    caption: &'static str,
    class: &'static str,
    headings: Vec<AnyView>,
    rows: AnyView,
) -> AnyView {
    view! {
        <div class="table-frame" tabindex="0" role="group" aria-label=caption>
            <table class=class>
                <caption class="visually-hidden">{caption}</caption>
                <thead><tr>{headings}</tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// A column's heading, and the class of its cells.
pub(crate) fn heading(words: &'static str, class: &'static str) -> AnyView {
    view! { <th scope="col" class=class>{words}</th> }.into_any()
}

/// A heading that only screen readers need.
pub(crate) fn silent_heading(words: &'static str) -> AnyView {
    view! { <th scope="col"><span class="visually-hidden">{words}</span></th> }.into_any()
}

//! The namespace of a row, for pages that list the rows of all namespaces.

use leptos::prelude::*;

use crate::{
    components::{Heading, heading},
    state::use_address,
};

fn is_across() -> bool {
    untrack(|| use_address().is_across())
}

/// The headings of a list. Across all namespaces, the heading of the namespace is added at position
/// `at`.
pub(in crate::pages) fn placed(mut headings: Vec<Heading>, at: usize) -> Vec<Heading> {
    if is_across() {
        headings.insert(at, heading("Namespace", ""));
    }
    headings
}

/// A row's cell below the heading of the namespace.
pub(in crate::pages) fn place_cell(namespace: &str) -> Option<AnyView> {
    let namespace = namespace.to_owned();
    is_across().then(|| view! { <td>{namespace}</td> }.into_any())
}

/// The namespace beside a name, for lists that are not tables.
pub(in crate::pages) fn place_note(namespace: &str) -> Option<AnyView> {
    let words = format!(" {namespace}");
    is_across().then(|| view! { <span class="muted place-note">{words}</span> }.into_any())
}

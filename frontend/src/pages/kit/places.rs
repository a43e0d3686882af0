//! The namespace of a row: shown where a page lists the rows of all namespaces.

use leptos::prelude::*;

use crate::{
    components::{Heading, heading},
    state::use_address,
};

fn is_across() -> bool {
    untrack(|| use_address().is_across())
}

/// The headings of a list; across all namespaces there is one more, at that place.
pub(in crate::pages) fn placed(mut headings: Vec<Heading>, at: usize) -> Vec<Heading> {
    if is_across() {
        headings.insert(at, heading("Namespace", ""));
    }
    headings
}

/// The cell of a row below that heading.
pub(in crate::pages) fn place_cell(namespace: &str) -> Option<AnyView> {
    let namespace = namespace.to_owned();
    is_across().then(|| view! { <td>{namespace}</td> }.into_any())
}

/// The same beside a name, where there is no table.
pub(in crate::pages) fn place_note(namespace: &str) -> Option<AnyView> {
    let words = format!(" {namespace}");
    is_across().then(|| view! { <span class="muted place-note">{words}</span> }.into_any())
}

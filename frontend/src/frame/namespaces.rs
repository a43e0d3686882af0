//! The picker of the current namespace: one of those that the user may see, or all of them.

use leptos::prelude::*;

use crate::{
    components::{Glyph, icon, live, menu},
    data::use_namespaces,
    route::{Route, Scope},
    state::{range_query, use_address},
};

/// The picker of the namespace. It leads to the same page of the other namespace; a page of one
/// item leads to its list.
pub(super) fn picker() -> AnyView {
    let address = use_address();
    let names = use_namespaces();
    let face = view! {
        <span class="namespace-name">{move || scope_words(address.scope())}</span>{icon(Glyph::Down)}
    };
    let list = live(move || {
        let care = address.route().map_or(Route::Overview, |route| route.care());
        let here = address.scope();
        let range = range_query(address, &care);
        let range: Vec<_> = range.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let link = |scope: Scope| {
            let current = (here.as_ref() == Some(&scope)).then_some("true");
            let words = scope_words(Some(scope.clone()));
            view! { <li><a href=care.narrowed_in(&scope, &range) aria-current=current>{words}</a></li> }
                .into_any()
        };
        let names = names.with(|names| names.iter().map(|named| named.name.clone()).collect());
        let names: Vec<String> = names.unwrap_or_default();
        // With only one namespace, the choice of all namespaces is not needed.
        let all = (names.len() > 1).then_some(Scope::All);
        let links: Vec<_> =
            all.into_iter().chain(names.into_iter().map(Scope::One)).map(link).collect();
        view! { <ul class="menu-list">{links}</ul> }.into_any()
    });
    menu("Namespace", face.into_any(), list)
}

fn scope_words(scope: Option<Scope>) -> String {
    match scope {
        Some(Scope::One(namespace)) => namespace,
        Some(Scope::All) => "All namespaces".to_owned(),
        None => String::new(),
    }
}

//! A link from a problem to a form for a new alert rule that would report it.

use leptos::prelude::*;

use crate::{
    route::{Route, Scope},
    state::use_session,
};

/// A link to a new rule about these events (`failed,missed`) of the schedules that `search` finds; empty for users
/// who may not create rules.
pub(super) fn watch(on: &'static str, search: Option<String>) -> AnyView {
    if !use_session().edits() {
        return ().into_any();
    }
    let search = search.unwrap_or_default();
    link(Route::NewAlertRule.narrowed(&[("on", on), ("search", &search)]))
}

/// A link to a new rule for schedules of a namespace, whichever namespace is shown: those that `search` finds, or all.
pub(super) fn watch_in(namespace: &str, on: &'static str, search: Option<&str>) -> AnyView {
    if !use_session().edits_in(namespace) {
        return ().into_any();
    }
    let terms = [("on", on), ("search", search.unwrap_or_default())];
    link(Route::NewAlertRule.narrowed_in(&Scope::One(namespace.to_owned()), &terms))
}

fn link(href: String) -> AnyView {
    view! { <a class="watch-link" href=href title="New alert rule">"Alert me"</a> }.into_any()
}

//! Leads from a problem to a rule that would report it: the form of a new alert rule, filled in.

use leptos::prelude::*;

use crate::{route::Route, state::use_session};

/// A link to a new rule about these events (`failed,missed`) of the schedules that `search` finds; empty for users
/// who may not create rules.
pub(super) fn watch(on: &'static str, search: Option<String>) -> AnyView {
    if !use_session().edits() {
        return ().into_any();
    }
    let search = search.unwrap_or_default();
    let href = Route::NewAlertRule.narrowed(&[("on", on), ("search", &search)]);
    view! { <a class="watch-link" href=href title="New alert rule">"Alert me"</a> }.into_any()
}

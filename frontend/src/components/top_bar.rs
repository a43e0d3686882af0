//! The bar on top: where one is, whose clock counts, who one is.

use leptos::{prelude::*, task::spawn_local};

use super::{Connection, Glyph, ShortcutKeys, ThemeSwitch, ZoneSwitch, icon, icon_button, live};
use crate::{
    api,
    route::Route,
    state::{SessionState, use_address, use_notices, use_session},
};

/// The bar.
#[component]
pub(crate) fn TopBar() -> impl IntoView {
    let session = use_session();
    let notices = use_notices();
    let name = move || match session.get() {
        SessionState::SignedIn { name, .. } => name,
        SessionState::Asking | SessionState::SignedOut | SessionState::Unknown(_) => String::new(),
    };
    let leave = move || {
        spawn_local(async move {
            match api::sign_out().await {
                Ok(None) => session.end(),
                Ok(Some(elsewhere)) => {
                    session.end();
                    // A browser that does not go there has left here all the same.
                    let _ = window().location().set_href(&elsewhere);
                }
                Err(failure) => notices.failed(&failure),
            }
        });
    };
    view! {
        <header class="top-bar">
            <a href=Route::Overview.path() class="brand" aria-label="Carillon">{icon(Glyph::Bell)}<span>"Carillon"</span></a>
            <nav class="main-nav" aria-label="Main">
                {link(Route::Overview, "Overview")}
                {link(Route::Schedules, "Schedules")}
                {link(Route::Runs, "Runs")}
                {link(Route::Ledger, "Ledger")}
                {link(Route::Cluster, "Cluster")}
                {link(Route::Metrics, "Metrics")}
                {link(Route::Health, "Health")}
                {link(Route::Audit, "Audit")}
            </nav>
            <div class="top-tools">
                <Connection/>
                <ZoneSwitch/>
                <ThemeSwitch/>
                <ShortcutKeys/>
                <span class="user" title="Signed in">{move || name()}</span>
                {icon_button(Glyph::SignOut, "Sign out", "Sign out".to_owned(), leave)}
            </div>
        </header>
    }
}

/// A schedule's page is under Schedules, and marks it.
fn link(to: Route, words: &'static str) -> AnyView {
    let address = use_address();
    live(move || {
        let here = address.route();
        let current = if here.as_ref() == Some(&to) {
            Some("page")
        } else {
            here.is_some_and(|here| here.is_under(&to)).then_some("true")
        };
        view! { <a href=to.path() aria-current=current>{words}</a> }.into_any()
    })
}

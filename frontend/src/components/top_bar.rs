//! The bar on top: where one is, whose clock counts, who one is.

use leptos::{prelude::*, task::spawn_local};
use leptos_router::{components::A, hooks::use_location};

use crate::{
    api,
    components::{Connection, Glyph, Icon, ShortcutKeys, ThemeSwitch, ZoneSwitch},
    route::Route,
    state::{SessionState, use_notices, use_session},
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
    let leave = move |_| {
        spawn_local(async move {
            match api::sign_out().await {
                Ok(()) => session.end(),
                Err(failure) => notices.failed(&failure),
            }
        });
    };
    view! {
        <header class="top-bar">
            <A href=Route::Overview.path() attr:class="brand" attr:aria-label="Carillon">
                <Icon glyph=Glyph::Bell/>
                <span>"Carillon"</span>
            </A>
            <Navigation/>
            <div class="top-tools">
                <Connection/>
                <ZoneSwitch/>
                <ThemeSwitch/>
                <ShortcutKeys/>
                <span class="user" title="Signed in">{name}</span>
                <button type="button" class="icon-button" aria-label="Sign out" title="Sign out" on:click=leave>
                    <Icon glyph=Glyph::SignOut/>
                </button>
            </div>
        </header>
    }
}

#[component]
fn Navigation() -> impl IntoView {
    let path = use_location().pathname;
    let link = move |route: Route, words: &'static str| {
        let href = route.path();
        let root = href.clone();
        // A schedule's page is under Schedules, and marks it.
        let current = move || {
            let path = path.get();
            let here = path == root || (root != "/" && path.starts_with(&format!("{root}/")));
            here.then_some(if path == root { "page" } else { "true" })
        };
        view! { <a href=href aria-current=current>{words}</a> }
    };
    view! {
        <nav class="main-nav" aria-label="Main">
            {link(Route::Overview, "Overview")}
            {link(Route::Schedules, "Schedules")}
            {link(Route::Runs, "Runs")}
        </nav>
    }
}

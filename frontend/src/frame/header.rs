//! The header: the current page, the range of time, the connection, the clock, and the user.

use leptos::prelude::*;

use super::{
    connection::Connection, hold, namespaces, palette::Palette, person, rail::PAGES, ranges,
    shortcut_keys::ShortcutKeys, zones,
};
use crate::{
    components::live,
    state::{page_title, use_address},
};

/// The header of every page.
#[component]
pub(crate) fn Header() -> impl IntoView {
    let shortcuts = RwSignal::new(false);
    view! {
        <header class="header">
            {namespaces::picker()}
            {breadcrumb()}
            <Palette/>
            {ranges::picker()}
            <div class="header-tools">
                <Connection/>
                {hold::button()}
                {zones::picker()}
                <ShortcutKeys open=shortcuts/>
                {person::menu_of(shortcuts)}
            </div>
        </header>
    }
}

/// The page's group or parent, and the page itself.
fn breadcrumb() -> AnyView {
    let (address, title) = (use_address(), page_title());
    live(move || {
        let Some(route) = address.route() else { return ().into_any() };
        let care = route.care();
        let list = PAGES.iter().find(|page| page.route == care && care != route);
        let list = list
            .map(|page| view! { <li><a href=page.route.path()>{page.words}</a></li> }.into_any());
        view! {
            <nav class="breadcrumb" aria-label="Breadcrumb">
                <ol>{list}<li aria-current="page">{move || title.get()}</li></ol>
            </nav>
        }
        .into_any()
    })
}

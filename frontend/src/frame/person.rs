//! The user's menu: appearance, profile, help, and signing out.

use leptos::prelude::*;

use crate::{
    components::{Glyph, Look, ThemeSwitch, button, checkbox, icon, menu},
    data::sign_out,
    model::Density,
    route::Route,
    state::{use_density, use_notices, use_session},
};

/// The menu, under the user's name. Setting `shortcuts` opens their list, whose button a narrow header has no room
/// for.
pub(super) fn menu_of(shortcuts: RwSignal<bool>) -> AnyView {
    let (session, notices, density) = (use_session(), use_notices(), use_density());
    let name = move || session.viewer().map(|viewer| viewer.name).unwrap_or_default();
    let face = view! { {icon(Glyph::Person)}<span class="user">{move || name()}</span>{icon(Glyph::Down)} };
    let choose_rows = move |is_roomy| density.choose(Density::of(is_roomy));
    let content = view! {
        <p class="menu-note">"Signed in as "<strong>{move || name()}</strong></p>
        <div class="menu-row"><span>"Theme"</span><ThemeSwitch/></div>
        {checkbox("Roomy rows", move || density.get().is_roomy(), choose_rows)}
        <ul class="menu-list">
            <li><a href=Route::Profile.path()>"Profile"</a></li>
            // The server's own pages open in another tab beside the console.
            <li><a href="/docs/" target="_blank" rel="noopener">"Documentation"</a></li>
            <li><a href="/graphiql" target="_blank" rel="noopener">"GraphQL"</a></li>
        </ul>
        <div data-closes="">
            {button(Look::Plain, Some(Glyph::Keyboard), "Shortcuts", move || shortcuts.set(true))}
        </div>
        {button(Look::Plain, Some(Glyph::SignOut), "Sign out", move || sign_out(session, notices))}
    };
    menu("You", face.into_any(), content.into_any())
}

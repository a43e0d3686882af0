//! The signed-in user, and their roles per namespace.

use leptos::prelude::*;

use crate::{
    api,
    components::{AsyncView, fact, heading, panel, table},
    data::use_load,
    model::{Profile as Me, RoleGrant, ViewerKind},
    route::Route,
    state::use_title,
};

/// The page of the signed-in user.
#[component]
pub(crate) fn Profile() -> impl IntoView {
    use_title(|| "Profile".to_owned());
    let me = use_load(|| Some(api::settings::profile()));
    view! {
        <header class="page-head"><h1>"Profile"</h1></header>
        <AsyncView loading=me.loading what="your profile">
            <div class="stack">{me.draw(identity)}{me.draw(grants)}</div>
        </AsyncView>
    }
}

fn identity(me: &Me) -> AnyView {
    let kind = match me.kind {
        ViewerKind::User => "Signed in with a session",
        ViewerKind::Token => "Signed in with a token",
    };
    let everywhere = me.role_everywhere.map_or("none on its own", |role| role.word());
    let tab = |tab: &'static str| Route::Tokens.narrowed(&[("tab", tab)]);
    let content = view! {
        <dl class="facts">
            {fact("Name", me.name.clone())}
            {fact("Here as", kind)}
            {fact("Everywhere", everywhere)}
            {fact("At most", me.role.word())}
        </dl>
        <p class="actions profile-links">
            <a class="button" href=tab("password")>"Change password"</a>
            <a class="button" href=tab("sessions")>"Sessions"</a>
            <a class="button" href=tab("")>"Tokens"</a>
            <a class="button" href=Route::Feeds.path()>"Calendar feeds"</a>
        </p>
    };
    panel("You", (), content.into_any())
}

fn grants(me: &Me) -> AnyView {
    let row = |grant: &RoleGrant| {
        let place = grant.namespace.clone().unwrap_or_else(|| "everywhere".to_owned());
        let sees = if grant.sees_payloads { "yes" } else { "no" };
        view! { <tr><th scope="row">{place}</th><td>{grant.role.word()}</td><td>{sees}</td></tr> }
            .into_any()
    };
    if me.grants.is_empty() {
        return ().into_any();
    }
    let headings =
        vec![heading("Namespace", ""), heading("Role", ""), heading("Sees payloads", "")];
    let rows: Vec<_> = me.grants.iter().map(row).collect();
    panel("In individual namespaces", (), table("Your roles", "table", headings, rows.into_any()))
}

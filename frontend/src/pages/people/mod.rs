//! Users and their roles. Administrators of the instance see all users; those of a namespace see its members.
//!
//! - `users`: all users; `user_sessions`: where one of them is signed in
//! - `members`: the members of one namespace
//! - `invite`: adds a user, with a password that is shown once
//! - `roles`: the permissions of each role, as a matrix

mod invite;
mod members;
mod roles;
mod user_forms;
mod user_sessions;
mod users;

use leptos::prelude::*;

use super::kit;
use crate::{
    components::{Tab, live},
    route::Route,
    state::{use_address, use_session, use_title},
};

const TABS: &[Tab] = &[
    Tab { name: "", words: "People" },
    Tab { name: "members", words: "Members of this namespace" },
    Tab { name: "roles", words: "Roles" },
];

fn href(tab: &str) -> String {
    Route::People.narrowed(&[("tab", tab)])
}

/// The page with people, members and roles.
#[component]
pub(crate) fn People() -> impl IntoView {
    use_title(|| "People and roles".to_owned());
    let address = use_address();
    let tab = Memo::new(move |_| address.query("tab"));
    view! {
        <header class="page-head">
            <h1>"People and roles"</h1>
        </header>
        {kit::tabs("People and roles", TABS)}
        {live(move || match tab.get().as_str() {
            "members" => view! { <members::Members/> }.into_any(),
            "roles" => roles::matrix(),
            _ => people(),
        })}
    }
}

fn people() -> AnyView {
    let session = use_session();
    let may = Memo::new(move |_| session.administers_all());
    live(move || {
        if may.get() {
            return view! { <users::Users/> }.into_any();
        }
        let members = href("members");
        view! {
            <div class="empty">
                {kit::empty("Administrators of the instance see all users", "They add people, disable them and give them roles everywhere.")}
                <p><a href=members>"Members of this namespace"</a></p>
            </div>
        }
        .into_any()
    })
}

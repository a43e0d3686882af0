//! The forms that end sessions: one, or all of a user.

use leptos::prelude::*;

use super::{Change, form};
use crate::{
    api,
    components::{Look, when_relative},
    model::Session,
    state::use_session,
};

/// The form that ends one session; `done` is called once it has ended.
pub(in crate::pages) fn end_session_form(
    session: &Session,
    open: RwSignal<bool>,
    done: impl Fn() + Clone + 'static,
) -> AnyView {
    let (id, program, place) = (session.id.clone(), session.program(), session.place());
    let used = session.used_at.map(|at| view! { " It was last used "{when_relative(at, None)}"." });
    let fields = view! {
        <p><strong>{program}</strong>" at "<strong>{place}</strong>" is signed out, and its open connections end within seconds."{used}</p>
    };
    let plan = move |_| {
        Ok(Change {
            ask: api::settings::revoke_session(id.clone()),
            said: "That browser is signed out.".to_owned(),
        })
    };
    let ended = move |_| done();
    form(open, (Look::Danger, "Sign out"), RwSignal::new(None), fields.into_any(), plan, ended)
}

/// The form that ends all sessions of a user; `done` is called once they have ended.
pub(in crate::pages) fn end_sessions_form(
    id: String,
    name: String,
    open: RwSignal<bool>,
    done: impl Fn() + Clone + 'static,
) -> AnyView {
    let is_own = use_session().viewer().is_some_and(|viewer| viewer.name == name);
    let (who, kept) = if is_own {
        ("You are".to_owned(), " You stay signed in here.")
    } else {
        (format!("{name} is"), "")
    };
    let fields = view! {
        <p>{format!("{who} signed out in every browser, and open connections end within seconds.{kept}")}</p>
        <p class="muted">"Tokens and calendar feeds keep working. Anyone who knows the password can still sign in."</p>
    };
    let plan = move |_| {
        let ask = api::settings::revoke_sessions(id.clone());
        let said = if is_own {
            "Your other browsers are signed out.".to_owned()
        } else {
            format!("{name} is signed out everywhere.")
        };
        Ok(Change { ask, said })
    };
    let ended = move |_| done();
    let action = (Look::Danger, "Sign out everywhere");
    form(open, action, RwSignal::new(None), fields.into_any(), plan, ended)
}

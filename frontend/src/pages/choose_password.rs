//! Choosing a password, after signing in with a one-time password. The form replaces the requested page, as the
//! sign-in page does, so afterwards that page is shown.

use leptos::{ev::SubmitEvent, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::{kit::of, parts};
use crate::{
    api,
    components::{Field, Glyph, Look, NoticeList, ThemeSwitch, button, icon},
    data::{ask_session, sign_out, use_actor},
    model::Failure,
    state::{use_notices, use_session, use_title},
};

/// The page. Its code is loaded when the page is shown, because most visitors do not see it.
pub(crate) fn choose_password() -> AnyView {
    parts::choose_password().show("page")
}

/// The page, once its code is loaded.
pub(super) fn content() -> AnyView {
    view! { <ChoosePassword/> }.into_any()
}

/// The form that replaces a one-time password.
#[component]
fn ChoosePassword() -> impl IntoView {
    use_title(|| "Choose your password".to_owned());
    let (session, notices, actor) = (use_session(), use_notices(), use_actor());
    let text = || RwSignal::new(String::new());
    let (old, new, again) = (RwSignal::new(session.typed_password()), text(), text());
    // The password of the sign-in is no longer known after a reload.
    let asks_for_old = RwSignal::new(old.with_untracked(String::is_empty));
    let wrong = RwSignal::new(None::<Failure>);
    let busy = RwSignal::new(false);
    let refuse = move |failure: Failure| {
        if failure.field.as_deref() == Some("oldPassword") {
            let _gone = asks_for_old.try_set(true);
        }
        let _gone = wrong.try_set(Some(failure));
        focus_on("form [aria-invalid=true]");
    };
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() {
            return;
        }
        if new.get_untracked() != again.get_untracked() {
            return refuse(Failure::of_field("again", "It differs from the new password."));
        }
        wrong.set(None);
        busy.set(true);
        let ask = api::settings::change_password(old.get_untracked(), new.get_untracked(), false);
        actor.send(ask, move |outcome| match outcome {
            // The form stays busy until the answer replaces it with the requested page.
            Ok(_) => ask_session(session),
            Err(failure) => {
                let _gone = busy.try_set(false);
                // It may be replaced already: in another tab, or by a request whose answer was lost.
                if failure.field.as_deref() == Some("oldPassword") {
                    ask_session(session);
                }
                refuse(failure);
            }
        });
    };
    focus_on("form input");
    let name = move || session.viewer().map(|viewer| viewer.name);
    let field = move |id: &'static str, label: &'static str, value, name: &'static str| {
        Field::new(id, label, value).kind("password").required().error(of(wrong, name))
    };
    let old_field = move || {
        let field = field("old-password", "One-time password", old, "oldPassword");
        asks_for_old.get().then(|| field.autocomplete("current-password").text())
    };
    let general = move || {
        wrong.get().filter(|failure| failure.field.is_none()).map(|failure| {
            view! { <p class="form-error">{failure.message.clone()}" "{failure.advice()}</p> }
                .into_any()
        })
    };
    view! {
        <main id="main" class="sign-in">
            <form class="sign-in-card panel" on:submit=submit novalidate>
                <p class="sign-in-brand">{icon(Glyph::Bell)}"Carillon"</p>
                <h1>"Choose your password"</h1>
                <p>
                    "You are signed in as "<strong>{move || name()}</strong>
                    ", with a password that someone else set. Choose your own to go on."
                </p>
                {move || old_field()}
                {field("new-password", "New password", new, "newPassword")
                    .autocomplete("new-password").hint("12 to 256 characters, and not easy to guess.").text()}
                {field("again", "New password, again", again, "again").autocomplete("new-password").text()}
                <div role="alert">{move || general()}</div>
                <button type="submit" class="button button-primary" aria-disabled=move || busy.get().to_string()>
                    "Set password"
                </button>
                {button(Look::Plain, None, "Sign out", move || sign_out(session, notices))}
            </form>
            <ThemeSwitch/>
        </main>
        <NoticeList/>
    }
}

/// Moves the focus to the first element that matches, once the page shows its latest state.
fn focus_on(selector: &'static str) {
    request_animation_frame(move || {
        let found = document().query_selector(selector).ok().flatten();
        if let Some(found) = found.and_then(|found| found.dyn_into::<HtmlElement>().ok()) {
            let _hidden = found.focus();
        }
    });
}

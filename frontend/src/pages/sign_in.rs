//! Signing in, by password or through the identity provider. The form is shown in place of the requested page, so
//! after signing in the page is simply shown.

use leptos::{ev::SubmitEvent, prelude::*, task::spawn_local};

use crate::{
    api::{self},
    components::{Field, Glyph, ThemeSwitch, icon},
    data::ask_session,
    model::Failure,
    state::{use_session, use_title},
};

/// Name and password.
#[component]
pub(crate) fn SignIn() -> impl IntoView {
    use_title(|| "Sign in".to_owned());
    let session = use_session();
    let name = RwSignal::new(String::new());
    let password = RwSignal::new(String::new());
    let failure = RwSignal::new(None::<Failure>);
    let busy = RwSignal::new(false);
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if busy.get_untracked() {
            return;
        }
        busy.set(true);
        failure.set(None);
        let (name, password) = (name.get_untracked().trim().to_owned(), password.get_untracked());
        spawn_local(async move {
            let outcome = api::sign_in(name, password).await;
            busy.set(false);
            match outcome {
                Ok(()) => ask_session(session),
                Err(refused) => failure.set(Some(refused)),
            }
        });
    };
    let provider = RwSignal::new(None::<String>);
    spawn_local(async move { provider.set(api::identity_provider().await) });
    let by_provider = move || {
        let name = provider.get()?;
        let text = format!("Sign in with {name}");
        Some(view! { <a class="button" href=api::provider_address()>{text}</a> }.into_any())
    };
    let wrong = move || {
        failure
            .get()
            .map(|failure| view! { <p class="form-error">{failure.message}</p> }.into_any())
    };
    view! {
        <main id="main" class="sign-in">
            <form class="sign-in-card panel" on:submit=submit>
                <p class="sign-in-brand">{icon(Glyph::Bell)}"Carillon"</p>
                <h1>"Sign in"</h1>
                {Field::new("name", "Name", name).required().autocomplete("username").text()}
                {Field::new("password", "Password", password)
                    .kind("password").required().autocomplete("current-password").text()}
                <div role="alert">{move || wrong()}</div>
                <button type="submit" class="button button-primary" aria-disabled=move || busy.get().to_string()>
                    "Sign in"
                </button>
                {move || by_provider()}
            </form>
            <ThemeSwitch/>
        </main>
    }
}

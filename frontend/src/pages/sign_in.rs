//! Signing in, by password or through the identity provider. The form replaces the requested page, so after signing
//! in that page is shown.

use leptos::{ev::SubmitEvent, prelude::*, task::spawn_local};

use crate::{
    api::{self, FirstVisit, SignInMethods},
    components::{Field, Glyph, ThemeSwitch, icon},
    data::ask_session,
    model::Failure,
    pages::parts,
    state::{use_session, use_title},
};

/// The page. Its code is loaded when the page is shown, because most visitors do not see it.
pub(crate) fn sign_in() -> AnyView {
    parts::sign_in().show("page")
}

/// The page, once its code is loaded.
pub(super) fn content() -> AnyView {
    view! { <SignIn/> }.into_any()
}

/// The form with name and password.
#[component]
fn SignIn() -> impl IntoView {
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
            let outcome = api::sign_in(name, password.clone()).await;
            busy.set(false);
            match outcome {
                Ok(()) => {
                    session.keep_typed_password(password);
                    ask_session(session);
                }
                Err(refused) => failure.set(Some(refused)),
            }
        });
    };
    let methods = RwSignal::new(None::<SignInMethods>);
    spawn_local(async move { methods.set(api::sign_in_methods().await) });
    let by_provider = move || {
        let name = methods.get()?.provider?;
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
                {move || methods.get().and_then(|methods| methods.first_visit).map(welcome)}
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

/// Instructions for the first visitor of a new server: the name of the administrator who can sign in.
fn welcome(visit: FirstVisit) -> AnyView {
    match visit.administrator {
        Some(name) => view! {
            <div class="sign-in-welcome" data-testid="first-visit">
                <p>"No user has signed in yet. The first administrator is " <strong>{name.clone()}</strong> "."</p>
                <p>
                    "The password is the one that was chosen, or the one in the output of the server's first start. \
                    If it is lost, set another one on the server:"
                </p>
                <code>{format!("carillon user passwd {name}")}</code>
            </div>
        }
        .into_any(),
        None => view! {
            <div class="sign-in-welcome" data-testid="first-visit">
                <p>"This server has no administrator yet. Add the first one on the server:"</p>
                <code>"carillon user add NAME --role admin"</code>
            </div>
        }
        .into_any(),
    }
}

//! The frame around every page, and the door in front of them.

use leptos::prelude::*;
use leptos_router::components::Router;

use crate::{
    components::{FailureNote, NoticeList, TopBar},
    pages::SignIn,
    route::Pages,
    state::{self, SessionState, use_session},
};

/// The console.
#[component]
pub(crate) fn App() -> impl IntoView {
    state::provide();
    view! {
        <Router>
            <a class="skip-link" href="#main">"Skip to content"</a>
            <Door/>
        </Router>
    }
}

/// Pages for who is signed in, the sign-in page for who is not. The address stays, so signing in leads where one wanted.
#[component]
fn Door() -> impl IntoView {
    let session = use_session();
    // The name and role may change without a new frame; only being in or out may not.
    let inside = Memo::new(move |_| match session.get() {
        SessionState::Asking => Inside::Asking,
        SessionState::SignedOut => Inside::No,
        SessionState::SignedIn { .. } => Inside::Yes,
        SessionState::Unknown(_) => Inside::Unknown,
    });
    move || match inside.get() {
        Inside::Asking => {
            view! { <main id="main" class="boot" aria-busy="true"></main> }.into_any()
        }
        Inside::No => view! { <SignIn/> }.into_any(),
        Inside::Yes => view! {
            <TopBar/>
            <main id="main" class="page" tabindex="-1"><Pages/></main>
            <NoticeList/>
        }
        .into_any(),
        Inside::Unknown => view! {
            <main id="main" class="page page-narrow">
                <h1>"Carillon"</h1>
                {move || match session.get() {
                    SessionState::Unknown(failure) => Some(view! {
                        <FailureNote failure=failure retry=move || session.ask()/>
                    }),
                    SessionState::Asking
                    | SessionState::SignedOut
                    | SessionState::SignedIn { .. } => None,
                }}
            </main>
        }
        .into_any(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Asking,
    No,
    Yes,
    Unknown,
}

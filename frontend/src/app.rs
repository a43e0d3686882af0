//! The frame around every page, and the pages in front of it: signing in, and replacing a one-time password.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::{
    components::{FailureNote, NoticeList, explain_times, hold_back_unread, live},
    data,
    frame::{Header, PhoneBar, Rail, provide_counts},
    model::{Failure, Role},
    pages,
    route::{Route, Scope},
    state::{self, SessionState, use_address, use_session},
};

/// The console.
#[component]
pub(crate) fn App() -> impl IntoView {
    state::provide();
    data::provide();
    explain_times();
    hold_back_unread();
    view! {
        <a class="skip-link" href="#main">"Skip to content"</a>
        <Door/>
    }
}

/// The pages for signed-in users, or the sign-in page, or the one that replaces a one-time password. The latter two do
/// not change the URL, so the requested page is shown afterwards.
#[component]
fn Door() -> impl IntoView {
    let session = use_session();
    // Only signing in or out rebuilds the frame; a change of the name or role does not.
    let inside = Memo::new(move |_| match session.get() {
        SessionState::Asking => Inside::Asking,
        SessionState::SignedOut => Inside::No,
        SessionState::SignedIn(viewer) if viewer.must_change_password => Inside::NewPassword,
        SessionState::SignedIn(_) => Inside::Yes,
        SessionState::Unknown(failure) => Inside::Unknown(failure),
    });
    live(move || match inside.get() {
        Inside::Asking => {
            view! { <main id="main" class="boot" aria-busy="true"></main> }.into_any()
        }
        Inside::No => pages::sign_in(),
        Inside::NewPassword => pages::choose_password(),
        Inside::Yes => inside_view(),
        Inside::Unknown(failure) => view! {
            <main id="main" class="page page-narrow">
                <h1>"Carillon"</h1>
                <FailureNote failure=failure retry=move || data::ask_session(session)/>
            </main>
        }
        .into_any(),
    })
}

/// The frame with the page in it.
fn inside_view() -> AnyView {
    provide_counts();
    data::provide_namespaces();
    view! {
        <div class="frame">
            <Rail/>
            <div class="frame-main">
                <Header/>
                <main id="main" class="page" tabindex="-1"><Pages/></main>
            </div>
            <PhoneBar/>
        </div>
        <NoticeList/>
    }
    .into_any()
}

#[derive(Clone, PartialEq)]
enum Inside {
    Asking,
    No,
    /// Only the page for a password of one's own.
    NewPassword,
    Yes,
    Unknown(Failure),
}

/// The page for the URL's path. A new path moves the focus to the page, like loading a page does. The filters of a
/// list are in the query string and do not move the focus.
#[component]
fn Pages() -> impl IntoView {
    let address = use_address();
    let session = use_session();
    let place = Memo::new(move |_| (address.scope(), address.route()));
    let route = Memo::new(move |_| place.get().1);
    // A link without a namespace leads to the last one that was visited.
    Effect::new(move |_| {
        if let ((None, Some(_)), Some(viewer)) = (place.get(), session.viewer()) {
            address.complete(&Scope::One(viewer.home(address.remembered())));
        }
    });
    Effect::new(move |before: Option<Option<Route>>| {
        let route = route.get();
        if before.is_some_and(|before| before != route) {
            let main = document().get_element_by_id("main");
            if let Some(main) = main.and_then(|main| main.dyn_into::<HtmlElement>().ok()) {
                let _gone = main.focus();
            }
        }
        route
    });
    // A page for another id or namespace is rebuilt, so that its subscriptions and lists start over.
    live(move || match place.get() {
        (None, Some(_)) => ().into_any(),
        (_, route) => page(route),
    })
}

fn page(route: Option<Route>) -> AnyView {
    let Some(route) = route else {
        #[cfg(debug_assertions)]
        if window().location().pathname().is_ok_and(|path| path == "/gallery") {
            return view! { <pages::Gallery/> }.into_any();
        }
        return view! { <pages::NotFound/> }.into_any();
    };
    match pages::needed_role(&route) {
        Some(needed) => guarded(needed, route),
        None => opened(route),
    }
}

/// The page, or the role that it needs.
fn guarded(needed: Role, route: Route) -> AnyView {
    let session = use_session();
    // Without a viewer, the sign-in page is about to replace all pages.
    let may = Memo::new(move |_| {
        session.viewer().is_none() || session.role().is_some_and(|role| role >= needed)
    });
    live(move || match may.get() {
        true => opened(route.clone()),
        false => view! { <pages::NotAllowed needed=needed route=route.clone()/> }.into_any(),
    })
}

fn opened(route: Route) -> AnyView {
    pages::page(route).show("page")
}

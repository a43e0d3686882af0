//! The frame around every page, and the door in front of them.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::{
    components::{FailureNote, NoticeList, live},
    data,
    frame::{Header, PhoneBar, Rail, provide_counts},
    model::Failure,
    pages,
    route::{Route, Scope},
    state::{self, SessionState, use_address, use_session},
};

/// The console.
#[component]
pub(crate) fn App() -> impl IntoView {
    state::provide();
    data::provide();
    view! {
        <a class="skip-link" href="#main">"Skip to content"</a>
        <Door/>
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
        SessionState::SignedIn(_) => Inside::Yes,
        SessionState::Unknown(failure) => Inside::Unknown(failure),
    });
    live(move || match inside.get() {
        Inside::Asking => {
            view! { <main id="main" class="boot" aria-busy="true"></main> }.into_any()
        }
        Inside::No => view! { <pages::SignIn/> }.into_any(),
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
    Yes,
    Unknown(Failure),
}

/// The page for the address. A new address moves the focus to the page, as loading one would; what narrows a list is in
/// the query and moves nothing.
#[component]
fn Pages() -> impl IntoView {
    let address = use_address();
    let session = use_session();
    let place = Memo::new(move |_| (address.scope(), address.route()));
    let route = Memo::new(move |_| place.get().1);
    // A link that names no namespace leads to the one that one was in last.
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
    // Another id or another namespace is another page: its subscriptions and lists begin anew.
    live(move || match place.get() {
        (None, Some(_)) => ().into_any(),
        (_, route) => page(route),
    })
}

fn page(route: Option<Route>) -> AnyView {
    match route {
        Some(Route::Overview) => view! { <pages::Overview/> }.into_any(),
        Some(Route::Schedules) => view! { <pages::Schedules/> }.into_any(),
        Some(Route::NewSchedule) => view! { <pages::NewSchedule/> }.into_any(),
        Some(Route::Schedule(id)) => view! { <pages::Schedule id=id/> }.into_any(),
        Some(Route::EditSchedule(id)) => view! { <pages::EditSchedule id=id/> }.into_any(),
        Some(Route::Runs) => view! { <pages::Runs/> }.into_any(),
        Some(Route::Run(id)) => view! { <pages::Run id=id/> }.into_any(),
        Some(Route::Cluster) => view! { <pages::Cluster/> }.into_any(),
        Some(Route::Alerts) => view! { <pages::Alerts/> }.into_any(),
        Some(Route::AlertRules) => view! { <pages::AlertRules/> }.into_any(),
        Some(Route::NewAlertRule) => view! { <pages::NewAlertRule/> }.into_any(),
        Some(Route::Upcoming) => view! { <pages::Upcoming/> }.into_any(),
        Some(Route::Backfills) => view! { <pages::Backfills/> }.into_any(),
        Some(Route::NewBackfill) => view! { <pages::NewBackfill/> }.into_any(),
        Some(Route::Calendars) => view! { <pages::Calendars/> }.into_any(),
        Some(Route::NewCalendar) => view! { <pages::NewCalendar/> }.into_any(),
        Some(Route::Workflows) => view! { <pages::Workflows/> }.into_any(),
        Some(Route::NewWorkflow) => view! { <pages::NewWorkflow/> }.into_any(),
        Some(Route::Groups) => view! { <pages::Groups/> }.into_any(),
        Some(Route::Modules) => view! { <pages::Modules/> }.into_any(),
        Some(Route::DeployModule) => view! { <pages::DeployModule/> }.into_any(),
        Some(Route::Profile) => view! { <pages::Profile/> }.into_any(),
        Some(Route::People) => view! { <pages::People/> }.into_any(),
        Some(Route::Tokens) => view! { <pages::Tokens/> }.into_any(),
        Some(Route::Secrets) => view! { <pages::Secrets/> }.into_any(),
        Some(Route::Namespaces) => view! { <pages::Namespaces/> }.into_any(),
        Some(Route::Feeds) => view! { <pages::Feeds/> }.into_any(),
        Some(Route::EditAlertRule(id)) => view! { <pages::EditAlertRule id=id/> }.into_any(),
        Some(Route::Backfill(id)) => view! { <pages::Backfill id=id/> }.into_any(),
        Some(Route::EditCalendar(id)) => view! { <pages::EditCalendar id=id/> }.into_any(),
        Some(Route::Workflow(id)) => view! { <pages::Workflow id=id/> }.into_any(),
        Some(Route::EditWorkflow(id)) => view! { <pages::EditWorkflow id=id/> }.into_any(),
        Some(Route::Module(name)) => view! { <pages::Module name=name/> }.into_any(),
        Some(Route::Audit) => view! { <pages::Audit/> }.into_any(),
        Some(Route::Health) => view! { <pages::Health/> }.into_any(),
        Some(Route::Ledger) => view! { <pages::Ledger/> }.into_any(),
        Some(Route::Metrics) => view! { <pages::Metrics/> }.into_any(),
        None => view! { <pages::NotFound/> }.into_any(),
    }
}

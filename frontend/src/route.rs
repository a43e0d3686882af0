//! Every address of the console, as one enum.

use leptos::prelude::*;
use leptos_router::{
    components::{FlatRoutes, Route as Leaf},
    hooks::{use_location, use_params_map},
    path,
};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::pages;

/// A place in the console. Links are made from it, never from text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Overview,
    Schedules,
    /// The list, narrowed to a tag.
    SchedulesTagged(String),
    NewSchedule,
    Schedule(String),
    EditSchedule(String),
    Runs,
    Run(String),
}

impl Route {
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Overview => "/".to_owned(),
            Self::Schedules => "/schedules".to_owned(),
            Self::SchedulesTagged(tag) => {
                format!("/schedules?tag={}", js_sys::encode_uri_component(tag))
            }
            Self::NewSchedule => "/schedules/new".to_owned(),
            Self::Schedule(id) => format!("/schedules/{id}"),
            Self::EditSchedule(id) => format!("/schedules/{id}/edit"),
            Self::Runs => "/runs".to_owned(),
            Self::Run(id) => format!("/runs/{id}"),
        }
    }
}

/// The `:id` of the address.
pub(crate) fn use_id() -> Signal<String> {
    let params = use_params_map();
    Signal::derive(move || params.with(|params| params.get("id").unwrap_or_default()))
}

/// The page for the address. A new address moves the focus to the page, as loading one would; what narrows a list is in
/// the query and moves nothing.
#[component]
pub(crate) fn Pages() -> impl IntoView {
    let path = use_location().pathname;
    Effect::new(move |previous: Option<String>| {
        let path = path.get();
        if previous.is_some_and(|previous| previous != path) {
            let main = document().get_element_by_id("main");
            if let Some(main) = main.and_then(|main| main.dyn_into::<HtmlElement>().ok()) {
                let _gone = main.focus();
            }
        }
        path
    });
    view! {
        <FlatRoutes fallback=pages::NotFound>
            <Leaf path=path!("/") view=pages::Overview/>
            <Leaf path=path!("/schedules") view=pages::Schedules/>
            <Leaf path=path!("/schedules/new") view=pages::NewSchedule/>
            <Leaf path=path!("/schedules/:id") view=pages::Schedule/>
            <Leaf path=path!("/schedules/:id/edit") view=pages::EditSchedule/>
            <Leaf path=path!("/runs") view=pages::Runs/>
            <Leaf path=path!("/runs/:id") view=pages::Run/>
        </FlatRoutes>
    }
}

//! The browser's address, and navigation.
//!
//! A link is a plain `<a href>`. A click on a link to a page of the console is intercepted here, and changes the
//! address without loading anything. Filters of a list are in the query string, which is also read from here, so a
//! view can be bookmarked and sent to a colleague.

use leptos::{ev, prelude::*};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, MouseEvent, Url, UrlSearchParams};

use super::memory;
use crate::route::{Route, Scope};

/// The storage key of the last visited namespace.
const KEY: &str = "carillon.namespace";

/// The address, to read and to change.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    path: RwSignal<String>,
    query: RwSignal<String>,
    scope: Memo<Option<Scope>>,
}

impl Address {
    /// The page that the address names; tracked.
    pub(crate) fn route(self) -> Option<Route> {
        self.path.with(|path| Route::parse(path)).map(|(_, route)| route)
    }

    /// The scope in the address, if there is one; tracked.
    pub(crate) fn scope(self) -> Option<Scope> {
        self.scope.get()
    }

    /// The current namespace in the form that the API takes; tracked.
    pub(crate) fn namespace(self) -> String {
        match self.scope.get() {
            Some(Scope::One(namespace)) => namespace,
            Some(Scope::All) | None => String::new(),
        }
    }

    /// Whether all namespaces are shown; tracked.
    pub(crate) fn is_across(self) -> bool {
        self.scope.get() == Some(Scope::All)
    }

    /// The last visited namespace, even from an earlier session.
    pub(crate) fn remembered(self) -> Option<String> {
        memory::recall(KEY)
    }

    /// Enters a scope, and stays on the page that the address names.
    pub(crate) fn complete(self, scope: &Scope) {
        if let Some(route) = untrack(|| self.route()) {
            self.replace(&format!("{}{}", route.path_in(scope), self.query.get_untracked()));
        }
    }

    /// A value of the query, empty if there is none; tracked.
    pub(crate) fn query(self, name: &str) -> String {
        let params = UrlSearchParams::new_with_str(&self.query.get()).ok();
        params.and_then(|params| params.get(name)).unwrap_or_default()
    }

    /// The address of this page with some values of the query changed; empty values are removed.
    pub(crate) fn with(self, changes: &[(&str, &str)]) -> String {
        untrack(|| self.href(changes))
    }

    /// The address with changed values, for a link; tracked.
    pub(crate) fn href(self, changes: &[(&str, &str)]) -> String {
        let (path, query) = (self.path.get(), self.query.get());
        let Ok(params) = UrlSearchParams::new_with_str(&query) else { return path };
        for (name, value) in changes {
            if value.is_empty() { params.delete(name) } else { params.set(name, value) }
        }
        let query = String::from(params.to_string());
        if query.is_empty() { path } else { format!("{path}?{query}") }
    }

    /// Goes to another page, or to another view of this one, and adds an entry to the history.
    pub(crate) fn go(self, to: &str) {
        self.enter(to, false);
        window().scroll_to_with_x_and_y(0.0, 0.0);
    }

    /// Changes the view without adding to the history, for example while the user types.
    pub(crate) fn replace(self, to: &str) {
        self.enter(to, true);
    }

    fn enter(self, to: &str, replaces: bool) {
        let Ok(history) = window().history() else { return };
        let entered = if replaces {
            history.replace_state_with_url(&JsValue::NULL, "", Some(to))
        } else {
            history.push_state_with_url(&JsValue::NULL, "", Some(to))
        };
        if entered.is_ok() {
            self.read();
        }
    }

    /// Reads the browser's address. The query is set first, because a page that the new path creates reads it.
    fn read(self) {
        let location = window().location();
        let (path, query) = (location.pathname(), location.search());
        let query = query.unwrap_or_default();
        if self.query.with_untracked(|known| *known != query) {
            self.query.set(query);
        }
        let path = path.unwrap_or_default();
        if let Some((Some(scope), _)) = Route::parse(&path) {
            scope.enter();
            if let Scope::One(namespace) = &scope {
                memory::remember(KEY, namespace);
            }
        }
        if self.path.with_untracked(|known| *known != path) {
            self.path.set(path);
        }
    }

    /// Follows a link within the console. Every other click is left to the browser.
    fn follow(self, event: &MouseEvent) {
        let is_plain = event.button() == 0
            && !(event.ctrl_key() || event.meta_key() || event.shift_key() || event.alt_key())
            && !event.default_prevented();
        let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        let link = target.and_then(|target| target.closest("a[href]").ok().flatten());
        let href = link.and_then(|link| link.get_attribute("href")).unwrap_or_default();
        let to = is_plain.then(|| within(&href)).flatten();
        if let Some(to) = to {
            event.prevent_default();
            self.go(&to);
        }
    }
}

/// The path and query of a link that leads to a page of the console.
fn within(href: &str) -> Option<String> {
    let to = href.starts_with('/').then(|| Url::new_with_base(href, &window().origin()).ok())??;
    Route::parse(&to.pathname())?;
    Some(format!("{}{}", to.pathname(), to.search()))
}

pub(super) fn provide() {
    let path = RwSignal::new(String::new());
    let scope =
        Memo::new(move |_| path.with(|path| Route::parse(path)).and_then(|(scope, _)| scope));
    let address = Address { path, query: RwSignal::new(String::new()), scope };
    address.read();
    window_event_listener(ev::popstate, move |_| address.read());
    window_event_listener(ev::click, move |event| address.follow(&event));
    provide_context(address);
}

pub(crate) fn use_address() -> Address {
    expect_context()
}

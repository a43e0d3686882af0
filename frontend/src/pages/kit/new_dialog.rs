//! A link to the dialog with which a page creates an object.

use leptos::prelude::*;

use crate::{route::Route, state::use_address};

/// Opens the dialog of the page `route` if the address has the query of [`Route::CREATE`], and removes the query, so
/// that a reload does not open the dialog again. Waits until the user `may` create an object.
pub(in crate::pages) fn open_if_asked(
    open: RwSignal<bool>,
    route: Route,
    may: impl Fn() -> bool + 'static,
) {
    let address = use_address();
    let here = Some(route);
    Effect::new(move |_| {
        let (name, value) = Route::CREATE;
        if address.query(name) != value || !may() {
            return;
        }
        // The query may already be that of another page, which is about to replace this page.
        if untrack(|| address.route()) != here {
            return;
        }
        address.replace(&address.with(&[(name, "")]));
        open.set(true);
    });
}

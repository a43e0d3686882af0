//! Pages of the versions of a definition, newest first. The address holds the number of the version with which a page
//! begins, so a page stays the same when new versions are made.

use leptos::prelude::*;

use crate::{
    components::pager,
    model::Place,
    pages::{cursors, place},
    state::Address,
};

/// The version with which the page begins; `None` for the newest one.
pub(in crate::pages) fn use_first_version(address: Address) -> Memo<Option<i64>> {
    Memo::new(move |_| match place(address) {
        Place::After(number) => number.parse().ok(),
        Place::First | Place::Before(_) => None,
    })
}

/// The buttons that lead to the newest versions and to those from `older` on, the first of the next page.
pub(in crate::pages) fn version_pager(
    address: Address,
    first: Memo<Option<i64>>,
    older: impl Fn() -> Option<i64> + Send + Sync + 'static,
) -> AnyView {
    let beside = Signal::derive(move || {
        let newest = first.get().map(|_| Place::First);
        (newest, older().map(|number| Place::After(number.to_string())))
    });
    pager(beside, "versions", move |to| address.go(&address.with(&cursors(&to))))
}

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

/// The buttons that lead to the page of the newer versions, and to that of the older ones. `current` is the newest
/// version, `size` the length of a page, and `older` the first version of the next page.
pub(in crate::pages) fn version_pager(
    address: Address,
    first: Memo<Option<i64>>,
    current: impl Fn() -> Option<i64> + Send + Sync + 'static,
    size: usize,
    older: impl Fn() -> Option<i64> + Send + Sync + 'static,
) -> AnyView {
    let beside = Signal::derive(move || {
        let newer = first.get().map(|number| newer(number, size, current()));
        (newer, older().map(|number| Place::After(number.to_string())))
    });
    pager(beside, "versions", move |to| address.go(&address.with(&cursors(&to))))
}

/// The page before the one that begins with version `number`.
fn newer(number: i64, size: usize, current: Option<i64>) -> Place {
    let from = number.saturating_add(i64::try_from(size).unwrap_or(i64::MAX));
    if current.is_none_or(|current| from >= current) {
        Place::First
    } else {
        Place::After(from.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_before_ends_where_this_one_begins() {
        assert_eq!(newer(5, 20, Some(45)), Place::After("25".to_owned()));
        assert_eq!(newer(25, 20, Some(45)), Place::First);
        assert_eq!(newer(30, 20, Some(45)), Place::First, "a page cannot begin after the newest");
        assert_eq!(newer(5, 20, None), Place::First);
    }
}

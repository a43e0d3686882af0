//! A page of a list into which events are merged, by id.
//!
//! An answer may be older than events that arrived while it was loading. These events are merged into the answer
//! again, so no row reverts to an older state.

use std::{collections::BTreeSet, marker::PhantomData, rc::Rc, sync::Arc};

use leptos::prelude::*;

use super::{
    Load,
    load::{Watcher, watched},
};
use crate::{
    api::Ask,
    components::Beside,
    model::{Page, Place, Row},
    state::{Change, Held, Item, List, Showing},
};

/// The rows of a page, and the request that loads them.
pub(crate) struct Listing<T> {
    pub(crate) load: Load<Page<T>>,
    pub(crate) list: List,
    size: usize,
}

impl<T> Clone for Listing<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Listing<T> {}

/// Loads a page of at most `size` rows.
pub(crate) fn use_listing<T: Row>(
    size: usize,
    make: impl Fn() -> Ask<Page<T>> + 'static,
) -> Listing<T> {
    let list = List::new(size);
    let filler = Filler::<T> { list, row: PhantomData };
    Listing { load: watched(move || Some(make()), Some(Rc::new(filler))), list, size }
}

impl<T: Row> Listing<T> {
    /// The number of answers whose rows have been drawn; tracked. Further data about the rows is loaded only then.
    pub(crate) fn drawn(self) -> usize {
        self.list.drawn()
    }

    /// The distinct values that `take` finds in the loaded rows, in order; tracked.
    pub(crate) fn distinct(self, take: &dyn Fn(&T) -> Option<String>) -> Vec<String> {
        let all = self.load.with(|page| page.rows.iter().filter_map(|row| take(row)).collect());
        let all: BTreeSet<String> = all.unwrap_or_default();
        all.into_iter().collect()
    }

    /// The previous and the next page.
    pub(crate) fn beside(self) -> Beside {
        Signal::derive(move || {
            let beside = |page: &Page<T>| {
                (page.previous.clone().map(Place::Before), page.next.clone().map(Place::After))
            };
            self.load.with(beside).unwrap_or_default()
        })
    }

    /// Merges changed rows. A known row is replaced, or removed if it no longer `fits`. A new row that fits is added
    /// if the page `is_top`.
    pub(crate) fn merge(self, changed: Vec<T>, is_top: bool, fits: impl Fn(&T) -> bool) {
        let change = |row: T| {
            let (id, fits) = (row.id().to_owned(), fits(&row));
            Change { id, row: fits.then(|| Held::new(Arc::new(row))), enters: is_top }
        };
        self.apply(changed.into_iter().map(change).collect());
    }

    /// Removes a row that no longer exists.
    pub(crate) fn remove(self, id: String) {
        self.apply(vec![Change { id, row: None, enters: false }]);
    }

    /// Applies changes to the list. If the page has become too short, it is filled up from the next page.
    fn apply(self, changes: Vec<Change>) {
        let left = self.list.merge(changes);
        let has_next = untrack(|| self.load.with(|page| page.next.is_some()));
        if left < self.size && has_next == Some(true) {
            self.load.loading.refresh();
        }
    }
}

/// Writes the rows of each answer into the list.
struct Filler<T> {
    list: List,
    row: PhantomData<fn() -> T>,
}

impl<T: Row> Watcher for Filler<T> {
    fn begun(&self) {
        self.list.begin();
    }

    fn ended(&self, data: Option<Held>, showing: Showing) {
        let item = |row: &Arc<T>| Item { id: row.id().to_owned(), row: Held::new(row.clone()) };
        let page = data.and_then(|data| data.get::<Page<T>>());
        self.list.end(page.map(|page| page.rows.iter().map(item).collect()), showing);
    }
}

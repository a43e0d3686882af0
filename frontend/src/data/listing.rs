//! A page of a list into which events are merged, by id.
//!
//! An answer may be older than events that arrived while it was loading. These events are merged into the answer
//! again, so no row reverts to an older state.

use std::{collections::BTreeSet, marker::PhantomData, rc::Rc, sync::Arc, time::Duration};

use leptos::prelude::*;

use super::{
    Load,
    load::{Watcher, watched},
};
use crate::{
    api::Ask,
    components::Beside,
    model::{Page, Place, Row},
    state::{Change, Held, Item, List},
};

/// The rows of a page, and the request that loads them.
pub(crate) struct Listing<T> {
    pub(crate) load: Load<Page<T>>,
    pub(crate) list: List,
    /// Counts the answers. Each counts once its rows have been drawn, so that further data about the rows is loaded
    /// only then.
    pub(crate) drawn: RwSignal<usize>,
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
    let (list, drawn) = (List::new(size), RwSignal::new(0));
    let filler = Filler::<T> { list, drawn, row: PhantomData };
    Listing { load: watched(move || Some(make()), Some(Rc::new(filler))), list, drawn, size }
}

impl<T: Row> Listing<T> {
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
    drawn: RwSignal<usize>,
    row: PhantomData<fn() -> T>,
}

impl<T: Row> Watcher for Filler<T> {
    fn begun(&self) {
        self.list.begin();
    }

    fn ended(&self, data: Option<Held>) {
        let item = |row: &Arc<T>| Item { id: row.id().to_owned(), row: Held::new(row.clone()) };
        let page = data.and_then(|data| data.get::<Page<T>>());
        if page.is_some() {
            count_once_drawn(self.drawn);
        }
        self.list.end(page.map(|page| page.rows.iter().map(item).collect()));
    }
}

/// Counts an answer once its rows are drawn: a timer runs after everything that depends on the list.
fn count_once_drawn(drawn: RwSignal<usize>) {
    let next = move || {
        let _gone = drawn.try_update(|answers| *answers = answers.wrapping_add(1));
    };
    set_timeout(next, Duration::ZERO);
}

//! The rows of a list, independent of their type.

use leptos::prelude::*;

use super::Held;

/// One page of rows, into which changes are merged.
#[derive(Clone, Copy)]
pub(crate) struct List {
    items: RwSignal<Vec<Item>>,
    /// The changes since the running request began.
    journal: StoredValue<Option<Vec<Change>>>,
    size: usize,
}

/// A row and its id.
#[derive(Clone)]
pub(crate) struct Item {
    pub(crate) id: String,
    pub(crate) row: Held,
}

/// A change of one row.
#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) id: String,
    /// The current row; `None` if it no longer belongs to the list.
    pub(crate) row: Option<Held>,
    /// Whether the row is added if it is not in the list yet.
    pub(crate) enters: bool,
}

impl List {
    pub(crate) fn new(size: usize) -> Self {
        Self { items: RwSignal::new(Vec::new()), journal: StoredValue::new(None), size }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.items.with(Vec::is_empty)
    }

    /// The number of rows on the page; tracked.
    pub(crate) fn len(self) -> usize {
        self.items.with(Vec::len)
    }

    pub(crate) fn ids(self) -> Vec<String> {
        self.items.with(|items| items.iter().map(|item| item.id.clone()).collect())
    }

    /// Whether a row is on the page.
    pub(crate) fn knows(self, id: &str) -> bool {
        self.items.with_untracked(|items| items.iter().any(|item| item.id == id))
    }

    /// The current row with this id.
    pub(crate) fn get(self, id: &str) -> Option<Held> {
        let row = |items: &Vec<Item>| {
            items.iter().find(|item| item.id == id).map(|item| item.row.clone())
        };
        self.items.with_untracked(row)
    }

    /// The row with this id, tracked. A row that has left the page keeps its last state, so that it is not redrawn
    /// just before it is removed.
    pub(crate) fn row(self, id: String) -> Memo<Option<Held>> {
        Memo::new(move |before: Option<&Option<Held>>| {
            let row = |items: &Vec<Item>| {
                items.iter().find(|item| item.id == id).map(|item| item.row.clone())
            };
            self.items.try_with(row).flatten().or_else(|| before.cloned().flatten())
        })
    }

    /// Records that a request begins: its answer will contain all earlier changes.
    pub(crate) fn begin(self) {
        self.journal.set_value(Some(Vec::new()));
    }

    /// Records that a request has ended. Its answer may lack later changes, so they are merged again.
    pub(crate) fn end(self, answer: Option<Vec<Item>>) {
        let journal = self.journal.try_update_value(Option::take).flatten();
        if let Some(mut items) = answer {
            merge(&mut items, journal.unwrap_or_default(), self.size);
            self.items.set(items);
        }
    }

    /// Merges changes; returns the resulting number of rows.
    pub(crate) fn merge(self, changes: Vec<Change>) -> usize {
        self.journal.update_value(|journal| {
            if let Some(journal) = journal {
                journal.extend_from_slice(&changes);
            }
        });
        let left = self.items.try_update(|items| {
            merge(items, changes, self.size);
            items.len()
        });
        left.unwrap_or_default()
    }
}

/// Merges changes. A known row is replaced in place, or removed. A new row is inserted by its id: ids begin with a
/// timestamp, and the newest row comes first.
fn merge(items: &mut Vec<Item>, changes: Vec<Change>, size: usize) {
    for Change { id, row, enters } in changes {
        let place = items.iter().position(|item| item.id == id);
        match (place, row) {
            (Some(place), Some(row)) => {
                if let Some(item) = items.get_mut(place) {
                    item.row = row;
                }
            }
            (Some(place), None) => drop(items.remove(place)),
            (None, Some(row)) if enters => {
                let place = items.iter().position(|item| item.id < id).unwrap_or(items.len());
                items.insert(place, Item { id, row });
            }
            (None, _) => {}
        }
    }
    items.truncate(size);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn items(ids: &[&str]) -> Vec<Item> {
        ids.iter().map(|id| Item { id: (*id).to_owned(), row: Held::new(Arc::new(0_u8)) }).collect()
    }

    fn change(id: &str, row: Option<u8>) -> Change {
        Change { id: id.to_owned(), row: row.map(|row| Held::new(Arc::new(row))), enters: true }
    }

    fn shown(items: &[Item]) -> Vec<(&str, u8)> {
        let row = |item: &Item| item.row.clone().get::<u8>().map_or(99, |row| *row);
        items.iter().map(|item| (item.id.as_str(), row(item))).collect()
    }

    #[test]
    fn a_known_row_keeps_its_place_and_a_new_one_comes_in_by_its_age() {
        let mut rows = items(&["f", "d", "b"]);
        merge(&mut rows, vec![change("d", Some(1)), change("e", Some(2)), change("g", Some(3))], 9);
        assert_eq!(shown(&rows), [("g", 3), ("f", 0), ("e", 2), ("d", 1), ("b", 0)]);
    }

    #[test]
    fn a_row_that_no_longer_fits_leaves_and_an_unknown_one_that_may_not_enter_stays_out() {
        let mut rows = items(&["b", "a"]);
        let outsider = Change { enters: false, ..change("c", Some(1)) };
        merge(&mut rows, vec![change("a", None), outsider], 9);
        assert_eq!(shown(&rows), [("b", 0)]);
    }

    #[test]
    fn the_list_keeps_its_size_and_its_newest_rows() {
        let mut rows = items(&["d", "c"]);
        merge(&mut rows, vec![change("a", Some(1)), change("e", Some(1))], 2);
        assert_eq!(shown(&rows), [("e", 1), ("d", 0)]);
    }
}

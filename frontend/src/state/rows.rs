//! The rows of a list, independent of their type.
//!
//! Changes are merged at once, but shown on the list's beat: a busy stream draws the list four times a second. An
//! answer for which the user waits is shown at once.

use std::time::Duration;

use leptos::prelude::*;

use super::{Beat, Held, Hold, Press, use_hold, use_press};

/// One page of rows, into which changes are merged.
#[derive(Clone, Copy)]
pub(crate) struct List {
    /// The rows that are shown.
    items: RwSignal<Vec<Item>>,
    /// The rows with all changes.
    latest: StoredValue<Vec<Item>>,
    /// Which of the latest changes are not shown yet.
    behind: StoredValue<Behind>,
    /// The changes since the running request began.
    journal: StoredValue<Option<Vec<Change>>>,
    /// Counts the answers. Each counts once its rows have been drawn.
    drawn: RwSignal<usize>,
    beat: Beat,
    calm: (Press, Hold),
    size: usize,
}

/// When an answer is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Showing {
    /// Now, because the user waits for it.
    Now,
    /// On the list's beat, because only the list's own changes have caused it.
    OnBeat,
}

/// The latest changes that are not shown yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Behind {
    None,
    /// Changes by events, which also wait while lists are held.
    Events,
    Answer,
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
        Self::held_by(size, use_hold())
    }

    /// A list that this hold keeps still, instead of the one of the frame.
    pub(crate) fn held_by(size: usize, hold: Hold) -> Self {
        Self {
            items: RwSignal::new(Vec::new()),
            latest: StoredValue::new(Vec::new()),
            behind: StoredValue::new(Behind::None),
            journal: StoredValue::new(None),
            drawn: RwSignal::new(0),
            beat: Beat::new(),
            calm: (use_press(), hold),
            size,
        }
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

    /// The number of answers whose rows have been drawn; tracked.
    pub(crate) fn drawn(self) -> usize {
        self.drawn.get()
    }

    /// Draws more of the list now, or once its beat has time for it.
    pub(crate) fn draw_when_quiet(self, draw: impl FnOnce() + 'static) {
        self.beat.run_when_quiet(draw);
    }

    /// Whether a row is on the page.
    pub(crate) fn knows(self, id: &str) -> bool {
        self.latest.with_value(|items| items.iter().any(|item| item.id == id))
    }

    /// The current row with this id.
    pub(crate) fn get(self, id: &str) -> Option<Held> {
        let row = |items: &Vec<Item>| {
            items.iter().find(|item| item.id == id).map(|item| item.row.clone())
        };
        self.latest.with_value(row)
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
    pub(crate) fn end(self, answer: Option<Vec<Item>>, showing: Showing) {
        let journal = self.journal.try_update_value(Option::take).flatten();
        let Some(mut items) = answer else { return };
        merge(&mut items, journal.unwrap_or_default(), self.size);
        let _gone = self.latest.try_update_value(|latest| *latest = items);
        match showing {
            Showing::Now => self.show(Behind::Answer),
            Showing::OnBeat => self.show_on_beat(Behind::Answer),
        }
    }

    /// Merges changes; returns the resulting number of rows.
    pub(crate) fn merge(self, changes: Vec<Change>) -> usize {
        self.journal.update_value(|journal| {
            if let Some(journal) = journal {
                journal.extend_from_slice(&changes);
            }
        });
        let left = self.latest.try_update_value(|items| {
            merge(items, changes, self.size);
            items.len()
        });
        self.show_on_beat(Behind::Events);
        left.unwrap_or_default()
    }

    /// Shows the latest rows on the next beat, for which they may wait already.
    fn show_on_beat(self, behind: Behind) {
        let add = |known: &mut Behind| {
            let before = *known;
            *known = before.max(behind);
            before
        };
        if self.behind.try_update_value(add) == Some(Behind::None) {
            self.beat.run(move || self.show_if_calm());
        }
    }

    /// Shows the latest rows, unless rows must not move: then on a later beat.
    fn show_if_calm(self) {
        let (press, hold) = self.calm;
        let behind = self.behind.try_get_value().unwrap_or(Behind::None);
        let is_held = match behind {
            // They have been shown, or the page has been left.
            Behind::None => return,
            Behind::Events => press.is_held() || untrack(|| hold.is_held()),
            Behind::Answer => press.is_held(),
        };
        if is_held {
            self.beat.run(move || self.show_if_calm());
        } else {
            self.show(behind);
        }
    }

    fn show(self, behind: Behind) {
        let Some(latest) = self.latest.try_get_value() else { return };
        self.behind.set_value(Behind::None);
        self.items.set(latest);
        if behind == Behind::Answer {
            self.count_once_drawn();
        }
    }

    /// Counts an answer once its rows are drawn: a timer runs after everything that depends on the list.
    fn count_once_drawn(self) {
        let next = move || {
            let _gone = self.drawn.try_update(|answers| *answers = answers.wrapping_add(1));
        };
        set_timeout(next, Duration::ZERO);
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

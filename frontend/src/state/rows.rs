//! A list that events merge into, by id.
//!
//! A row that changes keeps its place in the document, so the button that has the focus keeps it too: the list is keyed
//! by id alone, and each row reads its own signal.

use leptos::prelude::*;

use crate::model::Keyed;

/// The rows of one page of a list.
#[derive(Debug)]
pub(crate) struct Rows<T: Send + Sync + 'static>(RwSignal<Vec<T>>);

impl<T: Send + Sync + 'static> Clone for Rows<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync + 'static> Copy for Rows<T> {}

impl<T: Keyed + Clone + PartialEq + Send + Sync + 'static> Rows<T> {
    pub(crate) fn new() -> Self {
        Self(RwSignal::new(Vec::new()))
    }

    pub(crate) fn set(self, rows: Vec<T>) {
        self.0.set(rows);
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0.with(Vec::is_empty)
    }

    pub(crate) fn all(self) -> Vec<T> {
        self.0.get()
    }

    pub(crate) fn ids(self) -> Vec<String> {
        self.0.with(|rows| rows.iter().map(|row| row.key().to_owned()).collect())
    }

    /// The row with this id. A row that has left the list keeps its last value until it has left the document too.
    pub(crate) fn row(self, id: &str, first: T) -> Memo<T> {
        let id = id.to_owned();
        Memo::new(move |previous: Option<&T>| {
            let found = self.0.with(|rows| rows.iter().find(|row| row.key() == id).cloned());
            found.unwrap_or_else(|| previous.unwrap_or(&first).clone())
        })
    }

    /// Merges events: a known row is replaced; a new one goes on top while `admits` lets it in; one that `admits` no
    /// longer lets in leaves. The list keeps at most `size` rows.
    pub(crate) fn merge(self, events: Vec<T>, size: usize, admits: impl Fn(&T) -> bool) {
        self.0.update(|rows| merge(rows, events, size, admits));
    }

    pub(crate) fn remove(self, id: &str) {
        self.0.update(|rows| rows.retain(|row| row.key() != id));
    }
}

fn merge<T: Keyed>(rows: &mut Vec<T>, events: Vec<T>, size: usize, admits: impl Fn(&T) -> bool) {
    for event in events {
        let place = rows.iter().position(|row| row.key() == event.key());
        match (place, admits(&event)) {
            (Some(place), true) => {
                if let Some(row) = rows.get_mut(place) {
                    *row = event;
                }
            }
            (Some(place), false) => drop(rows.remove(place)),
            (None, true) => rows.insert(0, event),
            (None, false) => {}
        }
    }
    rows.truncate(size);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Row(&'static str, u8);

    impl Keyed for Row {
        fn key(&self) -> &str {
            self.0
        }
    }

    #[test]
    fn a_known_row_keeps_its_place_and_a_new_one_goes_on_top() {
        let mut rows = vec![Row("a", 1), Row("b", 1)];
        merge(&mut rows, vec![Row("b", 2), Row("c", 1)], 3, |_| true);
        assert_eq!(rows, [Row("c", 1), Row("a", 1), Row("b", 2)]);
    }

    #[test]
    fn a_row_that_no_longer_fits_the_filter_leaves() {
        let mut rows = vec![Row("a", 1), Row("b", 1)];
        merge(&mut rows, vec![Row("a", 9), Row("d", 9)], 9, |row| row.1 < 5);
        assert_eq!(rows, [Row("b", 1)]);
    }

    #[test]
    fn the_list_keeps_its_size() {
        let mut rows = vec![Row("a", 1), Row("b", 1)];
        merge(&mut rows, vec![Row("c", 1)], 2, |_| true);
        assert_eq!(rows, [Row("c", 1), Row("a", 1)]);
    }
}

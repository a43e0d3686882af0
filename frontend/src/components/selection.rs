//! The selected rows of a table.

use std::collections::BTreeSet;

use leptos::prelude::*;

/// The selected rows, by id. They stay selected while the list changes, until they are deselected.
#[derive(Clone, Copy)]
pub(crate) struct Selection {
    chosen: RwSignal<BTreeSet<String>>,
    /// The row at which a range starts.
    anchor: StoredValue<Option<String>>,
}

impl Selection {
    pub(crate) fn new() -> Self {
        Self { chosen: RwSignal::new(BTreeSet::new()), anchor: StoredValue::new(None) }
    }

    pub(crate) fn ids(self) -> Vec<String> {
        self.chosen.with(|chosen| chosen.iter().cloned().collect())
    }

    pub(crate) fn count(self) -> usize {
        self.chosen.with(BTreeSet::len)
    }

    pub(super) fn has(self, id: &str) -> bool {
        self.chosen.with(|chosen| chosen.contains(id))
    }

    pub(crate) fn clear(self) {
        self.chosen.update(BTreeSet::clear);
    }

    /// Selects all of these, or none of them.
    pub(crate) fn set_all(self, ids: Vec<String>, is_chosen: bool) {
        self.chosen.update(|chosen| {
            for id in ids {
                if is_chosen {
                    chosen.insert(id);
                } else {
                    chosen.remove(&id);
                }
            }
        });
    }

    /// Toggles a row. With `to_here`, all rows from the last toggled one up to this row get the
    /// same state.
    pub(super) fn toggle(self, id: &str, order: &[String], to_here: bool) {
        let is_chosen = !self.chosen.with_untracked(|chosen| chosen.contains(id));
        let anchor = self.anchor.get_value().filter(|_| to_here);
        let ids = anchor.map_or_else(|| vec![id.to_owned()], |anchor| range(order, &anchor, id));
        self.set_all(ids, is_chosen);
        self.anchor.set_value(Some(id.to_owned()));
    }
}

/// The rows between two rows, in either order. If one of the two no longer exists, only the other
/// one.
fn range(order: &[String], from: &str, to: &str) -> Vec<String> {
    let place = |id: &str| order.iter().position(|known| known == id);
    match (place(from), place(to)) {
        (Some(from), Some(to)) => {
            order.get(from.min(to)..=from.max(to)).unwrap_or_default().to_vec()
        }
        _ => vec![to.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn a_range_runs_in_either_direction() {
        let order = ["a", "b", "c", "d"].map(str::to_owned);
        assert_eq!(range(&order, "b", "d"), ["b", "c", "d"]);
        assert_eq!(range(&order, "c", "a"), ["a", "b", "c"]);
        assert_eq!(range(&order, "gone", "c"), ["c"]);
    }
}

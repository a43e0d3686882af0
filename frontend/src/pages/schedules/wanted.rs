//! What the address asks for.

use crate::{api::ScheduleQuery, model::Place, pages::place, state::Address};

/// A view of the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wanted {
    namespace: String,
    text: String,
    place: Place,
}

impl Wanted {
    /// Tracked.
    pub(super) fn of(address: Address) -> Self {
        Self { namespace: address.namespace(), text: address.query("q"), place: place(address) }
    }

    pub(super) fn is_narrowed(&self) -> bool {
        !self.text.trim().is_empty()
    }

    pub(super) fn query(self) -> ScheduleQuery {
        let search = self.is_narrowed().then_some(self.text);
        ScheduleQuery { namespace: self.namespace, search, place: self.place }
    }
}

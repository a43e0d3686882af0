//! The filters and the order of the list, read from the address.

use crate::{
    api::ScheduleQuery,
    model::{Place, ScheduleSortField},
    pages::place,
    state::Address,
};

/// The filters and the order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wanted {
    namespace: String,
    text: String,
    favourites: bool,
    sort: String,
    place: Place,
}

impl Wanted {
    /// The filters and the order that the address names; tracked.
    pub(super) fn of(address: Address) -> Self {
        Self {
            namespace: address.namespace(),
            text: address.query("q"),
            favourites: address.query("favourites") == "yes",
            sort: address.query("sort"),
            place: place(address),
        }
    }

    pub(super) fn is_narrowed(&self) -> bool {
        self.favourites || !self.text.trim().is_empty()
    }

    fn sort(&self) -> Option<(ScheduleSortField, bool)> {
        let (name, descending) = match self.sort.strip_prefix('-') {
            Some(name) => (name, true),
            None => (self.sort.as_str(), false),
        };
        let by = match name {
            "name" => ScheduleSortField::Name,
            "next" => ScheduleSortField::Next,
            "last" => ScheduleSortField::Last,
            "p95" => ScheduleSortField::P95,
            _ => return None,
        };
        Some((by, descending))
    }

    pub(super) fn query(self) -> ScheduleQuery {
        let sort = self.sort();
        let search = Some(self.text).filter(|text| !text.trim().is_empty());
        let (namespace, favourites) = (self.namespace, self.favourites);
        ScheduleQuery { namespace, search, favourites, sort, place: self.place }
    }
}

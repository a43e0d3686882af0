//! The filters of a page. They are kept in the page's address, so that a view can be bookmarked and
//! sent to a colleague.

use leptos::prelude::*;

use crate::{
    components::{Suggestions, filter_field},
    route::Route,
    state::{Address, range_query, ranged_path, use_address},
};

/// The parameters that a page keeps in its address, to read and to change. Changing them keeps the
/// page's range of time.
#[derive(Clone, Copy)]
pub(super) struct Filters {
    address: Address,
    route: StoredValue<Route>,
    names: &'static [&'static str],
}

pub(super) fn use_filters(route: Route, names: &'static [&'static str]) -> Filters {
    Filters { address: use_address(), route: StoredValue::new(route), names }
}

impl Filters {
    /// The value of a parameter, empty if it is absent; tracked.
    pub(super) fn get(self, name: &str) -> String {
        self.address.query(name)
    }

    /// The value of a parameter, `None` if it is empty; tracked.
    pub(super) fn some(self, name: &str) -> Option<String> {
        Some(self.get(name)).filter(|value| !value.is_empty())
    }

    pub(super) fn address(self) -> Address {
        self.address
    }

    /// Whether any filter other than the range applies; tracked.
    pub(super) fn is_narrowed(self) -> bool {
        self.names.iter().any(|name| self.some(name).is_some())
    }

    /// The address of the page in the same range without filters; tracked.
    pub(super) fn cleared(self) -> String {
        self.route.with_value(|route| ranged_path(self.address, route))
    }

    /// Changes values without adding to the browser's history. The list returns to its first page.
    pub(super) fn set(self, changes: &[(&str, &str)]) {
        let to = untrack(|| self.href(changes));
        self.address.replace(&to);
    }

    /// A field for one of the values, which suggests what exists.
    pub(super) fn picking_field(
        self,
        name: &'static str,
        label: &'static str,
        placeholder: String,
        suggestions: Suggestions,
    ) -> AnyView {
        let value = Signal::derive(move || self.get(name));
        let apply = Callback::new(move |text: String| self.set(&[(name, &text)]));
        filter_field(name, label, placeholder, value, apply, suggestions)
    }

    /// The address of the page with other values; tracked.
    pub(super) fn href(self, changes: &[(&str, &str)]) -> String {
        let value = |name: &&'static str| {
            let changed = changes.iter().find(|(changed, _)| changed == name);
            changed.map_or_else(|| self.get(name), |(_, value)| (*value).to_owned())
        };
        let values: Vec<String> = self.names.iter().map(value).collect();
        let known = self.names.iter().copied().zip(values.iter().map(String::as_str));
        let route = self.route.get_value();
        let range = range_query(self.address, &route);
        let range = range.iter().map(|(name, value)| (*name, value.as_str()));
        // The names that a page does not keep when a filter changes, such as cursors.
        let passing = changes.iter().copied().filter(|(name, _)| !self.names.contains(name));
        let query: Vec<(&str, &str)> = known.chain(range).chain(passing).collect();
        route.narrowed(&query)
    }
}

//! The range of time that a page shows: the last hours or days, or the time between two instants.
//! It is in the address, so links carry it from page to page, and a view can be sent to a
//! colleague.

use super::{Address, use_address};
use crate::{route::Route, time::Moment};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
/// The name of the unbounded range in the address.
const ALL: &str = "all";
/// The parameters of the address that name the range.
const NAMES: [&str; 3] = ["range", "from", "until"];

/// A range that ends now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preset {
    /// The name in the address.
    pub(crate) name: &'static str,
    pub(crate) words: &'static str,
    /// The length in milliseconds; unbounded if absent.
    length: Option<i64>,
}

const ANY_TIME: Preset = Preset { name: ALL, words: "Any time", length: None };
const PRESETS: [Preset; 5] = [
    last("1h", "Last hour", HOUR),
    last("6h", "Last 6 hours", 6 * HOUR),
    last("24h", "Last 24 hours", DAY),
    last("7d", "Last 7 days", 7 * DAY),
    last("30d", "Last 30 days", 30 * DAY),
];

const fn last(name: &'static str, words: &'static str, length: i64) -> Preset {
    Preset { name, words, length: Some(length) }
}

/// The default preset of a page; `None` for a page without a range.
fn usual(route: &Route) -> Option<&'static str> {
    if matches!(route, Route::Timeline) {
        return Some("6h");
    }
    if matches!(route, Route::Overview | Route::Ledger | Route::Metrics) {
        return Some("24h");
    }
    matches!(route, Route::Runs | Route::Audit).then_some(ALL)
}

/// Whether a page shows a range of time.
pub(crate) fn has_range(route: &Route) -> bool {
    usual(route).is_some()
}

/// The range of a page.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    address: Address,
    usual: &'static str,
}

pub(crate) fn use_range(route: &Route) -> Range {
    Range { address: use_address(), usual: usual(route).unwrap_or(ALL) }
}

impl Range {
    /// The presets that the page offers.
    pub(crate) fn presets(self) -> Vec<Preset> {
        let any_time = (self.usual == ALL).then_some(ANY_TIME);
        any_time.into_iter().chain(PRESETS).collect()
    }

    /// The current preset; `None` for a range between two instants. Tracked.
    pub(crate) fn preset(self) -> Option<Preset> {
        let [named, from, until] = NAMES.map(|name| self.address.query(name));
        let is_between = !from.is_empty() || !until.is_empty();
        (!is_between).then(|| named_or_usual(&self.presets(), &named, self.usual)).flatten()
    }

    /// The start and the end of the range, as far as it is bounded; tracked.
    pub(crate) fn bounds(self) -> (Option<Moment>, Option<Moment>) {
        let at = |name| Moment::parse_local(&self.address.query(name));
        match self.preset() {
            Some(preset) => (preset.length.map(|length| Moment::now().later(-length)), None),
            None => (at("from"), at("until")),
        }
    }

    /// Whether the page shows its default range; tracked.
    pub(crate) fn is_usual(self) -> bool {
        self.preset().is_some_and(|preset| preset.name == self.usual)
    }

    /// The address of this view with a preset; tracked. The list returns to its first page.
    pub(crate) fn href(self, preset: Preset) -> String {
        self.address.href(&within(preset.name, "", ""))
    }

    /// Shows the time between two instants, without adding to the history.
    pub(crate) fn choose(self, from: Option<Moment>, until: Option<Moment>) {
        let text = |at: Option<Moment>| at.map(Moment::to_rfc3339).unwrap_or_default();
        let (from, until) = (text(from), text(until));
        self.address.replace(&self.address.with(&within("", &from, &until)));
    }
}

/// A range as changes of the address, which also return a list to its first page.
fn within<'a>(name: &'a str, from: &'a str, until: &'a str) -> [(&'static str, &'a str); 5] {
    [("range", name), ("from", from), ("until", until), ("after", ""), ("before", "")]
}

fn named_or_usual(presets: &[Preset], named: &str, usual: &str) -> Option<Preset> {
    let of = |name: &str| presets.iter().find(|preset| preset.name == name).copied();
    of(named).or_else(|| of(usual))
}

/// The current range as names and values of a query, for a link to another page with a range.
/// Tracked.
pub(crate) fn range_query(address: Address, route: &Route) -> Vec<(&'static str, String)> {
    // On pages without a range, these names may have another meaning.
    let passes = has_range(route) && address.route().is_some_and(|here| has_range(&here));
    let names = NAMES.into_iter().filter(|_| passes);
    names.map(|name| (name, address.query(name))).collect()
}

/// The address of a page, with the current range if the page has one; tracked.
pub(crate) fn ranged_path(address: Address, route: &Route) -> String {
    let query = range_query(address, route);
    let query: Vec<_> = query.iter().map(|(name, value)| (*name, value.as_str())).collect();
    route.narrowed(&query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_the_named_preset_or_its_usual_one() {
        let name = |named, usual| named_or_usual(&PRESETS, named, usual).map(|preset| preset.name);
        assert_eq!(name("7d", "24h"), Some("7d"));
        assert_eq!(name("", "24h"), Some("24h"));
        assert_eq!(name("soon", "24h"), Some("24h"));
        // A page whose range is always bounded does not take over an unbounded range.
        assert_eq!(name(ALL, "24h"), Some("24h"));
    }

    #[test]
    fn lists_begin_with_all_and_figures_with_a_day() {
        assert_eq!([Route::Runs, Route::Audit].map(|route| usual(&route)), [Some(ALL); 2]);
        assert_eq!([Route::Overview, Route::Ledger].map(|route| usual(&route)), [Some("24h"); 2]);
        assert!(!has_range(&Route::Schedules) && !has_range(&Route::Run("x".to_owned())));
    }
}

//! The range of time that a page shows: the last hours or days, or from one instant to another.

use leptos::prelude::*;

use super::filters::Filters;
use crate::{
    components::live,
    time::{Moment, Wall, browser_zone},
};

/// A range's name, its label, and its length in milliseconds.
type Preset = (&'static str, &'static str, i64);

const HOUR: i64 = 3_600_000;
const PRESETS: [Preset; 5] = [
    ("1h", "Last hour", HOUR),
    ("6h", "Last 6 hours", 6 * HOUR),
    ("24h", "Last 24 hours", 24 * HOUR),
    ("7d", "Last 7 days", 7 * 24 * HOUR),
    ("30d", "Last 30 days", 30 * 24 * HOUR),
];
/// The values for a custom range, and for no bounds.
const OTHER: &str = "other";
const ALL: &str = "all";

/// The range of a page.
#[derive(Clone, Copy)]
pub(super) struct Range {
    filters: Filters,
    /// The range if the address names none.
    default: &'static str,
}

impl Range {
    pub(super) fn new(filters: Filters, default: &'static str) -> Self {
        Self { filters, default }
    }

    fn name(self) -> String {
        if self.filters.some("from").is_some() || self.filters.some("until").is_some() {
            return OTHER.to_owned();
        }
        self.filters.some("range").unwrap_or_else(|| self.default.to_owned())
    }

    /// The bounds of the range, as far as there are any; tracked.
    pub(super) fn bounds(self) -> (Option<Moment>, Option<Moment>) {
        let at = |name| self.filters.some(name).and_then(|text| Moment::parse_local(&text));
        let name = self.name();
        if name == OTHER {
            return (at("from"), at("until"));
        }
        let length = PRESETS.into_iter().find(|(known, ..)| *known == name);
        (length.map(|(.., length)| Moment::now().later(-length)), None)
    }

    /// Shows the time between two instants.
    pub(super) fn choose(self, from: Moment, until: Moment) {
        let (from, until) = (from.to_rfc3339(), until.to_rfc3339());
        self.filters.set(&[("range", ""), ("from", &from), ("until", &until)]);
    }

    fn choose_name(self, name: &str) {
        if name == OTHER {
            let (from, until) = untrack(|| self.bounds());
            let now = Moment::now();
            self.choose(from.unwrap_or_else(|| now.later(-24 * HOUR)), until.unwrap_or(now));
        } else {
            let name = if name == self.default { "" } else { name };
            self.filters.set(&[("range", name), ("from", ""), ("until", "")]);
        }
    }
}

/// The choice of a range, and the two fields of a custom range.
pub(super) fn range_picker(range: Range) -> AnyView {
    let all = (range.default == ALL).then_some((ALL, "Any time", 0));
    let choices = all.into_iter().chain(PRESETS).chain([(OTHER, "From … until …", 0)]);
    let choice = |(name, words, _): Preset| {
        view! { <option value=name prop:selected=move || range.name() == name>{words}</option> }
            .into_any()
    };
    let choices: Vec<_> = choices.map(choice).collect();
    let is_other = Memo::new(move |_| range.name() == OTHER);
    view! {
        <span class="range">
            <select aria-label="Range of time" on:change:target=move |event| range.choose_name(&event.target().value())>
                {choices}
            </select>
            {live(move || if is_other.get() {
                view! { {bound(range, "from", "From")}{bound(range, "until", "Until")} }.into_any()
            } else {
                ().into_any()
            })}
        </span>
    }
    .into_any()
}

fn bound(range: Range, name: &'static str, label: &'static str) -> AnyView {
    let shown = move || {
        let at = range.filters.some(name).and_then(|text| Moment::parse_local(&text));
        at.map(local).unwrap_or_default()
    };
    let typed = move |text: String| {
        let at = Moment::parse_local(&text).map(Moment::to_rfc3339).unwrap_or_default();
        range.filters.set(&[("range", ""), (name, &at)]);
    };
    let title = format!("{label}, in the time of {}", browser_zone());
    view! {
        <label class="range-bound">
            {label}
            <input
                type="datetime-local"
                title=title
                prop:value=move || shown()
                on:change:target=move |event| typed(event.target().value())
            />
        </label>
    }
    .into_any()
}

/// An instant in the format of a `datetime-local` field.
fn local(at: Moment) -> String {
    let wall = Wall::read(at, &browser_zone()).unwrap_or_default();
    let minute = wall.time.get(..5).unwrap_or_default().to_owned();
    format!("{}T{minute}", wall.date)
}

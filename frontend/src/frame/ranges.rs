//! The picker of the range of time, for the pages that have one.

use leptos::prelude::*;

use crate::{
    components::{Glyph, icon, live, menu},
    state::{Preset, Range, has_range, use_address, use_range},
    time::{Moment, Wall, browser_zone, city, day_words},
};

/// The picker of the range: the last hours or days, or the time between two instants.
pub(super) fn picker() -> AnyView {
    let address = use_address();
    let route = Memo::new(move |_| address.route().filter(has_range));
    live(move || {
        let Some(route) = route.get() else { return ().into_any() };
        let range = use_range(&route);
        let face = view! {
            {icon(Glyph::Calendar)}<span class="range-words">{move || words(range)}</span>{icon(Glyph::Down)}
        };
        let choices = menu("Range of time", face.into_any(), choices(range));
        view! { <div class="header-range">{choices}</div> }.into_any()
    })
}

fn choices(range: Range) -> AnyView {
    let link = move |preset: Preset| {
        let is_shown = move || (range.preset() == Some(preset)).then_some("true");
        view! { <li><a href=move || range.href(preset) aria-current=is_shown>{preset.words}</a></li> }
            .into_any()
    };
    let links: Vec<_> = range.presets().into_iter().map(link).collect();
    view! {
        <ul class="menu-list">{links}</ul>
        <fieldset class="range-bounds">
            <legend>"From – until"</legend>
            {bound(range, "From", Bound::From)}
            {bound(range, "Until", Bound::Until)}
            <p class="menu-note">{format!("On the clock of {}", city(&browser_zone()))}</p>
        </fieldset>
    }
    .into_any()
}

#[derive(Clone, Copy)]
enum Bound {
    From,
    Until,
}

/// A field for one of the two instants. It shows the bound of the preset until the user types
/// another instant.
fn bound(range: Range, label: &'static str, bound: Bound) -> AnyView {
    let shown = move || {
        let (from, until) = range.bounds();
        let at = match bound {
            Bound::From => from,
            Bound::Until => until,
        };
        at.map(local).unwrap_or_default()
    };
    let typed = move |text: String| {
        let at = Moment::parse_local(&text);
        // While the user types the year, the text is not a valid instant yet.
        let is_unfinished = !text.is_empty() && at.is_none_or(|at| at.millis() < 0);
        if is_unfinished {
            return;
        }
        let (from, until) = untrack(|| range.bounds());
        match bound {
            Bound::From => range.choose(at, until),
            Bound::Until => range.choose(from, at),
        }
    };
    view! {
        <label class="range-bound">
            <span>{label}</span>
            <input
                type="datetime-local"
                prop:value=shown
                on:change:target=move |event| typed(event.target().value())
            />
        </label>
    }
    .into_any()
}

/// The shown range, in words; tracked.
fn words(range: Range) -> String {
    if let Some(preset) = range.preset() {
        return preset.words.to_owned();
    }
    let words = |at: Moment| {
        let wall = Wall::read(at, &browser_zone()).unwrap_or_default();
        format!("{} {}", day_words(&wall.date, Moment::now()), minute(&wall))
    };
    match range.bounds() {
        (Some(from), Some(until)) => format!("{} – {}", words(from), words(until)),
        (Some(from), None) => format!("From {}", words(from)),
        (None, Some(until)) => format!("Until {}", words(until)),
        (None, None) => "From – until".to_owned(),
    }
}

/// An instant in the format of a field for local time.
fn local(at: Moment) -> String {
    let wall = Wall::read(at, &browser_zone()).unwrap_or_default();
    format!("{}T{}", wall.date, minute(&wall))
}

fn minute(wall: &Wall) -> String {
    wall.time.get(..5).unwrap_or_default().to_owned()
}

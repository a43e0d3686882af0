//! The quiet hours: a zone, and times of day.

use leptos::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{
    kit::{self, Wrong},
    suggest,
};
use crate::{
    components::{Field, Glyph, focus_first, icon, icon_button, keyed},
    model::{Failure, Quiet, Weekday, Window},
    time::browser_zone,
};

/// The quiet hours of a form.
#[derive(Clone, Copy)]
pub(super) struct Hours {
    on: RwSignal<bool>,
    zone: RwSignal<String>,
    lines: RwSignal<Vec<(String, Line)>>,
    next: StoredValue<usize>,
}

/// One window of quiet hours.
#[derive(Clone, Copy)]
struct Line {
    from: RwSignal<String>,
    to: RwSignal<String>,
    weekdays: RwSignal<Vec<Weekday>>,
}

/// The hours as a draft keeps them.
#[derive(Deserialize)]
struct Kept {
    on: bool,
    zone: String,
    windows: Vec<Window>,
}

impl Line {
    fn of(window: &Window) -> Self {
        Self {
            from: RwSignal::new(window.from.clone()),
            to: RwSignal::new(window.to.clone()),
            weekdays: RwSignal::new(window.weekdays.clone()),
        }
    }
}

impl Hours {
    pub(super) fn new() -> Self {
        let night = Window { from: "22:00".into(), to: "06:00".into(), weekdays: Vec::new() };
        Self::with(false, browser_zone(), &[night])
    }

    pub(super) fn of(quiet: Option<&Quiet>) -> Self {
        quiet.map_or_else(Self::new, |quiet| Self::with(true, quiet.zone.clone(), &quiet.windows))
    }

    fn with(on: bool, zone: String, windows: &[Window]) -> Self {
        let line = |(key, window): (usize, &Window)| (key.to_string(), Line::of(window));
        Self {
            on: RwSignal::new(on),
            zone: RwSignal::new(zone),
            lines: RwSignal::new(windows.iter().enumerate().map(line).collect()),
            next: StoredValue::new(windows.len()),
        }
    }

    /// The quiet hours from the form; tracked.
    pub(super) fn read(self) -> Option<Quiet> {
        let window = |(_, line): &(String, Line)| Window {
            from: line.from.get(),
            to: line.to.get(),
            weekdays: line.weekdays.get(),
        };
        let windows = self.lines.with(|lines| lines.iter().map(window).collect());
        self.on.get().then(|| Quiet { zone: self.zone.get(), windows })
    }

    /// The hours as a value that a draft keeps; tracked.
    pub(super) fn kept(self) -> Value {
        let line = |(_, line): &(String, Line)| json!({ "from": line.from.get(), "to": line.to.get(), "weekdays": line.weekdays.get() });
        let lines: Vec<Value> = self.lines.with(|lines| lines.iter().map(line).collect());
        json!({ "on": self.on.get(), "zone": self.zone.get(), "windows": lines })
    }

    /// Restores the hours from such a value.
    pub(super) fn restore(self, kept: Value) {
        let Ok(Kept { on, zone, windows }) = serde_json::from_value(kept) else { return };
        self.on.set(on);
        self.zone.set(zone);
        let key = self.next.get_value();
        self.next.set_value(key + windows.len());
        let line = |(at, window): (usize, &Window)| ((key + at).to_string(), Line::of(window));
        self.lines.set(windows.iter().enumerate().map(line).collect());
    }

    fn add(self) {
        let key = self.next.get_value();
        self.next.set_value(key + 1);
        let weekend = vec![Weekday::Sat, Weekday::Sun];
        let window = Window { from: "00:00".into(), to: "24:00".into(), weekdays: weekend };
        self.lines.update(|lines| lines.push((key.to_string(), Line::of(&window))));
    }
}

/// The fields of the quiet hours.
pub(super) fn fields(hours: Hours, wrong: Wrong) -> AnyView {
    let keys = move || hours.lines.with(|lines| lines.iter().map(|(key, _)| key.clone()).collect());
    let part = move |key: String| {
        let line = hours.lines.with_untracked(|lines| {
            lines.iter().find(|(known, _)| *known == key).map(|(_, line)| *line)
        });
        line.map_or_else(|| ().into_any(), |line| window(hours, wrong, key, line))
    };
    let of_zone = Signal::derive(move || {
        wrong.get().filter(|failure| {
            matches!(failure.field.as_deref(), Some("quiet" | "quiet.zone" | "quiet.windows"))
        })
    });
    view! {
        {kit::check("quiet", "Quiet hours", hours.on, "Messages are held until they are over.")}
        <div hidden=move || !hours.on.get() class="quiet">
            {Field::new("quiet-zone", "In the zone", hours.zone).picks(suggest::zones()).error(of_zone).text()}
            {keyed(keys, part)}
            <button type="button" class="button button-quiet" on:click=move |_| hours.add()>
                {icon(Glyph::Plus)}"Add hours"
            </button>
        </div>
    }
    .into_any()
}

/// The error of one window, if it concerns one of these parts of it.
fn of_window(
    hours: Hours,
    wrong: Wrong,
    key: String,
    parts: &'static [&'static str],
) -> Signal<Option<Failure>> {
    Signal::derive(move || {
        let place = hours.lines.with(|lines| lines.iter().position(|(known, _)| *known == key))?;
        let window = format!("quiet.windows[{place}]");
        wrong.get().filter(|failure| {
            let part =
                failure.field.as_deref().and_then(|field| field.strip_prefix(window.as_str()));
            part.is_some_and(|part| parts.contains(&part))
        })
    })
}

fn window(hours: Hours, wrong: Wrong, key: String, line: Line) -> AnyView {
    let day = |day: Weekday| {
        kit::switch(
            format!("quiet-{key}-{}", day.word()),
            day.word().to_owned(),
            line.weekdays,
            day,
        )
    };
    let days: Vec<_> = Weekday::WEEK.into_iter().map(day).collect();
    let (from, to) = (format!("quiet-from-{key}"), format!("quiet-to-{key}"));
    let of_from = of_window(hours, wrong, key.clone(), &["", ".from", ".weekdays"]);
    let of_to = of_window(hours, wrong, key.clone(), &[".to"]);
    let remove = move || {
        let mut beside = None;
        hours.lines.update(|lines| {
            let place = lines.iter().position(|(known, _)| *known == key);
            lines.retain(|(known, _)| *known != key);
            let next = place.and_then(|place| lines.get(place)).or(lines.last());
            beside = next.map(|(key, _)| format!("#quiet-from-{key}"));
        });
        focus_first(beside.into_iter().chain([".quiet > button".to_owned()]).collect());
    };
    view! {
        <fieldset class="quiet-window">
            <legend class="visually-hidden">"Quiet hours"</legend>
            <div class="field-grid">
                {Field::new(from, "From", line.from).error(of_from).text()}
                {Field::new(to, "Until", line.to).error(of_to)
                    .extra(icon_button(Glyph::Minus, "Remove", "Remove these hours".to_owned(), remove)).text()}
            </div>
            <div class="switch-set" role="group" aria-label="Days; every day if none is selected">{days}</div>
        </fieldset>
    }
    .into_any()
}

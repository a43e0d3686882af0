//! The zone and theme switches: groups of radios that look like one control.

use leptos::prelude::*;

use crate::{
    components::{Glyph, Icon},
    state::{Theme, ZoneChoice, use_theme, use_zone},
    time,
};

/// Whose clock every time is shown on.
#[component]
pub(crate) fn ZoneSwitch() -> impl IntoView {
    let zone = use_zone();
    let radio = move |choice: ZoneChoice| {
        let (words, title) = match choice {
            ZoneChoice::Utc => ("UTC", "All times in UTC".to_owned()),
            ZoneChoice::Schedule => ("Schedule's", "Each time in its schedule's zone".to_owned()),
            ZoneChoice::Mine => ("Mine", format!("All times in {}", time::browser_zone())),
        };
        view! {
            <label title=title>
                <input
                    type="radio"
                    name="zone"
                    prop:checked=move || zone.get() == choice
                    on:change=move |_| zone.choose(choice)
                />
                <span>{words}</span>
            </label>
        }
    };
    view! {
        <fieldset class="switch">
            <legend class="visually-hidden">"Time zone of all times"</legend>
            {ZoneChoice::ALL.map(radio)}
        </fieldset>
    }
}

/// Light or dark.
#[component]
pub(crate) fn ThemeSwitch() -> impl IntoView {
    let theme = use_theme();
    let radio = move |choice: Theme| {
        let (words, glyph) = match choice {
            Theme::System => ("System", Glyph::Display),
            Theme::Light => ("Light", Glyph::Sun),
            Theme::Dark => ("Dark", Glyph::Moon),
        };
        view! {
            <label title=format!("{words} theme")>
                <input
                    type="radio"
                    name="theme"
                    aria-label=words
                    prop:checked=move || theme.get() == choice
                    on:change=move |_| theme.choose(choice)
                />
                <span><Icon glyph=glyph/></span>
            </label>
        }
    };
    view! {
        <fieldset class="switch switch-icons">
            <legend class="visually-hidden">"Theme"</legend>
            {Theme::ALL.map(radio)}
        </fieldset>
    }
}

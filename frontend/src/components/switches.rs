//! The zone and theme switches: groups of radios that look like one control.

use leptos::prelude::*;

use super::{Glyph, icon};
use crate::{
    state::{Theme, ZoneChoice, use_theme, use_zone},
    time,
};

/// Whose clock every time is shown on.
#[component]
pub(crate) fn ZoneSwitch() -> impl IntoView {
    let zone = use_zone();
    let one = move |choice: ZoneChoice| {
        let (words, title) = match choice {
            ZoneChoice::Utc => ("UTC", "All times in UTC".to_owned()),
            ZoneChoice::Schedule => ("Schedule's", "Each time in its schedule's zone".to_owned()),
            ZoneChoice::Mine => ("Mine", format!("All times in {}", time::browser_zone())),
        };
        let chosen = Signal::derive(move || zone.get() == choice);
        let choose = Callback::new(move |()| zone.choose(choice));
        radio("zone", words, title, words.into_any(), chosen, choose)
    };
    view! {
        <fieldset class="switch">
            <legend class="visually-hidden">"Time zone of all times"</legend>
            {Vec::from(ZoneChoice::ALL.map(one))}
        </fieldset>
    }
}

/// Light or dark.
#[component]
pub(crate) fn ThemeSwitch() -> impl IntoView {
    let theme = use_theme();
    let one = move |choice: Theme| {
        let (words, glyph) = match choice {
            Theme::System => ("System", Glyph::Display),
            Theme::Light => ("Light", Glyph::Sun),
            Theme::Dark => ("Dark", Glyph::Moon),
        };
        let chosen = Signal::derive(move || theme.get() == choice);
        let choose = Callback::new(move |()| theme.choose(choice));
        radio("theme", words, format!("{words} theme"), icon(glyph), chosen, choose)
    };
    view! {
        <fieldset class="switch switch-icons">
            <legend class="visually-hidden">"Theme"</legend>
            {Vec::from(Theme::ALL.map(one))}
        </fieldset>
    }
}

fn radio(
    group: &'static str,
    name: &'static str,
    title: String,
    face: AnyView,
    chosen: Signal<bool>,
    choose: Callback<()>,
) -> AnyView {
    view! {
        <label title=title>
            <input
                type="radio"
                name=group
                aria-label=name
                prop:checked=move || chosen.get()
                on:change=move |_| choose.run(())
            />
            <span>{face}</span>
        </label>
    }
    .into_any()
}

//! The theme switch: radios that look like one control.

use leptos::prelude::*;

use super::{Glyph, icon};
use crate::{model::Theme, state::use_theme};

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
        radio(words, format!("{words} theme"), icon(glyph), chosen, choose)
    };
    view! {
        <fieldset class="switch switch-icons">
            <legend class="visually-hidden">"Theme"</legend>
            {Vec::from(Theme::ALL.map(one))}
        </fieldset>
    }
}

fn radio(
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
                name="theme"
                aria-label=name
                prop:checked=move || chosen.get()
                on:change=move |_| choose.run(())
            />
            <span>{face}</span>
        </label>
    }
    .into_any()
}

//! The picker of the clock on which times are shown.

use leptos::prelude::*;

use crate::{
    api,
    components::{Field, Fill, Glyph, Suggestions, icon, menu},
    data::use_load,
    state::{Zone, ZoneChoice, use_zone},
    time::{browser_zone, city},
};

/// The picker of the clock: UTC, each schedule's zone, the browser's, or any other.
pub(super) fn picker() -> AnyView {
    let zone = use_zone();
    let face = view! {
        {icon(Glyph::Clock)}<span class="zone-name">{move || words(&zone.get())}</span>{icon(Glyph::Down)}
    };
    menu("Time zone of all times", face.into_any(), choices(zone))
}

fn choices(zone: Zone) -> AnyView {
    let radio = move |choice: ZoneChoice| {
        let (words, mine) = (words(&choice), choice.clone());
        let is_chosen = move || zone.get() == mine;
        view! {
            <label class="check-label">
                <input
                    type="radio"
                    name="zone"
                    prop:checked=is_chosen
                    on:change=move |_| zone.choose(choice.clone())
                />
                {words}
            </label>
        }
        .into_any()
    };
    let fixed = [ZoneChoice::Schedule, ZoneChoice::Mine, ZoneChoice::Utc].map(radio);
    view! {
        <fieldset class="menu-radios">
            <legend class="visually-hidden">"Time zone of all times"</legend>
            {Vec::from(fixed)}
        </fieldset>
        {another(zone)}
    }
    .into_any()
}

/// A field for any zone that the server knows.
fn another(zone: Zone) -> AnyView {
    let typed = RwSignal::new(match zone.get() {
        ZoneChoice::Named(name) => name,
        ZoneChoice::Utc | ZoneChoice::Schedule | ZoneChoice::Mine => String::new(),
    });
    let sought = RwSignal::new(None::<String>);
    let is_used = Memo::new(move |_| sought.with(Option::is_some));
    let zones = use_load(move || is_used.get().then(api::timezones));
    let first = typed.get_untracked();
    Effect::new(move |was_loaded: Option<bool>| {
        let name = typed.get();
        let is_known = zones.with(|zones| zones.contains(&name));
        // The names arrive when the field gets the focus. That alone must not choose the name that it has from before.
        let is_given = was_loaded == Some(true) || name != first;
        if is_given && is_known == Some(true) {
            zone.choose(ZoneChoice::Named(name));
        }
        is_known.is_some()
    });
    let known = Memo::new(move |_| zones.with(Vec::clone).unwrap_or_default());
    let suggestions = Suggestions { fill: Fill::Whole, known: known.into(), sought };
    Field::new("shown-zone", "Another zone", typed).picks(suggestions).text()
}

fn words(choice: &ZoneChoice) -> String {
    match choice {
        ZoneChoice::Utc => "UTC".to_owned(),
        ZoneChoice::Schedule => "Schedule's zone".to_owned(),
        ZoneChoice::Mine => format!("{} (mine)", city(&browser_zone())),
        ZoneChoice::Named(zone) => city(zone),
    }
}

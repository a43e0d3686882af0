//! When: expressions, zone, what the changes of the clocks do, bounds, jitter.

use leptos::prelude::*;

use super::{draft::Draft, errors::Errors};
use crate::{
    api::{self, Load, use_load},
    components::{ChoiceField, Glyph, Icon, TextField},
};

/// As many as the schema allows in one timing.
const EXPRESSIONS: usize = 16;

/// The section.
#[component]
pub(super) fn Timing(draft: Draft, errors: Errors) -> impl IntoView {
    view! {
        <fieldset class="panel form-section">
            <legend>"When"</legend>
            <ExpressionList draft=draft errors=errors/>
            <ZoneField draft=draft errors=errors/>
            <details class="more">
                <summary>"Clock changes, bounds and jitter"</summary>
                <div class="field-grid">
                    <ChoiceField id="gap" label="When the clock skips the time" value=draft.gap choices=vec![
                        ("shift", "Fire right after the gap"),
                        ("skip", "Leave it out"),
                    ] error=errors.of(&["gap"])/>
                    <ChoiceField id="overlap-hour" label="When the time comes twice" value=draft.overlap_hour choices=vec![
                        ("first", "Fire in the first pass"),
                        ("last", "Fire in the second pass"),
                        ("both", "Fire in both passes"),
                    ] error=errors.of(&["overlap"])/>
                    <TextField id="start" label="From (your time)" kind="datetime-local" value=draft.start
                        error=errors.of(&["startAt", "start"])/>
                    <TextField id="end" label="Until (your time)" kind="datetime-local" value=draft.end
                        error=errors.of(&["endAt", "end"])/>
                    <TextField id="jitter" label="Jitter (seconds)" kind="number" value=draft.jitter
                        error=errors.of(&["jitterSeconds", "jitter"])
                        hint="Spreads starts; each fire keeps its own offset."/>
                </div>
            </details>
        </fieldset>
    }
}

#[component]
fn ExpressionList(draft: Draft, errors: Errors) -> impl IntoView {
    let all = draft.expressions;
    let next_key = StoredValue::new(all.with_untracked(Vec::len) as u32 + 1);
    let add = move |_| {
        let key = next_key.get_value();
        next_key.set_value(key + 1);
        all.update(|all| all.push((key, RwSignal::new(String::new()))));
    };
    let row = move |(key, value): (u32, RwSignal<String>)| {
        let index = Signal::derive(move || {
            all.with(|all| all.iter().position(|(known, _)| *known == key).unwrap_or_default())
        });
        let label = format!("Expression {}", index.get_untracked() + 1);
        view! {
            <TextField id=format!("expression-{key}") label=label value=value is_code=true is_required=true
                error=errors.of_expression(index)>
                <Show when=move || all.with(|all| all.len() > 1)>
                    <button type="button" class="icon-button"
                        aria-label=move || format!("Remove expression {}", index.get() + 1)
                        on:click=move |_| all.update(|all| all.retain(|(known, _)| *known != key))>
                        <Icon glyph=Glyph::Minus/>
                    </button>
                </Show>
            </TextField>
        }
    };
    view! {
        <For each=move || all.get() key=|(key, _)| *key children=row/>
        <p class="hint">
            "Cron with 5 fields, 6 (seconds first) or 7 (year last); "<code>"@daily"</code>", "
            <code>"@every 90s"</code>", "<code>"@at 2027-01-01T00:00:00Z"</code>", "<code>"H"</code>" to spread load."
        </p>
        <button type="button" class="button button-quiet" disabled=move || all.with(|all| all.len() >= EXPRESSIONS) on:click=add>
            <Icon glyph=Glyph::Plus/>"Add expression"
        </button>
    }
}

/// The zone, with the server's list to choose from.
#[component]
fn ZoneField(draft: Draft, errors: Errors) -> impl IntoView {
    let zones: Load<Vec<String>> = use_load(|| Some(api::timezones()));
    view! {
        <TextField id="zone" label="Time zone" value=draft.zone is_required=true list="zones"
            error=errors.of(&["zone"]) hint="An IANA name: Europe/Berlin."/>
        <datalist id="zones">
            {move || zones.data.get().unwrap_or_default().into_iter()
                .map(|zone| view! { <option value=zone></option> })
                .collect_view()}
        </datalist>
    }
}

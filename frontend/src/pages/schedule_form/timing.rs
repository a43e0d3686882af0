//! The timing: expressions, zone, policies for clock changes, bounds, jitter.

use std::sync::Arc;

use leptos::prelude::*;

use super::{builder::builder, draft::Draft, errors::Errors};
use crate::{
    api,
    components::{Field, Glyph, focus_first, icon, icon_button, keyed, live},
    data::use_load,
    model::{Named, Page},
    pages::suggest,
    state::use_address,
};

/// The maximum number of expressions of a timing, as in the schema.
const EXPRESSIONS: usize = 16;

/// The section with the timing.
pub(super) fn timing(draft: Draft, errors: Errors) -> AnyView {
    let local = |id: &'static str, label: &'static str, value, names: &[&'static str]| {
        Field::new(id, label, value).kind("datetime-local").error(errors.of(names)).text()
    };
    view! {
        <fieldset class="panel form-section">
            <legend>"When"</legend>
            {expression_list(draft, errors)}
            {builder(draft)}
            {zone(draft, errors)}
            <details class="more">
                <summary>"Clock changes, bounds, jitter and calendars"</summary>
                <div class="field-grid">
                    {Field::new("gap", "When the clock skips the time", draft.gap).error(errors.of(&["gap"]))
                        .choice(&[("shift", "Fire right after the gap"), ("skip", "Leave it out")])}
                    {Field::new("overlap-hour", "When the time occurs twice", draft.overlap_hour)
                        .error(errors.of(&["overlap"]))
                        .choice(&[
                            ("first", "Fire the first time"),
                            ("last", "Fire the second time"),
                            ("both", "Fire both times"),
                        ])}
                    {local("start", "From (your time)", draft.start, &["startAt", "start"])}
                    {local("end", "Until (your time)", draft.end, &["endAt", "end"])}
                    {Field::new("jitter", "Jitter (seconds)", draft.jitter).kind("number")
                        .error(errors.of(&["jitterSeconds", "jitter"]))
                        .hint("Spreads starts; each fire keeps its own offset.").text()}
                    {Field::new("max-fires", "Maximum number of fires", draft.max_fires).kind("number")
                        .error(errors.of(&["maxFires"])).hint("Empty: unlimited.").text()}
                    {Field::new("calendars", "Calendars", draft.calendars).picks(suggest::calendars()).error(errors.of(&["calendars"]))
                        .hint("Names, separated by commas. They suppress fires.").text()}
                    {calendar_picker(draft)}
                </div>
            </details>
        </fieldset>
    }
    .into_any()
}

/// The first calendars of the namespace. A click adds or removes one; the field above finds the others.
fn calendar_picker(draft: Draft) -> AnyView {
    let address = use_address();
    let calendars = use_load(move || Some(api::calendars(address.namespace(), None)));
    calendars.draw(move |page: &Page<Named>| {
        let one = |calendar: &Arc<Named>| {
            let (name, known) = (calendar.name.clone(), calendar.name.clone());
            let is_taken = move || draft.calendars().contains(&known).to_string();
            let turn = move |_| {
                let mut taken = untrack(|| draft.calendars());
                match taken.iter().position(|known| *known == name) {
                    Some(at) => drop(taken.remove(at)),
                    None => taken.push(name.clone()),
                }
                draft.calendars.set(taken.join(", "));
            };
            let words = calendar.name.clone();
            view! { <button type="button" class="query-view" aria-pressed=is_taken on:click=turn>{words}</button> }
                .into_any()
        };
        let all: Vec<_> = page.rows.iter().map(one).collect();
        let words = format!("Only the first {} are shown. Type a name to find the others.", all.len());
        let more = page.next.is_some().then(|| view! { <p class="hint">{words}</p> }.into_any());
        view! {
            <div class="query-views" role="group" aria-label="Calendars of the namespace">{all}</div>
            {more}
        }
        .into_any()
    })
}

fn expression_list(draft: Draft, errors: Errors) -> AnyView {
    let all = draft.expressions;
    let add = move |_| draft.add_expression();
    let row = move |key: String| {
        let value = all.with_untracked(|all| all.iter().find(|(k, _)| *k == key).map(|(_, v)| *v));
        let Some(value) = value else { return ().into_any() };
        let id = format!("expression-{key}");
        let index = Signal::derive(move || {
            all.with(|all| all.iter().position(|(known, _)| *known == key).unwrap_or_default())
        });
        let remove = live(move || {
            if all.with(Vec::len) < 2 {
                return ().into_any();
            }
            let name = format!("Remove expression {}", index.get() + 1);
            let remove = move || {
                let at = index.get_untracked();
                all.update(|all| drop(all.remove(at)));
                let beside = all.with_untracked(|all| {
                    all.get(at).or(all.last()).map(|(key, _)| format!("#expression-{key}"))
                });
                focus_first(beside.into_iter().collect());
            };
            icon_button(Glyph::Minus, "Remove", name, remove)
        });
        Field::new(id, "", value)
            .labelled(Signal::derive(move || format!("Expression {}", index.get() + 1)))
            .code()
            .required()
            .error(errors.of_expression(index))
            .extra(remove)
            .text()
    };
    let keys = move || all.with(|all| all.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>());
    let is_full = move || all.with(Vec::len) >= EXPRESSIONS;
    view! {
        {keyed(keys, row)}
        <p class="hint">
            "Cron with 5 fields, 6 (seconds first) or 7 (year last); "<code>"@daily"</code>", "
            <code>"@every 90s"</code>", "<code>"@at 2027-01-01T00:00:00Z"</code>", "<code>"H"</code>" to spread load."
        </p>
        <button type="button" class="button button-quiet" disabled=move || is_full() on:click=add>
            {icon(Glyph::Plus)}"Add expression"
        </button>
    }
    .into_any()
}

/// The field of the zone, with the server's list of zones to choose from.
fn zone(draft: Draft, errors: Errors) -> AnyView {
    Field::new("zone", "Time zone", draft.zone)
        .required()
        .picks(suggest::zones())
        .error(errors.of(&["zone"]))
        .hint("An IANA name: Europe/Berlin.")
        .text()
}

//! What each catch-up policy would do about an outage, past or future: schedule by schedule, and the instants of one
//! of them. The range and the search are in the address.
//!
//! - `range`: the range and the search, as fields and in the address
//! - `table`: the schedules with the effect of each policy
//! - `instants`: the instants of one schedule under each policy, side by side

mod instants;
mod range;
mod table;

use leptos::prelude::*;

use self::range::Range;
use super::kit::{self, empty};
use crate::{
    api,
    components::{AsyncView, Look, button, live, panel},
    data::use_load,
    model::Outage,
    state::{use_address, use_title},
};

/// How many schedules are listed at first, and on request: the maximum of one answer.
const FEW: i64 = 50;
const MORE: i64 = 100;

/// The page of a hypothetical outage.
#[component]
pub(crate) fn WhatIf() -> impl IntoView {
    use_title(|| "What if".to_owned());
    let address = use_address();
    let namespace = kit::use_namespace();
    let usual = Range::next_hour();
    let range = Memo::new(move |_| Range::of(address).unwrap_or(usual));
    let schedule = Memo::new(move |_| some(address.query("schedule")));
    let search = Memo::new(move |_| some(address.query("q")).filter(|_| schedule.get().is_none()));
    let first = RwSignal::new(FEW);
    let preview = use_load(move || {
        let namespace = some(namespace.get())?;
        let (search, schedule) = (search.get(), schedule.get());
        let Range { from, to } = range.get();
        Some(api::planning::outage(namespace, search, schedule, from, to, first.get()))
    });
    let opened = RwSignal::new(schedule.get_untracked());
    // The list of another search or namespace may not have the schedule that was opened in the last one.
    let listed = Memo::new(move |_| {
        let id = opened.get()?;
        let has = |outage: &Outage| outage.schedules.iter().any(|one| one.schedule.id == id);
        preview.with(has).unwrap_or_default().then_some(id)
    });
    let is_empty = Signal::derive(move || {
        preview.with(|outage| outage.schedules.is_empty()).unwrap_or_default()
    });
    let loading = preview.loading;
    let bad_search =
        Signal::derive(move || loading.failure().filter(|failure| failure.is_of_search()));
    view! {
        <header class="page-head"><h1>"What if"</h1></header>
        <div class="stack">
            <p class="lede">"What each catch-up policy does about the fires that become due while no scheduler runs."</p>
            {range::form(usual, schedule, bad_search)}
            <AsyncView
                loading=loading
                what="the outage"
                is_empty=is_empty
                empty=|| empty("No schedule matches", "Change the search, or leave it empty to see all schedules.")
            >
                {preview.draw(summary)}
                {preview.draw(move |outage| panel("By schedule", (), table::schedules(outage, opened)))}
                {preview.draw(move |outage| more(outage, first))}
                {live(move || match listed.get() {
                    Some(id) => view! { <instants::Instants id=id range=range/> }.into_any(),
                    None => ().into_any(),
                })}
            </AsyncView>
        </div>
    }
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// The effect on all listed schedules.
fn summary(outage: &Outage) -> AnyView {
    panel("All of them together", (), table::totals(outage))
}

/// The rest of the list, if it is longer than what is shown.
fn more(outage: &Outage, first: RwSignal<i64>) -> AnyView {
    if !outage.has_more {
        return ().into_any();
    }
    let shown = untrack(|| first.get());
    if shown < MORE {
        return view! {
            <nav class="pager" aria-label="More schedules">
                {button(Look::Plain, None, "Show more", move || first.set(MORE))}
            </nav>
        }
        .into_any();
    }
    let words = format!("The first {MORE} by name are listed. Narrow the search to see others.");
    view! { <p class="muted">{words}</p> }.into_any()
}

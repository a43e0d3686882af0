//! The schedules of the list by tag or by module, with their counts. A group narrows the list by a term of the search,
//! so actions on all that match apply to it as well.

use std::time::Duration;

use leptos::prelude::*;

use super::wanted::Wanted;
use crate::{
    api,
    components::{has_term, live, toggled},
    data::use_load,
    model::{ScheduleGrouping, ScheduleGroups},
    state::{Address, use_address, use_every},
    time::grouped,
};

/// What the list can be grouped by: the word in the address, which is the field of the search, and the button.
const CHOICES: [(&str, &str); 2] = [("tag", "By tag"), ("module", "By module")];
const LOOK: Duration = Duration::from_secs(30);

/// The buttons that group the list.
pub(super) fn choice() -> AnyView {
    let address = use_address();
    let button = |(word, label): (&'static str, &'static str)| {
        let is_chosen = move || (address.query("group") == word).to_string();
        let choose = move |_| {
            let next = if untrack(|| address.query("group")) == word { "" } else { word };
            address.replace(&address.with(&[("group", next)]));
        };
        view! { <button type="button" class="query-view group-by" aria-pressed=is_chosen on:click=choose>{label}</button> }
            .into_any()
    };
    CHOICES.map(button).into_any()
}

/// The groups, if the address asks for them.
pub(super) fn list() -> AnyView {
    let address = use_address();
    let by = Memo::new(move |_| by(address));
    let wanted = Memo::new(move |_| Wanted::of(address).whole());
    let groups = use_load(move || {
        let (_, by) = by.get()?;
        Some(api::schedule_groups(wanted.get().query(), by))
    });
    use_every(LOOK, move || {
        if by.get_untracked().is_some() {
            groups.loading.refresh();
        }
    });
    live(move || {
        let Some((field, by)) = by.get() else { return ().into_any() };
        let text = address.query("q");
        groups
            .with(|groups| drawn(groups, field, by, &text, address))
            .unwrap_or_else(|| ().into_any())
    })
}

/// What the address groups by; tracked.
fn by(address: Address) -> Option<(&'static str, ScheduleGrouping)> {
    match address.query("group").as_str() {
        "tag" => Some(("tag", ScheduleGrouping::Tag)),
        "module" => Some(("module", ScheduleGrouping::Module)),
        _ => None,
    }
}

fn drawn(
    groups: &ScheduleGroups,
    field: &'static str,
    by: ScheduleGrouping,
    text: &str,
    address: Address,
) -> AnyView {
    let items: Vec<_> = groups
        .groups
        .iter()
        .map(|group| {
            let term = format!("{field}:{}", group.name);
            let is_chosen = has_term(text, &term);
            let narrowed = toggled(text, &term);
            let href = address.href(&[("q", &narrowed), ("after", ""), ("before", "")]);
            view! {
                <li>
                    <a class="query-view" href=href aria-current=is_chosen.then_some("true")>
                        {group.name.clone()}" "<b>{grouped(group.schedules)}</b>
                    </a>
                </li>
            }
            .into_any()
        })
        .collect();
    let without = (groups.without > 0).then(|| {
        let words = match by {
            ScheduleGrouping::Tag => "without a tag ",
            ScheduleGrouping::Module => "in no module ",
        };
        view! { <li class="muted">{words}<b>{grouped(groups.without)}</b></li> }.into_any()
    });
    let cut = groups.is_cut.then(|| {
        view! { <li class="muted">"Only the 200 largest groups are shown."</li> }.into_any()
    });
    let label = match by {
        ScheduleGrouping::Tag => "Schedules by tag",
        ScheduleGrouping::Module => "Schedules by module",
    };
    view! {
        <ul class="schedule-groups" aria-label=label data-testid="schedule-groups">{items}{without}{cut}</ul>
    }
    .into_any()
}

//! The schedules of the list by tag or by module, with their counts. Selecting a group adds a term to the search, so
//! actions on all matches apply to the group as well.

use leptos::prelude::*;

use super::wanted::Wanted;
use crate::{
    api,
    components::{has_term, live, toggled, use_typing},
    data::{Listing, use_load},
    model::{ScheduleGrouping, ScheduleGroups, ScheduleRow},
    state::{Address, use_address},
    time::grouped,
};

/// The ways to group the list: the word in the address, which is also the search field, and the label of the button.
const CHOICES: [(&str, &str); 2] = [("tag", "By tag"), ("module", "By module")];

/// The server's maximum for a text that names are searched for, in characters.
const MAX_TEXT: &str = "200";

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

/// The groups that the address asks for. They are counted after each drawing of the list, because counting reads all
/// matches.
pub(in crate::pages) fn list(schedules: Listing<ScheduleRow>) -> AnyView {
    let address = use_address();
    let by = Memo::new(move |_| by(address));
    let sought = RwSignal::new(String::new());
    Effect::new(move |before: Option<Option<(&'static str, ScheduleGrouping)>>| {
        let by = by.get();
        // What was looked for among the tags is not looked for among the modules.
        if before.is_some_and(|before| before != by) {
            sought.set(String::new());
        }
        by
    });
    let groups = use_load(move || {
        let ((_, by), sought) = (by.get()?, sought.get());
        if schedules.drawn() == 0 {
            return None;
        }
        Some(api::schedule_groups(untrack(|| Wanted::of(address)).query(), by, sought))
    });
    // Once the field is there it stays, because it may have the focus.
    let sought_in = Memo::new(move |before: Option<&Option<&'static str>>| {
        let (field, _) = by.get()?;
        let is_there = before.copied().flatten() == Some(field);
        let is_cut = groups.with(|groups| groups.is_cut).unwrap_or_default();
        (is_there || is_cut).then_some(field)
    });
    let list = move || {
        let Some((field, by)) = by.get() else { return ().into_any() };
        let text = address.query("q");
        let none = sought.with(|sought| !sought.is_empty());
        groups
            .with(|groups| {
                view! { {drawn(groups, field, by, &text, address)}{none.then(|| nothing(groups))} }
                    .into_any()
            })
            .unwrap_or_else(|| ().into_any())
    };
    view! {
        {live(move || sought_in.get().map_or_else(|| ().into_any(), |field| name_field(field, sought)))}
        {live(list)}
    }
    .into_any()
}

/// The field that finds groups by a part of their names.
fn name_field(field: &'static str, sought: RwSignal<String>) -> AnyView {
    let label = if field == "tag" { "Tag contains" } else { "Module contains" };
    let typing = use_typing(Callback::new(move |text: String| sought.set(text.trim().to_owned())));
    view! {
        <search class="filter-line" aria-label="Which groups">
            <input
                type="search"
                class="filter-field"
                aria-label=label
                placeholder=label
                maxlength=MAX_TEXT
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
                on:input:target=move |event| typing.typed(event.target().value())
            />
        </search>
    }
    .into_any()
}

/// The note that no group was found, if that is so.
fn nothing(groups: &ScheduleGroups) -> AnyView {
    if groups.total > 0 {
        return ().into_any();
    }
    view! { <p class="muted">"No name contains this text."</p> }.into_any()
}

/// The grouping that the address names; tracked.
pub(super) fn by(address: Address) -> Option<(&'static str, ScheduleGrouping)> {
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
    // A click on a group narrows the list to its schedules; a click on the selected group removes that filter.
    let item = |term: &str, words: String, schedules: i64| {
        let is_chosen = has_term(text, term);
        let narrowed = toggled(text, term);
        let href = address.href(&[("q", &narrowed), ("after", ""), ("before", "")]);
        view! {
            <li>
                <a class="query-view" href=href aria-current=is_chosen.then_some("true")>
                    {words}" "<b>{grouped(schedules)}</b>
                </a>
            </li>
        }
        .into_any()
    };
    let items: Vec<_> = groups
        .groups
        .iter()
        .map(|group| item(&format!("{field}:{}", group.name), group.name.clone(), group.schedules))
        .collect();
    let term = format!("no:{field}");
    let without = (groups.without > 0 || has_term(text, &term)).then(|| {
        let words = match by {
            ScheduleGrouping::Tag => "without a tag",
            ScheduleGrouping::Module => "in no module",
        };
        item(&term, words.to_owned(), groups.without)
    });
    let cut = groups.is_cut.then(|| {
        let (shown, all) = (groups.groups.len(), grouped(groups.total));
        view! { <li class="muted">{format!("The {shown} largest of {all} groups are shown.")}</li> }
            .into_any()
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

//! What fields suggest: the names of what exists on the server.
//!
//! Nothing is loaded before a field is used. Lists are bounded, as the server bounds them. What there may be more of,
//! such as tags, workflows, calendars and users, is searched by the server as soon as its list is not complete;
//! schedules are always searched.
//!
//! - `names`: where the names come from: a list, or a list and searches

mod names;

use std::sync::Arc;

use leptos::prelude::*;

use self::names::{FoundNames, Names, Sought, from_list, named, searched};
use crate::{
    api,
    components::{Fill, QueryField, Suggestions, typed_value},
    data::use_load,
    model::{Membership, Named, Page, Place, Pulling, ScheduleName, TagNames, User},
    state::{use_address, use_session},
};

/// The server's maximum for one page of a list.
const MAX_NAMES: usize = 200;

/// The namespace of the page; empty across all namespaces.
fn here() -> Signal<String> {
    let address = use_address();
    Signal::derive(move || address.namespace())
}

/// The namespace of a request that needs exactly one; `None` across all namespaces.
fn one(namespace: Signal<String>) -> Option<String> {
    Some(namespace.get()).filter(|namespace| !namespace.is_empty())
}

/// The tags that schedules have.
fn tags_of(sought: Sought, namespace: Signal<String>) -> Names {
    let names = |found: &TagNames| FoundNames { names: named(&found.groups), is_cut: found.is_cut };
    searched(sought, move |text| Some(api::tags(namespace.get(), text)), names)
}

/// Tags, separated by commas.
pub(super) fn tags() -> Suggestions {
    let sought = RwSignal::new(None);
    Suggestions { fill: Fill::Words, known: tags_of(sought, here()), sought }
}

/// One tag.
pub(super) fn tag() -> Suggestions {
    Suggestions { fill: Fill::Whole, ..tags() }
}

/// A search that selects schedules: its fields, their values, and tags.
pub(super) fn search(fields: &'static [QueryField]) -> Suggestions {
    Suggestions { fill: Fill::Search(fields), ..tags() }
}

/// What the last term of a search asks for, once the user types a value of the field.
fn typed_in(search: Signal<String>, field: &'static str) -> Sought {
    let sought = RwSignal::new(None);
    Effect::new(move |before: Option<()>| {
        let typed = search.with(|search| typed_value(search, field).map(str::to_owned));
        if before.is_some() && typed.is_some() {
            sought.set(typed);
        }
    });
    sought
}

/// The tags that a search may name, once the user types a term that asks for one.
pub(super) fn tags_in(search: Signal<String>) -> Names {
    tags_of(typed_in(search, "tag"), here())
}

/// The calendars that a search may name, once the user types a term that asks for one. None across all namespaces.
pub(super) fn calendars_in(search: Signal<String>) -> Names {
    calendars_of(typed_in(search, "calendar"), here())
}

fn secret_names(fill: Fill) -> Suggestions {
    let namespace = here();
    let ask = move || one(namespace).map(api::settings::secret_names);
    from_list(fill, ask, named)
}

/// A reference to a secret, as the whole text.
pub(super) fn secret() -> Suggestions {
    secret_names(Fill::Secret)
}

/// References to secrets within a longer text.
pub(super) fn secrets() -> Suggestions {
    secret_names(Fill::Template)
}

pub(super) fn groups() -> Suggestions {
    let namespace = here();
    from_list(Fill::Whole, move || one(namespace).map(api::groups), named)
}

/// The names on the first page of a list.
fn on_page(page: &Page<Named>) -> FoundNames {
    FoundNames {
        names: page.rows.iter().map(|named| named.name.clone()).collect(),
        is_cut: page.next.is_some(),
    }
}

/// The calendars of a namespace.
fn calendars_of(sought: Sought, namespace: Signal<String>) -> Names {
    let ask = move |text| one(namespace).map(|namespace| api::calendars(namespace, text));
    searched(sought, ask, on_page)
}

/// Calendars, separated by commas.
pub(super) fn calendars() -> Suggestions {
    let sought = RwSignal::new(None);
    Suggestions { fill: Fill::Words, known: calendars_of(sought, here()), sought }
}

/// One workflow.
pub(super) fn workflows() -> Suggestions {
    let (sought, namespace) = (RwSignal::new(None), here());
    let ask = move |text| one(namespace).map(|namespace| api::workflows(namespace, text));
    Suggestions { fill: Fill::Whole, known: searched(sought, ask, on_page), sought }
}

pub(super) fn zones() -> Suggestions {
    from_list(Fill::Whole, || Some(api::timezones()), |zones: &Vec<String>| zones.clone())
}

pub(super) fn namespaces() -> Suggestions {
    from_list(Fill::Whole, || Some(api::namespaces()), named)
}

/// The queues of workers: one.
pub(super) fn queue() -> Suggestions {
    queues_in(here(), Fill::Whole)
}

/// Several queues of a namespace, separated by commas.
pub(super) fn queues(namespace: Signal<String>) -> Suggestions {
    queues_in(namespace, Fill::Words)
}

fn queues_in(namespace: Signal<String>, fill: Fill) -> Suggestions {
    from_list(fill, move || one(namespace).map(api::workers::queue_names), named)
}

/// The tags of the workers that are in contact, separated by commas.
pub(super) fn worker_tags() -> Suggestions {
    let namespace = here();
    let names = |pulling: &Pulling| -> Vec<String> {
        let mut tags: Vec<String> =
            pulling.workers.iter().flat_map(|worker| worker.tags.clone()).collect();
        tags.sort_unstable();
        tags.dedup();
        tags
    };
    from_list(Fill::Words, move || one(namespace).map(api::workers::workers), names)
}

/// One schedule, searched by the server.
pub(super) fn schedules(namespace: Signal<String>) -> Suggestions {
    let sought = RwSignal::new(None);
    Suggestions { fill: Fill::Whole, known: schedules_of(sought, namespace, || true), sought }
}

/// One schedule of the page's namespace, searched by the server.
pub(super) fn schedules_here() -> Suggestions {
    schedules(here())
}

fn schedules_of(
    sought: Sought,
    namespace: Signal<String>,
    is_wanted: impl Fn() -> bool + 'static,
) -> Names {
    let found = use_load(move || {
        let text = sought.get().filter(|_| is_wanted())?;
        Some(api::planning::schedule_names(namespace.get(), name_search(&text), None))
    });
    let name = |row: &Arc<ScheduleName>| row.name.clone();
    let names =
        move |page: &Page<ScheduleName>| -> Vec<String> { page.rows.iter().map(name).collect() };
    Memo::new(move |_| found.with(names).unwrap_or_default()).into()
}

/// The search for what has a text in its name; none for an empty text.
fn name_search(text: &str) -> Option<String> {
    let text = text.trim().replace('\\', "\\\\").replace('"', "\\\"");
    (!text.is_empty()).then(|| format!("name:\"{text}\""))
}

/// The users of the instance, while they are wanted.
fn users_of(sought: Sought, is_wanted: impl Fn() -> bool + 'static) -> Names {
    let ask = move |text| is_wanted().then(|| api::settings::users(text, Place::First, MAX_NAMES));
    let names = |page: &Page<User>| FoundNames {
        names: page.rows.iter().map(|user| user.name.clone()).collect(),
        is_cut: page.next.is_some(),
    };
    searched(sought, ask, names)
}

/// The users that an administrator may see: all of them, or the members of the namespace.
fn people_of(
    sought: Sought,
    namespace: Signal<String>,
    is_wanted: impl Fn() -> bool + 'static,
) -> Names {
    if untrack(|| use_session().administers_all()) {
        return users_of(sought, is_wanted);
    }
    let names = |page: &Page<Membership>| FoundNames {
        names: page.rows.iter().map(|member| member.user.clone()).collect(),
        is_cut: page.next.is_some(),
    };
    let ask = move |text| {
        let namespace = one(namespace).filter(|_| is_wanted())?;
        Some(api::settings::memberships(namespace, text, Place::First, MAX_NAMES))
    };
    searched(sought, ask, names)
}

/// Any user, for administrators of the instance; others do not see them.
pub(super) fn users() -> Suggestions {
    let (session, sought) = (use_session(), RwSignal::new(None));
    let known = users_of(sought, move || session.administers_all());
    Suggestions { fill: Fill::Whole, known, sought }
}

/// A user, or a member of the namespace.
pub(super) fn people() -> Suggestions {
    let sought = RwSignal::new(None);
    Suggestions { fill: Fill::Whole, known: people_of(sought, here(), || true), sought }
}

#[cfg(test)]
mod tests {
    use super::name_search;

    #[test]
    fn a_name_is_searched_as_it_is_written() {
        assert_eq!(name_search(" a \"b\" \\ "), Some("name:\"a \\\"b\\\" \\\\\"".to_owned()));
        assert_eq!(name_search("  "), None);
    }
}

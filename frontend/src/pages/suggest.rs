//! What fields suggest: the names of what exists on the server.
//!
//! Nothing is loaded before a field is used. Lists are bounded, as the server bounds them. What there may be more of, such
//! as tags and workflows, is searched by the server as soon as its list is not complete; schedules are always searched.

use std::{rc::Rc, sync::Arc};

use leptos::prelude::*;
use serde::de::DeserializeOwned;

use crate::{
    api::{self, Ask},
    components::{Fill, QueryField, Suggestions, typed_value},
    data::{Load, use_load},
    model::{Membership, Named, Page, Place, Pulling, ScheduleName, TagNames, User},
    state::{use_address, use_session},
};

/// The server's maximum for one page of a list.
const MAX_NAMES: usize = 200;
/// The server's maximum for a text that names are searched for, in characters.
const MAX_TEXT: usize = 200;

type Sought = RwSignal<Option<String>>;
type Names = Signal<Vec<String>>;

/// The namespace of the page; empty across all namespaces.
fn here() -> Signal<String> {
    let address = use_address();
    Signal::derive(move || address.namespace())
}

/// The namespace of a request that needs exactly one; `None` across all namespaces.
fn one(namespace: Signal<String>) -> Option<String> {
    Some(namespace.get()).filter(|namespace| !namespace.is_empty())
}

/// Suggestions that come from a list, which is loaded once the field is used.
fn from_list<T>(
    fill: Fill,
    ask: impl Fn() -> Option<Ask<T>> + 'static,
    names: fn(&T) -> Vec<String>,
) -> Suggestions
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let sought = RwSignal::new(None);
    Suggestions { fill, known: list(sought, ask, names), sought }
}

fn list<T>(
    sought: Sought,
    ask: impl Fn() -> Option<Ask<T>> + 'static,
    names: fn(&T) -> Vec<String>,
) -> Names
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    // What is typed further does not load the list again.
    let is_used = Memo::new(move |_| sought.with(Option::is_some));
    let load = use_load(move || if is_used.get() { ask() } else { None });
    Memo::new(move |_| load.with(names).unwrap_or_default()).into()
}

/// The names in an answer, and whether there are more.
struct FoundNames {
    names: Vec<String>,
    is_cut: bool,
}

/// Suggestions that come from a list which may have more entries than the server returns at once. `ask` lists all, or
/// those whose names contain a text.
fn searched<T>(
    sought: Sought,
    ask: impl Fn(Option<String>) -> Option<Ask<T>> + 'static,
    read: fn(&T) -> FoundNames,
) -> Names
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let is_used = Memo::new(move |_| sought.with(Option::is_some));
    let ask = Rc::new(ask);
    let ask_all = ask.clone();
    let all = use_load(move || if is_used.get() { ask_all(None) } else { None });
    // A list that contains everything need not be searched.
    let is_cut = Memo::new(move |_| all.with(|found| read(found).is_cut).unwrap_or_default());
    let found = use_load(move || {
        let text = sought.get().filter(|text| is_searchable(text))?;
        if is_cut.get() { ask(Some(text)) } else { None }
    });
    let names = move |load: Load<T>| load.with(|found| read(found).names).unwrap_or_default();
    Memo::new(move |_| merged(names(all), names(found))).into()
}

fn is_searchable(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= MAX_TEXT
}

/// The names of two lists, each once.
fn merged(mut names: Vec<String>, more: Vec<String>) -> Vec<String> {
    names.extend(more);
    names.sort_by_cached_key(|name| (name.to_lowercase(), name.clone()));
    names.dedup();
    names
}

fn named<T: AsRef<[Named]>>(all: &T) -> Vec<String> {
    all.as_ref().iter().map(|named| named.name.clone()).collect()
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

/// The tags that a search may name, once the user types a term that asks for one.
pub(super) fn tags_in(search: Signal<String>) -> Names {
    let sought = RwSignal::new(None);
    Effect::new(move |before: Option<()>| {
        let typed = search.with(|search| typed_value(search, "tag").map(str::to_owned));
        if before.is_some() && typed.is_some() {
            sought.set(typed);
        }
    });
    tags_of(sought, here())
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

/// Calendars, separated by commas.
pub(super) fn calendars() -> Suggestions {
    let namespace = here();
    from_list(Fill::Words, move || one(namespace).map(api::calendars), named)
}

/// One workflow.
pub(super) fn workflows() -> Suggestions {
    let (sought, namespace) = (RwSignal::new(None), here());
    let ask = move |text| one(namespace).map(|namespace| api::workflows(namespace, text));
    let names = |page: &Page<Named>| FoundNames {
        names: page.rows.iter().map(|workflow| workflow.name.clone()).collect(),
        is_cut: page.next.is_some(),
    };
    Suggestions { fill: Fill::Whole, known: searched(sought, ask, names), sought }
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

fn user_names(page: &Page<User>) -> Vec<String> {
    page.rows.iter().map(|user| user.name.clone()).collect()
}

/// The users that an administrator may see: all of them, or the members of the namespace.
fn people_of(
    sought: Sought,
    namespace: Signal<String>,
    is_wanted: impl Fn() -> bool + 'static,
) -> Names {
    if untrack(|| use_session().administers_all()) {
        let ask = move || is_wanted().then(|| api::settings::users(Place::First, MAX_NAMES));
        return list(sought, ask, user_names);
    }
    let names = |page: &Page<Membership>| -> Vec<String> {
        page.rows.iter().map(|member| member.user.clone()).collect()
    };
    let ask = move || {
        let namespace = one(namespace).filter(|_| is_wanted())?;
        Some(api::settings::memberships(namespace, Place::First, MAX_NAMES))
    };
    list(sought, ask, names)
}

/// Any user, for administrators of the instance; others do not see them.
pub(super) fn users() -> Suggestions {
    let session = use_session();
    let ask = move || {
        let may = session.administers_all();
        may.then(|| api::settings::users(Place::First, MAX_NAMES))
    };
    from_list(Fill::Whole, ask, user_names)
}

/// A user, or a member of the namespace.
pub(super) fn people() -> Suggestions {
    let sought = RwSignal::new(None);
    Suggestions { fill: Fill::Whole, known: people_of(sought, here(), || true), sought }
}

#[cfg(test)]
mod tests {
    use super::{is_searchable, merged, name_search};

    #[test]
    fn a_name_is_searched_as_it_is_written() {
        assert_eq!(name_search(" a \"b\" \\ "), Some("name:\"a \\\"b\\\" \\\\\"".to_owned()));
        assert_eq!(name_search("  "), None);
    }

    #[test]
    fn the_names_of_a_list_and_of_a_search_are_each_suggested_once() {
        let names =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let all = merged(names(&["Alpha", "gamma"]), names(&["alpha", "beta", "gamma"]));
        assert_eq!(all, ["Alpha", "alpha", "beta", "gamma"]);
    }

    #[test]
    fn the_server_is_not_asked_for_what_it_would_refuse() {
        assert!(is_searchable("eu") && is_searchable(&"ü".repeat(200)));
        assert!(!is_searchable("") && !is_searchable(&"x".repeat(201)));
    }
}

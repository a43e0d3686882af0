//! Where suggested names come from: a list of the server, or a list and what the server finds.

use std::rc::Rc;

use leptos::prelude::*;
use serde::de::DeserializeOwned;

use crate::{
    api::Ask,
    components::{Fill, Suggestions},
    data::{Load, use_load},
    model::Named,
};

/// The server's maximum for a text that names are searched for, in characters.
const MAX_TEXT: usize = 200;

/// What is looked for; `None` until the field is used.
pub(super) type Sought = RwSignal<Option<String>>;
pub(super) type Names = Signal<Vec<String>>;

/// Suggestions that come from a list, which is loaded once the field is used.
pub(super) fn from_list<T>(
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

/// The names of a list, which is loaded once something is looked for.
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
pub(super) struct FoundNames {
    pub(super) names: Vec<String>,
    pub(super) is_cut: bool,
}

/// Names that come from a list which may have more entries than the server returns at once. `ask` lists all, or
/// those whose names contain a text.
pub(super) fn searched<T>(
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
    Memo::new(move |_| {
        // The last answer stays when nothing is asked any more; it may be that of another namespace.
        let is_asked =
            is_cut.get() && sought.with(|text| text.as_deref().is_some_and(is_searchable));
        merged(names(all), if is_asked { names(found) } else { Vec::new() })
    })
    .into()
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

pub(super) fn named<T: AsRef<[Named]>>(all: &T) -> Vec<String> {
    all.as_ref().iter().map(|named| named.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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

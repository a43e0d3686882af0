//! The user's saved views of a page.

use leptos::prelude::*;

use crate::{
    api,
    components::OwnViews,
    data::{use_actor, use_load},
    model::SavedView,
    state::Said,
};

/// The saved views of the page with this name.
pub(super) fn use_views(page: &'static str) -> OwnViews {
    let actor = use_actor();
    let views = use_load(|| Some(api::views()));
    let changed = move |outcome| match outcome {
        Ok(_) => views.loading.reload(),
        Err(failure) => actor.complain(&failure),
    };
    OwnViews {
        views: Signal::derive(move || {
            let own = views.with(|views| {
                let own = views.iter().filter(|view| view.page == page);
                own.map(|view| (view.id.clone(), view.name.clone(), view.query.clone())).collect()
            });
            own.unwrap_or_default()
        }),
        save: Callback::new(move |(name, query): (String, String)| {
            actor.send(api::save_view(page.to_owned(), name, query), changed);
        }),
        forget: Callback::new(move |id: String| {
            let found = |views: &Vec<SavedView>| views.iter().find(|view| view.id == id).cloned();
            let found = untrack(|| views.with(found)).flatten();
            let Some(SavedView { name, query, .. }) = found else { return };
            let said = Said::new(format!("The view {name} is removed."));
            // Undo saves the view again: a new view with the same name and query.
            let said = said.undo(move || {
                actor.send(api::save_view(page.to_owned(), name.clone(), query.clone()), changed);
            });
            actor.act(api::delete_view(id), said, move |_| views.loading.reload());
        }),
    }
}

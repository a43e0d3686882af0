//! Parts of a page that follow signals, in the few forms that the console needs: each is compiled once.

use std::sync::Arc;

use leptos::prelude::*;

use crate::{model::Row, state::List};

/// A part that is drawn again when what it read has changed.
pub(crate) fn live(draw: impl Fn() -> AnyView + Send + Sync + 'static) -> AnyView {
    view! { {move || draw()} }.into_any()
}

/// One part for each key. A part stays as long as its key does, wherever that moves.
pub(crate) fn keyed(
    keys: impl Fn() -> Vec<String> + Send + Sync + 'static,
    part: impl Fn(String) -> AnyView + Send + Sync + 'static,
) -> AnyView {
    let keys: Box<dyn Fn() -> Vec<String> + Send + Sync> = Box::new(keys);
    let part: Arc<dyn Fn(String) -> AnyView + Send + Sync> = Arc::new(part);
    view! { <For each=keys key=String::clone children=move |key| part(key)/> }.into_any()
}

/// The rows of a list. One that changes is drawn over itself, so a button in it keeps the focus.
pub(crate) fn rows<T: Row>(
    list: List,
    view: impl Fn(&T) -> AnyView + Send + Sync + 'static,
) -> AnyView {
    let view = Arc::new(view);
    keyed(
        move || list.ids(),
        move |id| {
            let (row, view) = (list.row(id), view.clone());
            live(move || match row.get().and_then(|row| row.get::<T>()) {
                Some(row) => view(&row),
                None => ().into_any(),
            })
        },
    )
}

//! The few ways in which parts of a page follow signals. They are functions that are compiled once,
//! because generic code would be compiled for each use.

use std::sync::Arc;

use leptos::prelude::*;

use super::fold::use_drawn;
use crate::{model::Row, state::List};

/// A part that is redrawn when a signal that it has read changes.
pub(crate) fn live(draw: impl Fn() -> AnyView + Send + Sync + 'static) -> AnyView {
    view! { {move || draw()} }.into_any()
}

/// A part for each key. A part is kept as long as its key exists, even if the key moves.
pub(crate) fn keyed(
    keys: impl Fn() -> Vec<String> + Send + Sync + 'static,
    part: impl Fn(String) -> AnyView + Send + Sync + 'static,
) -> AnyView {
    let keys: Box<dyn Fn() -> Vec<String> + Send + Sync> = Box::new(keys);
    let part: Arc<dyn Fn(String) -> AnyView + Send + Sync> = Arc::new(part);
    view! { <For each=keys key=String::clone children=move |key| part(key)/> }.into_any()
}

/// The rows of a list. A changed row is redrawn in place, so a button in it keeps the focus.
pub(crate) fn rows<T: Row>(
    list: List,
    view: impl Fn(&T) -> AnyView + Send + Sync + 'static,
) -> AnyView {
    let (view, drawn) = (Arc::new(view), use_drawn(list, None));
    keyed(
        move || drawn.get(),
        move |id| {
            let (row, view) = (list.row(id), view.clone());
            live(move || match row.get().and_then(|row| row.get::<T>()) {
                Some(row) => view(&row),
                None => ().into_any(),
            })
        },
    )
}

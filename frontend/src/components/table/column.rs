//! A column, and the order of the rows.

use std::sync::Arc;

use leptos::prelude::*;

use super::Part;
use crate::{model::Row, state::Held};

/// A text that the page stores, for example in its address: how to read it, and how to change it.
#[derive(Clone, Copy)]
pub(crate) struct Kept {
    pub(crate) value: Signal<String>,
    pub(crate) change: Callback<String>,
}

/// A column of a table.
pub(crate) struct Column {
    /// The column's heading.
    pub(super) words: &'static str,
    /// The column's name in the address.
    pub(super) name: &'static str,
    class: &'static str,
    pub(super) sort: Option<&'static str>,
    is_head: bool,
    pub(super) is_extra: bool,
    /// Drawn in the heading below its words.
    below: Option<Arc<dyn Fn() -> AnyView + Send + Sync>>,
    cell: Part<AnyView>,
}

/// A function that draws a row of type `T`, given a pointer to the row of unknown type.
pub(super) fn of_row<T: Row, U: 'static>(
    draw: impl Fn(&T) -> U + Send + Sync + 'static,
    without: fn() -> U,
) -> Part<U> {
    Arc::new(move |held: &Held| held.clone().get::<T>().map_or_else(without, |row| draw(&row)))
}

impl Column {
    /// A column: its name in the address, its heading, and the content of its cells.
    pub(crate) fn new<T: Row>(
        name: &'static str,
        words: &'static str,
        cell: impl Fn(&T) -> AnyView + Send + Sync + 'static,
    ) -> Self {
        Self {
            words,
            name,
            class: "",
            sort: None,
            is_head: false,
            is_extra: false,
            below: None,
            cell: of_row(cell, || ().into_any()),
        }
    }

    /// Makes this the column that identifies the row: its first link leads to the row's page.
    pub(crate) fn head(self) -> Self {
        Self { is_head: true, class: "name-cell", ..self }
    }

    /// Sets the class of the column's cells: `number`, `why-cell`, ...
    pub(crate) fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }

    /// Lets the user sort the rows by this column; `by` is the name of the order.
    pub(crate) fn sorts(self, by: &'static str) -> Self {
        Self { sort: Some(by), ..self }
    }

    /// Hides the column until the user selects it.
    pub(crate) fn extra(self) -> Self {
        Self { is_extra: true, ..self }
    }

    /// Draws something in the heading below its words, such as an axis.
    pub(crate) fn below_heading(self, view: impl Fn() -> AnyView + Send + Sync + 'static) -> Self {
        Self { below: Some(Arc::new(view)), ..self }
    }

    pub(super) fn heading(&self, sort: Option<Kept>) -> AnyView {
        let (words, class) = (self.words, self.class);
        let (Some(sort), Some(by)) = (sort, self.sort) else {
            let below = self.below.as_ref().map(|below| below());
            return view! { <th scope="col" class=class>{words}{below}</th> }.into_any();
        };
        let order = Memo::new(move |_| Order::of(&sort.value.get(), by));
        let turn = move |_| sort.change.run(order.get_untracked().turned(by));
        view! {
            <th scope="col" class=class aria-sort=move || order.get().spoken()>
                <button type="button" class="sort-button" on:click=turn>{words}</button>
            </th>
        }
        .into_any()
    }

    pub(super) fn draw(&self, held: &Held) -> AnyView {
        let (class, words, content) = (self.class, self.words, (self.cell)(held));
        if self.is_head {
            view! { <th scope="row" class=class data-label=words>{content}</th> }.into_any()
        } else {
            view! { <td class=class data-label=words>{content}</td> }.into_any()
        }
    }
}

/// The direction in which a column sorts the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    None,
    Up,
    Down,
}

impl Order {
    fn of(sort: &str, by: &str) -> Self {
        match sort.strip_prefix('-') {
            Some(down) if down == by => Self::Down,
            None if sort == by => Self::Up,
            Some(_) | None => Self::None,
        }
    }

    /// The next order after a click: ascending, descending, then the list's own order.
    fn turned(self, by: &str) -> String {
        match self {
            Self::None => by.to_owned(),
            Self::Up => format!("-{by}"),
            Self::Down => String::new(),
        }
    }

    fn spoken(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Up => "ascending",
            Self::Down => "descending",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn a_head_turns_up_down_and_off() {
        let mut sort = String::new();
        let turns = ["name", "-name", ""].map(|_| {
            sort = Order::of(&sort, "name").turned("name");
            sort.clone()
        });
        assert_eq!(turns, ["name", "-name", ""]);
        assert_eq!(Order::of("-next", "name"), Order::None);
    }
}

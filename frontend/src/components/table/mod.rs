//! The table that every list of the console uses.
//!
//! A page defines the columns and how a cell is drawn. The table does the rest, in the same way everywhere: sortable
//! headings that stay visible, columns that can be selected and reordered, check boxes with Shift for ranges, the
//! keys `j` `k` `x` and Enter, one tab stop per row with the arrow keys for the row's other controls, and cards with
//! the same content on a phone.
//!
//! The table has no state of its own: the page keeps the order and the columns in its address, the selected rows are
//! a `Selection` that the page's bulk bar also reads, and the rows are a `List`.
//!
//! - `column`: a column, and the order of the rows
//! - `columns`: the menu that selects the columns
//! - `keys`: the keyboard

mod column;
mod columns;
mod keys;

pub(crate) use column::{Column, Kept};

use std::sync::Arc;

use leptos::{html, prelude::*};
use web_sys::MouseEvent;

use super::{Selection, fold::use_drawn, keyed, live};
use crate::{
    model::Row,
    state::{Held, List},
};

/// The name of a row, and the ids by which tests and colours find it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowName {
    /// Names the row in the labels of its controls, for screen readers: `nightly-report`.
    pub(crate) name: String,
    pub(crate) test: &'static str,
    pub(crate) state: &'static str,
}

type Part<T> = Arc<dyn Fn(&Held) -> T + Send + Sync>;

/// A table under construction; `view` builds it.
pub(crate) struct Table {
    caption: &'static str,
    list: List,
    columns: Vec<Column>,
    name: Part<RowName>,
    sort: Option<Kept>,
    shown: Option<Kept>,
    selection: Option<Selection>,
    actions: Option<Part<AnyView>>,
}

impl Table {
    /// The rows of a list. `caption` names the table; `name` names a row.
    pub(crate) fn new<T: Row>(
        caption: &'static str,
        list: List,
        columns: Vec<Column>,
        name: impl Fn(&T) -> RowName + Send + Sync + 'static,
    ) -> Self {
        Self {
            caption,
            list,
            columns,
            name: column::of_row(name, RowName::default),
            sort: None,
            shown: None,
            selection: None,
            actions: None,
        }
    }

    /// Lets the user sort by the headings of sortable columns: `name` is ascending, `-name` descending.
    pub(crate) fn sort(self, sort: Kept) -> Self {
        Self { sort: Some(sort), ..self }
    }

    /// Lets the user select and reorder the columns.
    pub(crate) fn choose_columns(self, shown: Kept) -> Self {
        Self { shown: Some(shown), ..self }
    }

    /// Lets the user select rows.
    pub(crate) fn select(self, selection: Selection) -> Self {
        Self { selection: Some(selection), ..self }
    }

    /// Adds the actions of a row: buttons at its end.
    pub(crate) fn actions<T: Row>(
        self,
        actions: impl Fn(&T) -> AnyView + Send + Sync + 'static,
    ) -> Self {
        Self { actions: Some(column::of_row(actions, || ().into_any())), ..self }
    }

    pub(crate) fn view(self) -> AnyView {
        let frame = NodeRef::<html::Div>::new();
        let Self { caption, list, columns, name, sort, shown, selection, actions } = self;
        let columns: Arc<[Column]> = columns.into();
        let order = columns::order(columns.clone(), shown, sort);
        let picker = shown.map(|shown| columns::picker(columns.clone(), order, shown, sort));
        let keys = keys::listen(frame, list, selection);
        let drawn = use_drawn(list, Some(frame));
        let heads = {
            let (columns, has_actions) = (columns.clone(), actions.is_some());
            live(move || {
                let heads = order.get().into_iter().filter_map(|at| columns.get(at));
                let heads: Vec<_> = heads.map(|column| column.heading(sort)).collect();
                let check = selection.map(|selection| check_all(list, selection));
                let end = has_actions.then(|| {
                    view! { <th scope="col"><span class="visually-hidden">"Actions"</span></th> }
                        .into_any()
                });
                view! { <tr>{check}{heads}{end}</tr> }.into_any()
            })
        };
        let row = move |id: String| {
            let held = list.row(id.clone());
            let (columns, name, actions) = (columns.clone(), name.clone(), actions.clone());
            live(move || {
                let Some(held) = held.get() else { return ().into_any() };
                let RowName { name, test, state } = name(&held);
                let cells = order.get().into_iter().filter_map(|at| columns.get(at));
                let cells: Vec<_> = cells.map(|column| column.draw(&held)).collect();
                let check = selection.map(|selection| check(id.clone(), &name, list, selection));
                let actions = actions.as_ref().map(|actions| {
                    view! { <td class="actions-cell"><div class="row-actions">{actions(&held)}</div></td> }
                        .into_any()
                });
                view! {
                    <tr data-id=id.clone() data-testid=test data-state=state>{check}{cells}{actions}</tr>
                }
                .into_any()
            })
        };
        view! {
            {picker}
            <div
                class="table-frame table-list"
                tabindex="-1"
                role="group"
                aria-label=caption
                node_ref=frame
                on:keydown=keys.arrows
                on:focusin=keys.arrival
            >
                <table class="table">
                    <caption class="visually-hidden">{caption}</caption>
                    <thead>{heads}</thead>
                    <tbody>{keyed(move || drawn.get(), row)}</tbody>
                </table>
            </div>
        }
        .into_any()
    }
}

fn check(id: String, name: &str, list: List, selection: Selection) -> AnyView {
    let label = format!("Choose {name}");
    let known = id.clone();
    let press = move |event: MouseEvent| {
        selection.toggle(&id, &untrack(|| list.ids()), event.shift_key());
    };
    view! {
        <td class="check-cell">
            <input type="checkbox" tabindex="-1" aria-label=label
                prop:checked=move || selection.has(&known) on:click=press/>
        </td>
    }
    .into_any()
}

fn check_all(list: List, selection: Selection) -> AnyView {
    let is_all = move || {
        let ids = list.ids();
        !ids.is_empty() && ids.iter().all(|id| selection.has(id))
    };
    let change = move |event: MouseEvent| {
        let chosen = event_target_checked(&event);
        selection.set_all(untrack(|| list.ids()), chosen);
    };
    view! {
        <th scope="col" class="check-cell">
            <input type="checkbox" aria-label="Select all on this page"
                prop:checked=move || is_all() on:click=change/>
        </th>
    }
    .into_any()
}

//! The parts of a list: its table, its query bar, its bulk bar. Their data is not from the server.

use std::sync::Arc;

use leptos::prelude::*;
use serde::Deserialize;

use super::loading;
use crate::{
    api::Ask,
    components::{
        Column, Glyph, Kept, Mark, OwnViews, QueryBar, QueryField, QueryView, RowName, Selection,
        Table, badge, icon_button,
    },
    data::use_load,
    model::{Failure, Named, Row, RunState},
    pages::bulk::{self, BulkBar, Subjects},
    state::{Held, Item, List, Showing},
};

pub(super) const SIZE: usize = 10;
const FIELDS: [QueryField; 2] = [
    QueryField::new("state", "its state", &["queued", "running", "failed"]),
    QueryField::new("name", "a part of its name", &[]),
];
const VIEWS: [QueryView; 2] = [("Failing", "state:failed"), ("Waiting", "state:queued")];

/// A row of the example.
#[derive(Deserialize)]
pub(super) struct Example {
    id: String,
    state: RunState,
    p95: String,
}

impl Row for Example {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A table with everything: orders, a choice of columns, check boxes, actions. The order changes only the headings.
pub(super) fn full_table() -> AnyView {
    let selection = Selection::new();
    selection.set_all(vec!["hourly".to_owned()], true);
    table("Example schedules", examples())
        .sort(kept("-p95"))
        .choose_columns(kept(""))
        .select(selection)
        .actions(|row: &Example| {
            let name = format!("Run {} now", row.id);
            icon_button(Glyph::Play, "Run now", name, || ())
        })
        .view()
}

pub(super) fn empty_table() -> AnyView {
    table("No schedules", Vec::new()).view()
}

fn table(caption: &'static str, rows: Vec<Example>) -> Table {
    table_of(caption, filled(List::new(SIZE), rows))
}

/// The list, with these rows.
pub(super) fn filled(list: List, rows: Vec<Example>) -> List {
    list.end(Some(rows.into_iter().map(item).collect()), Showing::Now);
    list
}

pub(super) fn item(row: Example) -> Item {
    Item { id: row.id.clone(), row: Held::new(Arc::new(row)) }
}

pub(super) fn table_of(caption: &'static str, list: List) -> Table {
    let columns = vec![
        Column::new("name", "Name", |row: &Example| row.id.clone().into_any()).head(),
        Column::new("state", "State", |row: &Example| badge(Mark::Run(row.state))),
        Column::new("p95", "p95", |row: &Example| row.p95.clone().into_any())
            .class("number")
            .sorts("p95"),
        Column::new("extra", "Extra", |_: &Example| "-".into_any()).extra(),
    ];
    Table::new(caption, list, columns, |row: &Example| {
        let state = Mark::Run(row.state).state();
        RowName { name: row.id.clone(), test: "example-row", state }
    })
}

fn examples() -> Vec<Example> {
    let rows = [
        ("hourly", RunState::Failed, "1 min"),
        ("nightly", RunState::Succeeded, "12 s"),
        ("weekly", RunState::Running, "3 s"),
    ];
    Vec::from(rows.map(|(id, state, p95)| example(id, state, p95)))
}

pub(super) fn example(id: &str, state: RunState, p95: &str) -> Example {
    Example { id: id.to_owned(), state, p95: p95.to_owned() }
}

/// A text that only this page stores.
fn kept(text: &str) -> Kept {
    let value = RwSignal::new(text.to_owned());
    Kept { value: value.into(), change: Callback::new(move |text: String| value.set(text)) }
}

pub(super) fn plain_query() -> AnyView {
    query("", None, &[])
}

pub(super) fn written_query() -> AnyView {
    let own = ["1", "Billing", "name:billing state:failed"];
    query("name:billing -state:queued", None, &[own])
}

pub(super) fn refused_query() -> AnyView {
    let failure = Failure {
        position: Some((13, 18)),
        ..Failure::of_field("search", "There is no state `faild`.")
    };
    query("name:a state:faild", Some(failure), &[])
}

fn query(text: &str, refusal: Option<Failure>, own: &[[&str; 3]]) -> AnyView {
    let value = RwSignal::new(text.to_owned());
    let own: Vec<(String, String, String)> = own
        .iter()
        .map(|view| {
            let [id, name, query] = view.map(str::to_owned);
            (id, name, query)
        })
        .collect();
    let own = OwnViews {
        views: Signal::stored(own),
        save: Callback::new(|_| ()),
        forget: Callback::new(|_| ()),
    };
    view! {
        <QueryBar
            label="Search examples"
            placeholder="report state:failed"
            value=value
            loading=loading(true, refusal)
            search=Callback::new(move |text: String| value.set(text))
            fields=&FIELDS
            views=&VIEWS
            own=own
        />
    }
    .into_any()
}

/// The bar of a list with two selected rows, whose search finds no more than these, or 340.
pub(super) fn bulk_bar(has_more: bool) -> AnyView {
    let selection = Selection::new();
    selection.set_all(vec!["hourly".to_owned(), "nightly".to_owned()], true);
    let nothing = use_load(|| None::<Ask<Vec<Named>>>);
    let subjects = Subjects {
        label: "Actions for the selected examples",
        kinds: bulk::Kind::OF_SCHEDULES,
        selection,
        chosen: Signal::derive(move || bulk::by_name(&selection.ids())),
        search: Signal::stored("tag:example".to_owned()),
        has_more: Signal::stored(has_more),
        total: Signal::stored(has_more.then_some(340)),
        list: nothing.loading,
    };
    view! { <BulkBar subjects=subjects/> }.into_any()
}

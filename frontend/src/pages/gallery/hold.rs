//! The button that holds lists still, and a list that it holds.

use leptos::prelude::*;

use super::lists::{SIZE, example, filled, item, table_of};
use crate::{
    components::{Look, button, hold_button},
    model::RunState,
    state::{Change, Hold, Item, List},
};

/// The button while lists are live, while they are held, and while changes wait.
pub(super) fn hold_states() -> AnyView {
    let state = |is_held: bool, waiting: usize| {
        hold_button(Signal::stored(is_held), Signal::stored(waiting), Callback::new(|()| ()))
    };
    view! { <div class="row-actions">{state(false, 0)}{state(true, 0)}{state(true, 12)}</div> }
        .into_any()
}

/// A list into which rows arrive by a button.
pub(super) fn held_list() -> AnyView {
    let hold = Hold::new();
    let first = ["run-002", "run-001"].map(|id| example(id, RunState::Succeeded, "3 s"));
    let list = filled(List::held_by(SIZE, hold), Vec::from(first));
    let last = StoredValue::new(2_usize);
    let arrive = move || {
        last.update_value(|last| *last += 1);
        let number = last.get_value();
        let Item { id, row } = item(example(&format!("run-{number:03}"), RunState::Running, "-"));
        hold.count();
        list.merge(vec![Change { id, row: Some(row), enters: true }]);
    };
    let turn = hold_button(
        Signal::derive(move || hold.is_held()),
        Signal::derive(move || hold.waiting()),
        Callback::new(move |()| hold.turn()),
    );
    view! {
        <div class="row-actions">{turn}{button(Look::Plain, None, "A row arrives", arrive)}</div>
        {table_of("Example runs", list).view()}
    }
    .into_any()
}

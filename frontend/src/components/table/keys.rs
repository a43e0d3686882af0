//! The keyboard in a table: `j` and `k` move from row to row, `x` selects the row, and the arrow keys reach its other
//! controls.

use leptos::{
    ev::{self, FocusEvent, KeyboardEvent},
    html,
    prelude::*,
};
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use crate::{
    components::Selection,
    state::{List, is_typing, use_keys},
};

const CONTROLS: &str = "a[href], button:not(:disabled), input:not(:disabled), summary";

/// The event handlers of the table's frame.
pub(super) struct Keys {
    pub(super) arrows: Box<dyn FnMut(KeyboardEvent)>,
    pub(super) arrival: Box<dyn FnMut(FocusEvent)>,
}

/// Listens while the table exists.
pub(super) fn listen(frame: NodeRef<html::Div>, list: List, selection: Option<Selection>) -> Keys {
    let keys = use_keys();
    let by_tab = StoredValue::new(false);
    let listener = window_event_listener(ev::keydown, move |event| {
        by_tab.set_value(event.key() == "Tab");
        let Some(frame) = frame.get_untracked() else { return };
        if !untrack(|| keys.are_on()) || is_typing(&event) || !is_meant(&frame) {
            return;
        }
        let row = here(&frame);
        match (event.key().as_str(), row) {
            ("j", row) => go(&frame, row, 1),
            ("k", row) => go(&frame, row, -1),
            // With Shift, the key is the upper-case letter.
            ("x" | "X", Some(row)) => {
                let Some((selection, id)) = selection.zip(row.get_attribute("data-id")) else {
                    return;
                };
                selection.toggle(&id, &untrack(|| list.ids()), event.shift_key());
            }
            _ => return,
        }
        event.prevent_default();
    });
    on_cleanup(move || listener.remove());
    let arrows = move |event: KeyboardEvent| {
        let step = match event.key().as_str() {
            "ArrowRight" => 1,
            "ArrowLeft" => -1,
            _ => return,
        };
        let focused = focused().filter(|_| !is_typing(&event));
        let Some(row) = focused.as_ref().and_then(row_of) else { return };
        let controls = controls(&row);
        let at = controls.iter().position(|control| Some(control.as_ref()) == focused.as_ref());
        let next = at.and_then(|at| at.checked_add_signed(step));
        if let Some(next) = next.and_then(|next| controls.get(next)) {
            let _hidden = next.focus();
            event.prevent_default();
        }
    };
    let row_before = StoredValue::new(None::<String>);
    let arrival = move |event: FocusEvent| {
        let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        let Some(row) = target.as_ref().and_then(row_of) else { return };
        let (id, controls) = (row.get_attribute("data-id"), controls(&row));
        let is_new = row_before.get_value() != id;
        row_before.set_value(id);
        // Each row has one tab stop; the arrow keys reach its other controls.
        let Some(first) = stop(&controls) else { return };
        for control in &controls {
            let _fixed =
                control.set_attribute("tabindex", if control == first { "0" } else { "-1" });
        }
        // Tabbing backwards into a row focuses the same control as tabbing forwards.
        if is_new && by_tab.get_value() && target.as_ref() != Some(first.as_ref()) {
            let _hidden = first.focus();
        }
    };
    Keys { arrows: Box::new(arrows), arrival: Box::new(arrival) }
}

/// Whether keys apply to this table, because it has the focus, or because no table has it and this is the first on
/// the page.
fn is_meant(frame: &HtmlElement) -> bool {
    let of_focus = focused().and_then(|focused| focused.closest(".table-list").ok().flatten());
    let first = || document().query_selector(".table-list").ok().flatten();
    of_focus.or_else(first).is_some_and(|table| table.is_same_node(Some(frame)))
}

fn focused() -> Option<Element> {
    document().active_element()
}

fn row_of(element: &Element) -> Option<Element> {
    element.closest("tr[data-id]").ok().flatten()
}

fn here(frame: &HtmlElement) -> Option<Element> {
    focused().filter(|focused| frame.contains(Some(focused))).as_ref().and_then(row_of)
}

fn all(within: &Element, selector: &str) -> Vec<HtmlElement> {
    let Ok(found) = within.query_selector_all(selector) else { return Vec::new() };
    (0..found.length()).filter_map(|at| found.get(at)?.dyn_into().ok()).collect()
}

fn controls(row: &Element) -> Vec<HtmlElement> {
    all(row, CONTROLS)
}

/// The control that represents its row: the first link, or else the first control of any kind.
fn stop(controls: &[HtmlElement]) -> Option<&HtmlElement> {
    controls.iter().find(|control| control.tag_name() == "A").or(controls.first())
}

fn go(frame: &HtmlElement, from: Option<Element>, step: isize) {
    let rows = all(frame, "tr[data-id]");
    let at = from.and_then(|from| rows.iter().position(|row| row.is_same_node(Some(&from))));
    let next = match at {
        Some(at) => at.checked_add_signed(step),
        None => Some(0),
    };
    let row = next.and_then(|next| rows.get(next));
    if let Some(control) = row.and_then(|row| stop(&controls(row)).cloned()) {
        let _hidden = control.focus();
    }
}

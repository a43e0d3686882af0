//! The visible columns and their order.

use std::sync::Arc;

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::{Column, Kept};
use crate::components::{Glyph, icon_button, live, menu};

/// The indices of the visible columns, in order: those that are named, or all that are not extra. The column that
/// sorts the rows is always visible, because the order of the rows would otherwise be unclear.
pub(super) fn order(
    columns: Arc<[Column]>,
    shown: Option<Kept>,
    sort: Option<Kept>,
) -> Memo<Vec<usize>> {
    let names: Vec<(&'static str, bool)> =
        columns.iter().map(|column| (column.name, column.is_extra)).collect();
    let sorts: Vec<Option<&'static str>> = columns.iter().map(|column| column.sort).collect();
    Memo::new(move |_| {
        let wanted = shown.map(|shown| shown.value.get()).unwrap_or_default();
        let sort = sort.map(|sort| sort.value.get()).unwrap_or_default();
        with_sorted(places(&names, &wanted), &sorts, &sort)
    })
}

/// Whether a visible column cannot be hidden: the last one, and the one that sorts the rows.
fn is_needed(visible: usize, sorts: Option<&str>, sort: &str) -> bool {
    visible == 1 || sorts.is_some_and(|sorts| sorts == field_of(sort))
}

/// The name in a sort order, without the sign of a descending one.
fn field_of(sort: &str) -> &str {
    sort.strip_prefix('-').unwrap_or(sort)
}

fn with_sorted(mut places: Vec<usize>, sorts: &[Option<&str>], sort: &str) -> Vec<usize> {
    let by = field_of(sort);
    let sorted = sorts.iter().position(|known| *known == Some(by));
    places.extend(sorted.filter(|at| !places.contains(at)));
    places
}

fn places(names: &[(&'static str, bool)], wanted: &str) -> Vec<usize> {
    let place = |name: &str| names.iter().position(|(known, _)| *known == name);
    let found: Vec<usize> = wanted.split(',').filter_map(place).collect();
    if found.is_empty() {
        return (0..names.len()).filter(|at| !names[*at].1).collect();
    }
    found
}

/// The menu that selects the columns.
pub(super) fn picker(
    columns: Arc<[Column]>,
    order: Memo<Vec<usize>>,
    shown: Kept,
    sort: Option<Kept>,
) -> AnyView {
    let names: Vec<&'static str> = columns.iter().map(|column| column.name).collect();
    let set = move |places: &[usize]| {
        let chosen = places.iter().filter_map(|at| names.get(*at).copied());
        shown.change.run(chosen.collect::<Vec<_>>().join(","));
    };
    let set = StoredValue::new(Box::new(set) as Box<dyn Fn(&[usize]) + Send + Sync>);
    let lines = live(move || {
        let chosen = order.get();
        let sort = sort.map(|sort| sort.value.get()).unwrap_or_default();
        let rest = (0..columns.len()).filter(|at| !chosen.contains(at));
        let all: Vec<usize> = chosen.iter().copied().chain(rest).collect();
        let line = |at: usize| {
            let (name, words) =
                columns.get(at).map_or(("", ""), |column| (column.name, column.words));
            let place = chosen.iter().position(|known| *known == at);
            let sorts = columns.get(at).and_then(|column| column.sort);
            let is_needed = place.is_some() && is_needed(chosen.len(), sorts, &sort);
            let flip = {
                let mut next = chosen.clone();
                match place {
                    Some(place) => drop(next.remove(place)),
                    None => next.push(at),
                }
                move |_| {
                    keep_focus(name, "input");
                    set.with_value(|set| set(&next));
                }
            };
            let up = place.filter(|place| *place > 0).map(|place| {
                let mut next = chosen.clone();
                next.swap(place - 1, place);
                icon_button(Glyph::Up, "Move up", format!("Move {words} up"), move || {
                    keep_focus(name, "button");
                    set.with_value(|set| set(&next));
                })
            });
            view! {
                <li class="column-line" data-column=name>
                    <label class="check-label">
                        <input type="checkbox" prop:checked=place.is_some() disabled=is_needed on:change=flip/>{words}
                    </label>
                    {up}
                </li>
            }
            .into_any()
        };
        let lines: Vec<_> = all.into_iter().map(line).collect();
        view! { <ul class="column-lines">{lines}</ul> }.into_any()
    });
    let face = view! { "Columns" }.into_any();
    view! { <div class="table-tools">{menu("", face, lines)}</div> }.into_any()
}

/// Focuses a control of a column again, once the list is drawn with the column in another place. The lines are redrawn
/// in place, so the focus would otherwise be on the column that took the old place. The first column has no button;
/// its checkbox gets the focus.
fn keep_focus(column: &'static str, control: &'static str) {
    let focused = document().active_element();
    let lines = focused.and_then(|focused| focused.closest(".column-lines").ok().flatten());
    let Some(lines) = lines else { return };
    request_animation_frame(move || {
        let find = |control: &str| {
            let selector = format!("[data-column='{column}'] {control}");
            lines.query_selector(&selector).ok().flatten()?.dyn_into::<HtmlElement>().ok()
        };
        if let Some(control) = find(control).or_else(|| find("input")) {
            let _hidden = control.focus();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::{is_needed, places, with_sorted};

    #[test]
    fn without_a_wish_all_columns_but_the_extra_ones_are_shown() {
        let names = [("name", false), ("p95", true), ("next", false)];
        assert_eq!(places(&names, ""), [0, 2]);
        assert_eq!(places(&names, "next,unknown,p95"), [2, 1]);
        assert_eq!(places(&names, "unknown"), [0, 2]);
    }

    #[test]
    fn the_column_that_sorts_is_shown() {
        let sorts = [None, Some("started"), Some("took")];
        assert_eq!(with_sorted(vec![0, 2], &sorts, "-started"), [0, 2, 1]);
        assert_eq!(with_sorted(vec![0, 2], &sorts, "took"), [0, 2]);
        assert_eq!(with_sorted(vec![0, 2], &sorts, ""), [0, 2]);
    }

    #[test]
    fn the_last_column_and_the_one_that_sorts_cannot_be_hidden() {
        assert!(is_needed(1, None, ""));
        assert!(is_needed(3, Some("started"), "-started"));
        assert!(!is_needed(3, Some("started"), "took"));
        assert!(!is_needed(3, None, ""));
    }
}

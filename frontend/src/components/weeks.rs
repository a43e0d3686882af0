//! The parts that tables and grids of days by the week have in common.

use leptos::{ev::KeyboardEvent, prelude::*};

use crate::model::Weekday;

/// The cells as rows of seven.
pub(crate) fn week_rows(mut cells: Vec<AnyView>) -> Vec<AnyView> {
    let mut weeks = Vec::new();
    while !cells.is_empty() {
        let rest = cells.split_off(cells.len().min(7));
        let week = std::mem::replace(&mut cells, rest);
        weeks.push(view! { <tr>{week}</tr> }.into_any());
    }
    weeks
}

/// The headings of the seven columns.
pub(crate) fn weekday_heads() -> Vec<AnyView> {
    let head = |day: Weekday| view! { <th scope="col">{day.word()}</th> }.into_any();
    Weekday::WEEK.into_iter().map(head).collect()
}

/// By how many days an arrow key moves; `None` for any other key.
pub(crate) fn days_by_arrow(event: &KeyboardEvent) -> Option<i64> {
    match event.key().as_str() {
        "ArrowLeft" => Some(-1),
        "ArrowRight" => Some(1),
        "ArrowUp" => Some(-7),
        "ArrowDown" => Some(7),
        _ => None,
    }
}

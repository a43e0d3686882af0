//! Decides which rows of a list are drawn immediately.
//!
//! A list may change as a whole, as it does with each key in a search. The window has room for only some of its rows.
//! So the rows that fit are drawn first, and the rows below them once the first ones have been painted and the list's
//! beat has time for them. A row that is already drawn stays, so that nothing that the user has scrolled to disappears.

use std::{collections::BTreeSet, time::Duration};

use leptos::{ev, html, prelude::*};

use crate::state::List;

/// The least height of a row, in pixels.
const ROW: f64 = 32.0;

/// The ids of the rows that are drawn. `frame` is the element that begins with the rows, if it is known.
pub(super) fn use_drawn(list: List, frame: Option<NodeRef<html::Div>>) -> Memo<Vec<String>> {
    let room = use_room(frame);
    let (is_painted, waits) = (RwSignal::new(false), StoredValue::new(false));
    let drawn = Memo::new(move |before: Option<&Vec<String>>| {
        let before = before.map(Vec::as_slice).unwrap_or_default();
        let room = if is_painted.get() { usize::MAX } else { room.get_value() };
        at_once(before, list.ids(), room)
    });
    let painted = move || {
        if !waits.is_disposed() {
            waits.set_value(false);
            room.set_value(measured(frame));
            if drawn.with_untracked(Vec::len) != untrack(|| list.len()) {
                is_painted.set(true);
            }
        }
    };
    Effect::new(move |_| {
        if drawn.with(Vec::len) == list.len() {
            // The next change of the list starts again with the visible rows.
            if is_painted.get_untracked() {
                is_painted.set(false);
            }
        } else if !waits.get_value() {
            waits.set_value(true);
            // A timer that is set in an animation frame runs after the frame has been painted.
            let rest = move || list.draw_when_quiet(painted);
            request_animation_frame(move || set_timeout(rest, Duration::ZERO));
        }
    });
    drawn
}

/// The ids of the rows to draw: those that have room in the window, and those that were drawn `before`. If few of
/// these rows are new, as many further ones are drawn as if all were, so that the list becomes whole in a busy stream,
/// too.
fn at_once(before: &[String], ids: Vec<String>, room: usize) -> Vec<String> {
    if ids.len() <= room {
        return ids;
    }
    let before: BTreeSet<&str> = before.iter().map(String::as_str).collect();
    let mut new = 0;
    let is_drawn = |(at, id): &(usize, String)| {
        if before.contains(id.as_str()) {
            return true;
        }
        new += 1;
        *at < room || new <= room
    };
    ids.into_iter().enumerate().filter(is_drawn).map(|(_, id)| id).collect()
}

/// The maximum number of rows that fit between the top of the list and the lower end of the window. It is measured
/// when the window changes size and when the list has been painted: while a list is drawn, measuring would force the
/// browser to lay out the page.
fn use_room(frame: Option<NodeRef<html::Div>>) -> StoredValue<usize> {
    let room = StoredValue::new(measured(frame));
    let measure = move || room.set_value(measured(frame));
    let moved = window_event_listener(ev::scroll, move |_| measure());
    let resized = window_event_listener(ev::resize, move |_| measure());
    on_cleanup(move || {
        moved.remove();
        resized.remove();
    });
    room
}

/// Until the list is there, it may begin at the top of the page.
fn measured(frame: Option<NodeRef<html::Div>>) -> usize {
    let height = window().inner_height().ok().and_then(|height| height.as_f64());
    let top = match frame.map(|frame| frame.get_untracked()) {
        Some(Some(frame)) => frame.get_bounding_client_rect().y(),
        Some(None) | None => -window().scroll_y().unwrap_or_default(),
    };
    ((height.unwrap_or_default() - top) / ROW) as usize + 1
}

#[cfg(test)]
mod tests {
    use super::at_once;

    fn ids(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_rows_of_the_window_come_first() {
        assert_eq!(at_once(&[], ids("a b c d"), 2), ids("a b"));
        assert_eq!(at_once(&[], ids("a b c d"), 4), ids("a b c d"));
        assert_eq!(at_once(&[], ids("a b c d"), usize::MAX), ids("a b c d"));
    }

    #[test]
    fn a_row_that_is_drawn_stays_wherever_it_lies() {
        let before = ids("a b c d");
        assert_eq!(at_once(&before, ids("d c b a"), 2), ids("d c b a"));
        assert_eq!(at_once(&before, ids("x y z d c"), 2), ids("x y d c"));
    }

    #[test]
    fn rows_below_the_window_follow_with_few_new_ones() {
        let before = ids("a b c d");
        assert_eq!(at_once(&before, ids("x a b c d y z"), 3), ids("x a b c d y z"));
        assert_eq!(at_once(&before, ids("x a b y z"), 2), ids("x a b y"));
    }
}

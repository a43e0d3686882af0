//! The part of the log that is in view: the drawn lines, and their position.

use leptos::{ev, html, prelude::*};

use super::{Kept, lines::Log};

/// The height of a row in pixels; the style sheet sets the same value.
const ROW: usize = 18;
/// Number of rows that are drawn above and below the visible part.
const BEYOND: usize = 20;
/// Number of characters in the probe.
const LETTERS: i32 = 20;
/// Maximum number of lines to print. The last lines are printed; a longer log can be downloaded instead.
const PRINTED: usize = 5_000;
/// Within this distance of the end, in pixels, the log counts as followed.
const NEAR: i32 = 24;

/// The scrolling frame of the log, and its position.
#[derive(Clone, Copy)]
pub(super) struct Sight {
    kept: Kept,
    pub(super) frame: NodeRef<html::Div>,
    /// The text column of the probe line, which contains `LETTERS` characters.
    pub(super) cell: NodeRef<html::Span>,
    pub(super) letters: NodeRef<html::Span>,
    pub(super) follow: RwSignal<bool>,
    pub(super) wraps: RwSignal<bool>,
    top: RwSignal<i32>,
    inner: RwSignal<i32>,
    /// The last position that the console itself scrolled to.
    own: StoredValue<i32>,
    range: Memo<(usize, usize)>,
}

pub(super) fn use_sight(kept: Kept) -> Sight {
    let (top, inner) = (RwSignal::new(0), RwSignal::new(600));
    let prints = RwSignal::new(false);
    let range = Memo::new(move |_| {
        if prints.get() {
            let shown = kept.with(Log::shown);
            return (shown.saturating_sub(PRINTED), shown);
        }
        let (top, inner) = (pixels(top.get()), pixels(inner.get()));
        let from = (top / ROW).saturating_sub(BEYOND);
        let to = (top + inner) / ROW + BEYOND;
        let range = kept.with(|log| log.between(from, to));
        (range.start, range.end)
    });
    let sight = Sight {
        kept,
        frame: NodeRef::new(),
        cell: NodeRef::new(),
        letters: NodeRef::new(),
        follow: RwSignal::new(true),
        wraps: RwSignal::new(true),
        top,
        inner,
        own: StoredValue::new(-1),
        range,
    };
    let count = Memo::new(move |_| kept.with(Log::rows));
    Effect::new(move |_| {
        // A memo only tracks its signals while it is read.
        if count.get() > 0 && sight.follow.get() {
            request_animation_frame(move || sight.to_end());
        }
    });
    let is_mixed = Memo::new(move |_| kept.with(Log::is_mixed));
    Effect::new(move |_| {
        let (_mixed, _wraps) = (is_mixed.get(), sight.wraps.get());
        request_animation_frame(move || sight.measure());
    });
    let resized = window_event_listener(ev::resize, move |_| sight.measure());
    on_cleanup(move || resized.remove());
    follow_printing(sight, prints);
    sight
}

/// Tracks whether the page is being printed, because paper has no scrolling frame. After printing, the frame is
/// measured again.
fn follow_printing(sight: Sight, prints: RwSignal<bool>) {
    let event = |name| ev::Custom::<ev::Event>::new(name);
    let before = window_event_listener(event("beforeprint"), move |_| prints.set(true));
    let after = window_event_listener(event("afterprint"), move |_| {
        prints.set(false);
        request_animation_frame(move || sight.measure());
    });
    on_cleanup(move || {
        before.remove();
        after.remove();
    });
}

fn pixels(length: i32) -> usize {
    usize::try_from(length).unwrap_or(0)
}

impl Sight {
    /// The numbers of the lines that are drawn.
    pub(super) fn numbers(self) -> Vec<String> {
        let (from, to) = self.range.get();
        self.kept.with(|log| {
            (from..to).filter_map(|place| Some(log.line(place)?.0.to_string())).collect()
        })
    }

    /// The height of all lines.
    pub(super) fn height(self) -> String {
        format!("{}px", self.kept.with(Log::rows) * ROW)
    }

    /// The vertical offset of the first line that is drawn.
    pub(super) fn shift(self) -> String {
        let (from, _) = self.range.get();
        format!("translateY({}px)", self.kept.with(|log| log.row_of(from)) * ROW)
    }

    /// The place of the first visible line.
    pub(super) fn first(self) -> usize {
        let row = pixels(self.top.get_untracked()) / ROW;
        self.kept.log.with_value(|log| log.between(row, row + 1).start)
    }

    /// Scrolls a line into the middle of the frame.
    pub(super) fn show(self, place: usize) {
        if self.follow.is_disposed() {
            return;
        }
        let row = self.kept.log.with_value(|log| log.row_of(place));
        self.follow.set(false);
        if let Some(frame) = self.frame.get_untracked() {
            let top = i32::try_from(row * ROW).unwrap_or(i32::MAX);
            self.scroll(top - frame.client_height() / 2);
        }
    }

    /// Scrolls the log into the window, and a line into its middle.
    pub(super) fn reveal(self, place: usize) {
        self.show(place);
        if let Some(frame) = self.frame.try_get_untracked().flatten() {
            frame.scroll_into_view_with_bool(false);
        }
    }

    fn to_end(self) {
        // The page may have been left before the next frame.
        if let Some(frame) = self.frame.try_get_untracked().flatten() {
            self.scroll(frame.scroll_height());
        }
    }

    fn scroll(self, top: i32) {
        if let Some(frame) = self.frame.get_untracked() {
            frame.set_scroll_top(top);
            self.own.set_value(frame.scroll_top());
            self.look();
        }
    }

    /// Handles scrolling of the frame. Only the user's scrolling ends the following, not new lines.
    pub(super) fn scrolled(self) {
        let Some(frame) = self.frame.get_untracked() else { return };
        self.look();
        if frame.scroll_top() != self.own.get_value() {
            let below = frame.scroll_height() - frame.scroll_top() - frame.client_height();
            self.follow.set(below < NEAR);
        }
    }

    fn look(self) {
        if let Some(frame) = self.frame.get_untracked() {
            self.top.set(frame.scroll_top());
            self.inner.set(frame.client_height());
        }
    }

    /// Measures how many characters fit into a row.
    fn measure(self) {
        if self.follow.is_disposed() {
            return;
        }
        let cell = self.cell.try_get_untracked().flatten();
        let letters = self.letters.try_get_untracked().flatten();
        if let (Some(cell), Some(letters)) = (cell, letters) {
            let columns = columns(cell.client_width(), letters.offset_width());
            let columns = columns.filter(|_| self.wraps.get_untracked());
            self.kept.change(|log| log.wrap(columns));
            self.look();
        }
    }
}

/// The number of characters that fit into a cell of this width, if `LETTERS` characters are `taken` wide.
fn columns(width: i32, taken: i32) -> Option<usize> {
    (width > 0 && taken > 0).then(|| pixels(width * LETTERS / taken).max(8))
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn a_row_has_whole_characters_only() {
        assert_eq!(columns(1_000, 144), Some(138));
        assert_eq!(columns(10, 144), Some(8));
        assert_eq!(columns(0, 0), None);
    }
}

//! A range of a chart's columns, selected by dragging over them.

use leptos::{ev::PointerEvent, html, prelude::*};

/// The dragged range and the column under the pointer. It outlives the chart's data, which may change during a drag.
#[derive(Clone, Copy)]
pub(crate) struct Drag {
    /// The column at which the pointer was pressed.
    begun: RwSignal<Option<usize>>,
    /// The column under the pointer.
    pub(super) at: RwSignal<Option<usize>>,
}

/// Creates the drag state of one chart.
pub(crate) fn use_drag() -> Drag {
    Drag { begun: RwSignal::new(None), at: RwSignal::new(None) }
}

impl Drag {
    /// The first and the last column of the dragged range; tracked.
    pub(super) fn range(self) -> Option<(usize, usize)> {
        let (begun, at) = (self.begun.get()?, self.at.get()?);
        Some((begun.min(at), begun.max(at)))
    }

    pub(super) fn down(self, event: &PointerEvent, plot: NodeRef<html::Div>, count: usize) {
        if event.button() != 0 {
            return;
        }
        if let Some(plot) = plot.get_untracked() {
            let _not_active = plot.set_pointer_capture(event.pointer_id());
        }
        let at = column_under(event, plot, count);
        self.at.set(at);
        self.begun.set(at);
    }

    pub(super) fn moved(self, event: &PointerEvent, plot: NodeRef<html::Div>, count: usize) {
        let at = column_under(event, plot, count);
        if self.at.get_untracked() != at {
            self.at.set(at);
        }
    }

    /// Handles the release of the pointer: calls `chosen` with the dragged range.
    pub(super) fn up(self, chosen: Callback<(usize, usize)>) {
        let range = untrack(|| self.range());
        self.leave();
        if let Some(range) = range {
            chosen.run(range);
        }
    }

    pub(super) fn leave(self) {
        self.begun.set(None);
        self.at.set(None);
    }

    /// Handles the pointer's leaving the plot without being pressed.
    pub(super) fn out(self) {
        if self.begun.get_untracked().is_none() {
            self.at.set(None);
        }
    }
}

fn column_under(event: &PointerEvent, plot: NodeRef<html::Div>, count: usize) -> Option<usize> {
    let width = plot.get_untracked()?.client_width();
    column(event.offset_x(), width, count)
}

/// The column at `x` in a plot of this width; for a position outside the plot, the first or the last column.
pub(in crate::components) fn column(x: i32, width: i32, count: usize) -> Option<usize> {
    if width <= 0 || count == 0 {
        return None;
    }
    let x = usize::try_from(x.clamp(0, width - 1)).ok()?;
    Some(x * count / usize::try_from(width).ok()?)
}

#[cfg(test)]
mod tests {
    use super::column;

    #[test]
    fn a_place_beyond_an_end_belongs_to_the_column_there() {
        let columns = [-5, 0, 99, 100, 239, 500].map(|x| column(x, 240, 24));
        assert_eq!(columns, [Some(0), Some(0), Some(9), Some(10), Some(23), Some(23)]);
        assert_eq!((column(3, 0, 24), column(3, 240, 0)), (None, None));
    }
}

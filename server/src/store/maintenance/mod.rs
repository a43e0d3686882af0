//! Maintenance windows, and the schedules that they pause.
//!
//! A window is written ahead onto the schedules that match it, as a mark: when the pause begins, and
//! for which window. A claim never takes an instant from there on, so a pause begins exactly even
//! if the engine turns the mark into a pause late.
//!
//! Every write for a window is in a transaction that locks the window's row first, except for
//! `extended`. The schedules are locked in key order.
//!
//! - `windows`: the rows of windows; `marks`: sets and removes marks;
//!   `holds`: turns marks into pauses, changes and ends them, and counts them
//! - `extended`: pauses that go on because their window has a later end by now

mod extended;
mod holds;
mod marks;
mod windows;

pub use holds::{HeldSchedule, PauseText, WindowCounts, counts};
pub use windows::{
    Filter, WindowOrder, by_id, by_ids, insert, list_not_over, lock, lock_declared, not_over,
    of_module, open, overlapping, page, update,
};

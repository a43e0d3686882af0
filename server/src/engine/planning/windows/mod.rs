//! Maintenance windows: marks the schedules that a window will pause, pauses them when it begins,
//! and ends their pauses early if it is cancelled.
//!
//! A mark says from when on no instant of a schedule may be claimed, and it is written before the
//! window begins. So a pause is exact although this service turns the marks into pauses a moment
//! later, or much later if no node was alive: the instants in between have no row yet, and belong to
//! the pause. Until then, a mark does not hide instants from before the pause. The planner claims
//! these first, however late, and only then does the pause begin.
//!
//! The pauses end like all pauses with a set end: see `accounting`.
//!
//! - `service`: goes through the open windows; `turn`: the work on one window
//! - `extended`: pauses that do not have the new end of their window yet

mod extended;
mod service;
mod turn;

pub(in crate::engine) use extended::extend;
pub(in crate::engine) use service::Windows;
pub(crate) use turn::pause_text;

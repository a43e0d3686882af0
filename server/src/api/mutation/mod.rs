//! What can be changed of schedules and of what they do. Each part is a part of the root.
//!
//! - `schedules`, `workflows`: what is to be run when; `operating`: how operators handle it
//! - `runs`, `backfills`: what happens, what is to happen again
//! - `many`: one order for all that a search finds

mod backfills;
mod many;
mod operating;
mod runs;
mod schedules;
mod workflows;

pub(super) use backfills::OrderingPast;
pub(super) use many::OrderingMany;
pub(super) use operating::Operating;
pub(super) use runs::OrderingRuns;
pub(super) use schedules::OrderingSchedules;
pub(super) use workflows::OrderingShared;

//! What can be changed of schedules and of what they do. Each part is a part of the root.
//!
//! - `schedules`, `workflows`: what is to be run when; `operating`: how operators handle it
//! - `runs`, `backfills`: what happens, what is to happen again
//! - `many`: one order for all that a search finds
//! - `nodes`: server processes; `test_call`: a target tried once

mod backfills;
mod many;
mod nodes;
mod operating;
mod runs;
mod schedules;
mod test_call;
mod workflows;

pub(super) use backfills::OrderingPast;
pub(super) use many::OrderingMany;
pub(super) use nodes::OrderingNodes;
pub(super) use operating::Operating;
pub(super) use runs::OrderingRuns;
pub(super) use schedules::OrderingSchedules;
pub(super) use test_call::OrderingTests;
pub(super) use workflows::OrderingShared;

//! Mutations of schedules, and of the objects that they use. Each module adds its fields to the
//! root.
//!
//! - `schedules`, `workflows`: what runs, and when; `operating`: pausing, resuming, skipping and
//!   triggering
//! - `runs`, `backfills`: cancelling and repeating runs
//! - `many`: bulk operations on everything that matches a search
//! - `nodes`: server processes; `test_call`: a one-off call of a target

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

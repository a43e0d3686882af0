//! What can be read of schedules and of what they do. Each part is a part of the root.
//!
//! - `schedules`, `workflows`, `runs`, `fleet`: what there is, what it runs, what happened, how it is
//! - `names`: what things are asked for by

mod fleet;
mod names;
mod runs;
mod schedules;
mod workflows;

pub(super) use fleet::ReadingFleet;
pub(super) use names::{name_cursor, name_key, namespace_id, usual, within};
pub(super) use runs::ReadingRuns;
pub(super) use schedules::ReadingSchedules;
pub(super) use workflows::ReadingShared;

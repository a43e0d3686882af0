//! Queries of schedules and of what they do. Each module adds its fields to the root.
//!
//! - `schedules`, `workflows`, `runs`, `fleet`: definitions, objects that they share, history, and
//!   the state of the cluster
//! - `names`: arguments that identify objects

mod fleet;
mod names;
mod runs;
mod schedules;
mod workflows;

pub(super) use fleet::ReadingFleet;
pub(super) use names::{
    ROOT, followed, name_cursor, name_key, name_text, namespace_id, usual, within,
};
pub(super) use runs::ReadingRuns;
pub(super) use schedules::ReadingSchedules;
pub(super) use workflows::ReadingShared;

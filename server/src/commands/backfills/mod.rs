//! Ordering the past: what a backfill would run, and running it, pausing it, stopping it.
//!
//! A preview and an order ask the same function, so an order writes what the preview said. What
//! happens between order and turn is judged when the turn comes (`engine::backfill`).
//!
//! - `look`: the exact fires of a window, and what they have come to
//! - `order`: writing down what is to run
//! - `switch`: pause, resume, cancel

mod look;
mod order;
mod switch;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use look::{Looked, Preview, Wanted};
pub use order::Manner;

/// A backfill that was ordered or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderedBackfill {
    /// The backfill.
    pub id: Uuid,
}

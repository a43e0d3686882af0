//! Backfills: previewing, creating, pausing, resuming and cancelling them.
//!
//! Preview and creation use the same function, so a backfill contains what the preview showed.
//! Changes after the creation are taken into account when the turn of an instant comes
//! (`engine::backfill`).
//!
//! - `look`: the exact fires of a window, and their states
//! - `order`: creates a backfill and stores its fires
//! - `switch`: pause, resume, cancel

mod look;
mod order;
mod switch;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use look::{FiresPreview, PreviewedFire, RequestedFires};
pub use order::BackfillOptions;

/// A backfill that was created or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderedBackfill {
    /// The new backfill.
    pub id: Uuid,
}

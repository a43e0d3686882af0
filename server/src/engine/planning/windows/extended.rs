//! Pauses that do not have the new end of their window yet.
//!
//! The end of an active window can be moved, and it may have a hundred thousand pauses. So the
//! command writes the new end to the window and to the first of its pauses, and the service writes
//! it to the others, in chunks. If the service is late, because its node has died, the planner
//! finds pauses that should be over although their window goes on. It gives them the end of the
//! window instead of ending them.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::engine::{EngineError, core::Core};

/// Writes the end of its window to each of these pauses that should have ended by `now` although
/// the window ends later. Returns their number.
pub(in crate::engine) async fn extend(
    core: &Core,
    schedules: &[Uuid],
    now: DateTime<Utc>,
) -> Result<usize, EngineError> {
    let (store, now) = (&core.store, now.into());
    let going_on = store.pauses_going_on(schedules, now).await?;
    if going_on.is_empty() {
        return Ok(0);
    }
    let tx = store.begin().await?;
    let extended = store.extend_pauses(&tx, &going_on, now).await?;
    store.commit(tx).await?;
    Ok(usize::try_from(extended).unwrap_or(usize::MAX))
}

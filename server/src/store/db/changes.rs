//! The change feed: followers read runs or schedules in the order of their last write.
//!
//! Each write of such a row stamps `changed`. On PostgreSQL, the stamp is the transaction's id, and
//! a reader stops below the oldest transaction that is still open
//! ([`crate::store::Dialect::horizon`]). So a later commit can never put a row before a cursor.
//! SQLite commits one transaction after another, so a counter is enough. The feed contains states,
//! not history: a row that changed twice between two reads is read once, in its current state.
//! Nothing is lost and nothing is delivered twice, however often a reader disconnects.

use std::{fmt, str::FromStr};

use sea_orm::FromQueryResult;
use tokio::sync::watch;
use uuid::Uuid;

use super::touched::TouchedJobs;

/// A position in the feed: after the row `id` with the stamp `changed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, FromQueryResult)]
pub struct Cursor {
    /// The stamp of the row.
    pub changed: i64,
    /// The key of the row.
    pub id: Uuid,
}

impl Cursor {
    /// The position before all rows.
    pub const START: Self = Self { changed: -1, id: Uuid::nil() };
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.changed, self.id.simple())
    }
}

/// The error for a text that is not a cursor of the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of this feed")]
pub struct NotACursor;

impl FromStr for Cursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let (changed, id) = text.split_once('.').ok_or(NotACursor)?;
        Ok(Self {
            changed: changed.parse().map_err(|_| NotACursor)?,
            id: Uuid::try_parse(id).map_err(|_| NotACursor)?,
        })
    }
}

/// Signals that something was written, but not what was. A reader continues from its cursor.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Signals writes by this process or by another node.
    any: watch::Sender<u64>,
    /// Signals writes by this process.
    own: watch::Sender<u64>,
    /// Signals that this process has created jobs for workers.
    jobs: watch::Sender<u64>,
    touched: TouchedJobs,
}

impl Changes {
    /// Called when this process has written: wakes all followers, and the relay to the other nodes.
    pub fn wake(&self) {
        bump(&self.any);
        bump(&self.own);
    }

    /// Called when this process has created jobs, after [`Self::wake`].
    pub(in crate::store) fn wake_workers(&self) {
        bump(&self.jobs);
    }

    /// Called when another node reports a write: wakes all followers.
    pub fn heard(&self) {
        bump(&self.any);
    }

    /// Follows all writes.
    /// Callers must follow before they read, so that no write in between is missed.
    pub fn follow(&self) -> watch::Receiver<u64> {
        self.any.subscribe()
    }

    /// The jobs that this process has changed.
    pub fn touched_jobs(&self) -> &TouchedJobs {
        &self.touched
    }

    /// The number of writes that other nodes have reported. It may be one too high while this
    /// process writes.
    pub fn count_heard(&self) -> u64 {
        self.any.borrow().wrapping_sub(*self.own.borrow())
    }

    /// Follows the creation of jobs by this process.
    pub fn jobs(&self) -> watch::Receiver<u64> {
        self.jobs.subscribe()
    }

    /// Follows the writes of this process.
    pub fn written(&self) -> watch::Receiver<u64> {
        self.own.subscribe()
    }
}

fn bump(count: &watch::Sender<u64>) {
    count.send_modify(|count| *count = count.wrapping_add(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_its_text() {
        let cursor = Cursor { changed: 42, id: Uuid::from_u128(7) };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        assert!(Cursor::START < cursor);
    }

    #[test]
    fn other_texts_are_no_cursors() {
        for text in ["", ".", "1", "1.x", "x.00000000000000000000000000000007", "1.2.3"] {
            assert_eq!(text.parse::<Cursor>(), Err(NotACursor), "{text}");
        }
    }
}

//! Records whether the database accepts writes.
//!
//! Even when nothing can be written, much can often still be read: on a full disk, on a standby, or
//! in a folder with changed permissions. Each service that fails because of this logs it
//! repeatedly. The health check reports it once, with advice, from the state recorded here.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use sea_orm::DbErr;

use super::error::{code, is_disk_full};
use crate::clock::Clock;

/// Why the database rejects writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteRefusal {
    /// The database's disk is full.
    DiskFull,
    /// The database is read-only.
    ReadOnly,
    /// The database user may not write.
    Forbidden,
    /// The database's disk returns errors.
    Failing,
    /// The database file was removed or replaced.
    FileReplaced,
}

/// How long after a rejected write the database counts as unhealthy.
/// After such a write, some writes may still succeed because they find a little room.
const LINGERS: Duration = Duration::from_secs(5);

impl WriteRefusal {
    /// The problem, and how to solve it.
    pub fn problem(self) -> &'static str {
        match self {
            Self::DiskFull => {
                "nothing can be written, so nothing fires: the disk of the database is full; free \
                 some space, and everything continues on its own"
            }
            Self::ReadOnly => {
                "nothing can be written, so nothing fires: the database is read-only; give the \
                 primary's address in database.url, or make the file and its folder writable"
            }
            Self::Forbidden => {
                "nothing can be written, so nothing fires: the database does not allow it to the \
                 user in database.url; grant that user the right to write"
            }
            Self::Failing => {
                "nothing can be written, so nothing fires: the disk of the database fails; the \
                 system's log says how"
            }
            Self::FileReplaced => {
                "the database's file was moved, removed or replaced while this server runs, so what \
                 it writes is not in the file at database.url: stop the server, put the file back \
                 with its -wal file, and start the server again"
            }
        }
    }

    /// The reason that an error gives; `None` if the error does not affect all writes.
    pub(in crate::store) fn of(error: &DbErr) -> Option<Self> {
        let code = code(error)?;
        if is_disk_full(&code) {
            return Some(Self::DiskFull);
        }
        match code.parse::<u32>() {
            // SQLite's codes PERM, READONLY and IOERR, whose lowest byte is the kind.
            Ok(number) if code.len() < 5 => match number & 0xff {
                3 => Some(Self::Forbidden),
                8 => Some(Self::ReadOnly),
                10 => Some(Self::Failing),
                _ => None,
            },
            // PostgreSQL's codes read_only_sql_transaction, insufficient_privilege and io_error.
            Ok(_) | Err(_) => match &*code {
                "25006" => Some(Self::ReadOnly),
                "42501" => Some(Self::Forbidden),
                "58030" => Some(Self::Failing),
                _ => None,
            },
        }
    }
}

/// The outcome of the latest writes.
#[derive(Debug, Default)]
pub(in crate::store) struct Writes {
    last: Mutex<LastWrites>,
}

#[derive(Clone, Copy, Debug, Default)]
struct LastWrites {
    refused: Option<(WriteRefusal, Instant)>,
    taken: Option<Instant>,
}

impl Writes {
    /// Records an error if it affects all writes.
    pub(in crate::store) fn failed(&self, error: &DbErr) {
        self.refused(WriteRefusal::of(error));
    }

    /// Records an error of a statement that changes a table's structure.
    /// A user who may not do that may still be able to write rows.
    pub(in crate::store) fn failed_order(&self, error: &DbErr) {
        self.refused(WriteRefusal::of(error).filter(|why| !matches!(why, WriteRefusal::Forbidden)));
    }

    fn refused(&self, why: Option<WriteRefusal>) {
        if let Some(why) = why {
            let now = Clock::system().instant();
            self.last.lock().unwrap_or_else(PoisonError::into_inner).refused = Some((why, now));
        }
    }

    /// Records that a write was committed.
    pub(in crate::store) fn taken(&self) {
        let now = Clock::system().instant();
        self.last.lock().unwrap_or_else(PoisonError::into_inner).taken = Some(now);
    }

    /// Why writes are rejected; `None` if they are accepted.
    pub(in crate::store) fn refusing(&self) -> Option<WriteRefusal> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.refusing(Clock::system().instant())
    }
}

impl LastWrites {
    fn refusing(self, now: Instant) -> Option<WriteRefusal> {
        let (why, at) = self.refused?;
        let is_recent = now.saturating_duration_since(at) < LINGERS;
        let was_taken_since = self.taken.is_some_and(|taken| taken > at);
        (is_recent || !was_taken_since).then_some(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_over_when_a_write_was_taken_and_none_refused_for_a_while() {
        let start = Clock::system().instant();
        let after = |seconds| start + Duration::from_secs(seconds);
        let refused = LastWrites { refused: Some((WriteRefusal::DiskFull, start)), taken: None };
        assert_eq!(LastWrites::default().refusing(start), None);
        assert_eq!(refused.refusing(after(3_600)), Some(WriteRefusal::DiskFull), "none was taken");
        let taken = LastWrites { taken: Some(after(1)), ..refused };
        assert_eq!(
            taken.refusing(after(2)),
            Some(WriteRefusal::DiskFull),
            "it may be refused again"
        );
        assert_eq!(taken.refusing(after(5)), None);
    }
}

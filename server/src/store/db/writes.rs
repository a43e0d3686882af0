//! Whether the database takes what is written.
//!
//! Where nothing can be written, much can still be read: on a full disk, on a standby, in a folder
//! whose rights somebody has changed. Each service that fails because of that says so in the log,
//! again and again; health says it once, with what to do, from what is noted here.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use sea_orm::DbErr;

use super::error::{code, is_disk_full};
use crate::clock::Clock;

/// Why the database takes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusing {
    /// Its disk is full.
    DiskFull,
    /// It may only be read.
    ReadOnly,
    /// This user may not write.
    Forbidden,
    /// Its disk does not do what it is told.
    Failing,
    /// The file is not at its path any more, or another one is.
    FileReplaced,
}

/// After a refusal a write may succeed here and there, as where the next one finds a little room:
/// all is well again when nothing was refused for so long.
const LINGERS: Duration = Duration::from_secs(5);

impl Refusing {
    /// What is wrong, and what to do.
    pub fn problem(self) -> &'static str {
        match self {
            Self::DiskFull => {
                "nothing can be written, so nothing fires: the disk of the database is full; make \
                 room, and everything goes on by itself"
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

    /// What an error says of all that is written, if it does.
    pub(in crate::store) fn of(error: &DbErr) -> Option<Self> {
        let code = code(error)?;
        if is_disk_full(&code) {
            return Some(Self::DiskFull);
        }
        match code.parse::<u32>() {
            // SQLite's numbers: the lowest byte is the kind. PERM, READONLY, IOERR.
            Ok(number) if code.len() < 5 => match number & 0xff {
                3 => Some(Self::Forbidden),
                8 => Some(Self::ReadOnly),
                10 => Some(Self::Failing),
                _ => None,
            },
            // read_only_sql_transaction, insufficient_privilege, io_error.
            Ok(_) | Err(_) => match &*code {
                "25006" => Some(Self::ReadOnly),
                "42501" => Some(Self::Forbidden),
                "58030" => Some(Self::Failing),
                _ => None,
            },
        }
    }
}

/// What became of the last writes.
#[derive(Debug, Default)]
pub(in crate::store) struct Writes {
    last: Mutex<Last>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Last {
    refused: Option<(Refusing, Instant)>,
    taken: Option<Instant>,
}

impl Writes {
    /// Takes down an error, if it says that nothing can be written.
    pub(in crate::store) fn failed(&self, error: &DbErr) {
        self.refused(Refusing::of(error));
    }

    /// The same of an order about tables, not rows: whoever may not change a table may well write
    /// its rows.
    pub(in crate::store) fn failed_order(&self, error: &DbErr) {
        self.refused(Refusing::of(error).filter(|why| !matches!(why, Refusing::Forbidden)));
    }

    fn refused(&self, why: Option<Refusing>) {
        if let Some(why) = why {
            let now = Clock::system().instant();
            self.last.lock().unwrap_or_else(PoisonError::into_inner).refused = Some((why, now));
        }
    }

    /// Takes down that something was written and committed.
    pub(in crate::store) fn taken(&self) {
        let now = Clock::system().instant();
        self.last.lock().unwrap_or_else(PoisonError::into_inner).taken = Some(now);
    }

    /// Why nothing can be written, if that is so.
    pub(in crate::store) fn refusing(&self) -> Option<Refusing> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.refusing(Clock::system().instant())
    }
}

impl Last {
    fn refusing(self, now: Instant) -> Option<Refusing> {
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
        let refused = Last { refused: Some((Refusing::DiskFull, start)), taken: None };
        assert_eq!(Last::default().refusing(start), None);
        assert_eq!(refused.refusing(after(3_600)), Some(Refusing::DiskFull), "none was taken");
        let taken = Last { taken: Some(after(1)), ..refused };
        assert_eq!(taken.refusing(after(2)), Some(Refusing::DiskFull), "it may be refused again");
        assert_eq!(taken.refusing(after(5)), None);
    }
}

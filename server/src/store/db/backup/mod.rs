//! Copies of a SQLite database, and one of them in the database's place.
//!
//! Promises: a copy is the database as it was at one instant, whatever a server writes meanwhile;
//! it has its name only once it is complete, sound and on the disk. A copy takes the database's
//! place at once or not at all, never while a process has that open, and what was there before is
//! kept.
//!
//! Why it holds: `VACUUM INTO` reads one snapshot of the log; it never waits for a writer, and no
//! writer for it. Whoever has the database open holds a lock on its file, which `replace` must have
//! for itself alone.
//!
//! - `copy`: from the database to a file
//! - `sound`: what a file holds, and whether it can be used
//! - `replace`: a file in the database's place
//!
//! PostgreSQL has tools of its own for all that.

mod copy;
mod replace;
mod sound;

use std::{
    io,
    path::{Path, PathBuf},
    str::FromStr,
};

pub use copy::{Progress, copy};
pub use replace::{Holder, holder, kept_name, replace, sync_folder};
use sea_orm::sqlx::sqlite::SqliteConnectOptions;
pub use sound::{Sound, examine, no_log_beside};

use super::{open::is_file, primary::masked};
use crate::store::StoreError;

/// Why a copy was not made or not put in the database's place. Messages read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// It is no file.
    #[error(
        "copy the database at {url}: PostgreSQL has tools for that: pg_dump for a copy, archiving \
         for any point in time; docs/operations.md says how"
    )]
    NotAFile {
        /// As given, its password masked.
        url: String,
    },
    /// A file of that name is there already.
    #[error("write '{}': it exists; choose another name, or give --overwrite", file.display())]
    Exists {
        /// Which.
        file: PathBuf,
    },
    /// A process has the database open.
    #[error("replace the database '{}': {holder} has it open; stop it first", file.display())]
    InUse {
        /// The database.
        file: PathBuf,
        /// Who.
        holder: Holder,
    },
    /// A file is not what it should be.
    #[error("use the file '{}': {problem}", file.display())]
    Unsound {
        /// Which.
        file: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The system does not let us.
    #[error("{action} '{}': {source}", file.display())]
    Io {
        /// What was to be done.
        action: &'static str,
        /// With which file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The database cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BackupError {
    /// Names what failed about a file.
    pub fn io(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> Self {
        let file = file.to_owned();
        move |source| Self::Io { action, file, source }
    }
}

/// The file of a SQLite database.
pub fn file_of(url: &str) -> Result<PathBuf, BackupError> {
    if !is_file(url)? {
        return Err(BackupError::NotAFile { url: masked(url) });
    }
    let options = SqliteConnectOptions::from_str(url);
    let options = options.map_err(|_| StoreError::UnknownUrl { url: masked(url) })?;
    Ok(options.get_filename().to_owned())
}

/// The name of a file beside another one: SQLite's log of `x.db` is `x.db-wal`.
fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

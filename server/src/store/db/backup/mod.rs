//! Copies a SQLite database, and restores such copies.
//!
//! A copy is the state of the database at one instant, even if a server is writing. It gets its
//! name only once it is complete, sound and on the disk. A copy replaces the database atomically or
//! not at all, and never while a process has the database open. The replaced file is kept.
//!
//! This holds because `VACUUM INTO` reads one snapshot of the WAL, and neither it nor a writer
//! waits for the other. Every process that has the database open holds a lock on its file, and
//! `replace` needs that lock exclusively.
//!
//! - `copy`: copies the database to a file
//! - `sound`: examines what a file contains, and whether it can be used
//! - `replace`: puts a file in the database's place
//!
//! For PostgreSQL there are other tools, such as `pg_dump`.

mod copy;
mod replace;
mod sound;

use std::{
    io,
    path::{Path, PathBuf},
    str::FromStr,
};

pub use copy::{CopyProgress, copy};
pub use replace::{DatabaseHolder, holder, kept_name, replace, sync_folder};
use sea_orm::sqlx::sqlite::SqliteConnectOptions;
pub use sound::{Sound, examine, no_log_beside};

use super::{open::is_file, primary::masked};
use crate::store::StoreError;

/// Why a copy was not made or not restored. Messages are printed after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database is not a file.
    #[error(
        "copy the database at {url}: PostgreSQL has tools for that: pg_dump for a copy, archiving \
         for any point in time; docs/operations.md says how"
    )]
    NotAFile {
        /// The given URL, with its password masked.
        url: String,
    },
    /// A file with the name of the copy already exists.
    #[error("write '{}': it exists; choose another name, or give --overwrite", file.display())]
    Exists {
        /// The existing file.
        file: PathBuf,
    },
    /// A process has the database open.
    #[error("replace the database '{}': {holder} has it open; stop it first", file.display())]
    InUse {
        /// The file of the database.
        file: PathBuf,
        /// The process that has the database open.
        holder: DatabaseHolder,
    },
    /// A file is not a usable database.
    #[error("use the file '{}': {problem}", file.display())]
    Unsound {
        /// The file that was examined.
        file: PathBuf,
        /// The problem, and how to solve it.
        problem: String,
    },
    /// The operating system refused an operation.
    #[error("{action} '{}': {source}", file.display())]
    Io {
        /// The operation that was refused.
        action: &'static str,
        /// The file on which it was tried.
        file: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The database cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BackupError {
    /// Converts the error of an operation on a file.
    pub fn io(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> Self {
        let file = file.to_owned();
        move |source| Self::Io { action, file, source }
    }
}

/// The path of a SQLite database, from its URL.
pub fn file_of(url: &str) -> Result<PathBuf, BackupError> {
    if !is_file(url)? {
        return Err(BackupError::NotAFile { url: masked(url) });
    }
    let options = SqliteConnectOptions::from_str(url);
    let options = options.map_err(|_| StoreError::UnknownUrl { url: masked(url) })?;
    Ok(options.get_filename().to_owned())
}

/// The path of a file beside another one: SQLite's WAL of `x.db` is `x.db-wal`.
fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

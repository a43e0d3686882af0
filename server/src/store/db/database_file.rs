//! The file of a SQLite database: which one is open, and the lock that lets only one server write
//! to it.

use std::{
    fs::{File, Metadata, OpenOptions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::store::StoreError;

/// The suffix of the lock file's name. SQLite's own locks are on the database file, and would be
/// lost if this process closed another file descriptor of it.
const ENDING: &str = "-server";

/// The file that was opened.
#[derive(Clone, Debug)]
pub(in crate::store) struct DatabaseFile {
    path: PathBuf,
    /// Device and inode; `None` if they could not be read.
    identity: Option<(u64, u64)>,
    /// Released when it is closed, however the process ends.
    _lock: Option<Arc<File>>,
}

impl DatabaseFile {
    /// The file at `path`, which is open by now, and the lock of the server that opened it.
    pub(in crate::store) fn opened(path: &Path, lock: Option<File>) -> Self {
        let identity = std::fs::metadata(path).ok().map(|found| identity(&found));
        Self { path: path.to_owned(), identity, _lock: lock.map(Arc::new) }
    }

    /// Whether the path now has another file, or none.
    pub(in crate::store) fn is_replaced(&self) -> bool {
        let Some(opened) = self.identity else { return false };
        match std::fs::metadata(&self.path) {
            Ok(found) => identity(&found) != opened,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// Takes the lock that a server holds for as long as it runs. Programs that run alongside, such as
/// backups, need no lock.
pub(in crate::store) fn lock(database: &Path) -> Result<File, StoreError> {
    let mut path = database.as_os_str().to_owned();
    path.push(ENDING);
    let path = PathBuf::from(path);
    let failed = |source| StoreError::NoLock { path: path.clone(), source };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {
            // For the error message of the next process.
            let written = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
            written.map_err(failed)?;
            Ok(file)
        }
        Err(TryLockError::WouldBlock) => {
            let mut process = String::new();
            let named = (&file).take(20).read_to_string(&mut process).is_ok();
            let process = if named { process.parse().ok() } else { None };
            Err(StoreError::ServedAlready { path: database.to_owned(), process })
        }
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_moved_or_replaced_is_told_from_the_one_that_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (folder.path().join("a.db"), folder.path().join("b.db"));
        std::fs::write(&path, "").unwrap();
        let opened = DatabaseFile::opened(&path, None);
        assert!(!opened.is_replaced());
        std::fs::rename(&path, &elsewhere).unwrap();
        assert!(opened.is_replaced());
        std::fs::write(&path, "").unwrap();
        assert!(opened.is_replaced());
        std::fs::rename(&elsewhere, &path).unwrap();
        assert!(!opened.is_replaced());
    }

    #[test]
    fn a_lock_is_one_servers_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let first = lock(&path).unwrap();
        let refused = lock(&path).unwrap_err().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        drop(first);
        lock(&path).unwrap();
    }
}

//! The file of a SQLite database: identifies the open file, and holds
//! the lock that lets only one server write to it.

use std::{
    fs::{File, Metadata, OpenOptions, TryLockError},
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::store::StoreError;

/// The suffix of the lock file's name. A separate file is needed: SQLite's own locks on the
/// database file would be lost if this process closed another descriptor of that file.
const ENDING: &str = "-server";

/// Maximum number of symbolic links that are followed to a file that does not exist yet.
const MAX_LINKS: usize = 40;

/// The database file that this process has opened.
#[derive(Clone, Debug)]
pub(in crate::store) struct DatabaseFile {
    path: PathBuf,
    /// Device and inode of the file; `None` if they could not be read.
    identity: Option<(u64, u64)>,
    /// The server's lock, which is released when the process ends, in whatever way.
    _lock: Option<Arc<File>>,
}

impl DatabaseFile {
    /// The file at `path`, which is already open, and the lock of the server that opened it.
    pub(in crate::store) fn opened(path: &Path, lock: Option<File>) -> Self {
        let identity = std::fs::metadata(path).ok().map(|found| identity(&found));
        Self { path: path.to_owned(), identity, _lock: lock.map(Arc::new) }
    }

    /// Whether the path now leads to another file or to none.
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

/// Takes the lock that a server holds for as long as it runs. Programs that run beside the server,
/// such as backups, need no lock. The lock is the same whichever path leads to the file.
pub(in crate::store) fn lock(database: &Path) -> Result<File, StoreError> {
    let mut path = canonical(database).into_os_string();
    path.push(ENDING);
    let path = PathBuf::from(path);
    let failed = |source| StoreError::NoLock { path: path.clone(), source };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {
            // The process id is for the error message of the next process.
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

/// The path without symbolic links and dots. The file itself need not exist.
fn canonical(database: &Path) -> PathBuf {
    let mut path = database.to_owned();
    for _ in 0..MAX_LINKS {
        if let Ok(found) = path.canonicalize() {
            return found;
        }
        let Ok(target) = path.read_link() else { break };
        path = folder(&path).join(target);
    }
    match (folder(&path).canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        // Opening the lock file will report the problem.
        (Ok(_) | Err(_), _) => path,
    }
}

fn folder(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_or_replaced_file_differs_from_the_open_one() {
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

    #[test]
    fn a_file_has_one_lock_however_its_path_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (data, path) = (folder.join("data"), folder.join("data/a.db"));
        std::fs::create_dir(&data).unwrap();
        std::os::unix::fs::symlink(&data, folder.join("linked")).unwrap();
        std::os::unix::fs::symlink("data/a.db", folder.join("b.db")).unwrap();
        let upward = Path::new("linked").join("..").join("data/./a.db");
        let spellings = ["data/a.db".as_ref(), "linked/a.db".as_ref(), "b.db".as_ref(), &*upward];
        let all_lead_there = || {
            for spelling in spellings {
                assert_eq!(canonical(&folder.join(spelling)), path, "{}", spelling.display());
            }
        };
        // Check the paths before the file exists, and again afterwards.
        all_lead_there();
        std::fs::write(&path, "").unwrap();
        all_lead_there();
        let held = lock(&path).unwrap();
        assert!(lock(&folder.join("b.db")).is_err());
        drop(held);
    }
}

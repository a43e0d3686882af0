//! The directory in which this process keeps the files of its programs' attempts.
//!
//! The directory is locked until the process ends, in whatever way. So a directory without a lock
//! belongs to a dead process, and the next process that starts removes it. Several servers may
//! share a machine, and tools that remove old files (systemd-tmpfiles) leave locked directories
//! alone.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nix::{fcntl::OFlag, unistd::Uid};
use uuid::Uuid;

use super::{attempt_file::AttemptFile, user::may_switch_user};

/// The prefix of these directories' names.
const PREFIX: &str = "carillon-outputs-";

/// Number of tries to create a directory: a cleanup may remove one that is not locked yet.
const TRIES: usize = 8;

/// Creates the files of attempts.
#[derive(Debug)]
pub(super) struct AttemptFiles {
    within: PathBuf,
    folder: Mutex<Option<Arc<Folder>>>,
}

impl AttemptFiles {
    /// Uses the system's directory for temporary files, and removes the directories of dead
    /// processes there.
    pub(super) fn new(within: PathBuf) -> Self {
        clear_up(&within);
        Self { within, folder: Mutex::default() }
    }

    /// Creates a file for an attempt of that run.
    pub(super) fn file(&self, run: Uuid) -> io::Result<AttemptFile> {
        match AttemptFile::new(self.folder()?, run) {
            // Another process has removed the directory.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.lock().take();
                AttemptFile::new(self.folder()?, run)
            }
            made => made,
        }
    }

    /// Removes the directory. Must only be called once no program writes into it any more.
    pub(super) fn close(&self) {
        self.lock().take();
    }

    fn folder(&self) -> io::Result<Arc<Folder>> {
        let mut kept = self.lock();
        if let Some(folder) = &*kept {
            return Ok(folder.clone());
        }
        let made = Arc::new(Folder::make(&self.within)?);
        *kept = Some(made.clone());
        Ok(made)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Folder>>> {
        self.folder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A directory that is removed when this value is dropped.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// The lock, which ends with the process at the latest.
    _lock: File,
}

impl Folder {
    fn make(within: &Path) -> io::Result<Self> {
        for _ in 0..TRIES {
            let path = within.join(format!("{PREFIX}{:016x}", rand::random::<u64>()));
            DirBuilder::new().mode(0o700).create(&path)?;
            let lock = match open(&path) {
                // Another process has already removed the directory.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            // If directories cannot be locked, none is cleaned up either.
            let is_taken = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
            if is_taken || !is_still(&lock, &path) {
                continue;
            }
            if may_switch_user() {
                // Programs of other users must be able to open their own files, but must neither
                // list nor read the other files here.
                lock.set_permissions(Permissions::from_mode(0o711))?;
            }
            return Ok(Self { path, _lock: lock });
        }
        Err(io::Error::other("the folder for it is removed again and again"))
    }

    /// The directory's path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If a link has replaced the directory, this does not follow the link.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the directories of this user that no live process has locked.
fn clear_up(within: &Path) {
    let Ok(entries) = fs::read_dir(within) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)) {
            clear(&entry.path());
        }
    }
}

fn clear(path: &Path) {
    let Ok(folder) = open(path) else { return };
    let is_ours = folder.metadata().is_ok_and(|found| found.uid() == Uid::effective().as_raw());
    if is_ours && folder.try_lock().is_ok() && is_still(&folder, path) {
        match fs::remove_dir_all(path) {
            Ok(()) => tracing::info!(path = %path.display(), "removed what a dead server left"),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a dead server's folder stays");
            }
        }
    }
}

/// Opens the directory itself, not the target of a link in its place.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

/// Whether the opened directory is still the one at that path.
fn is_still(folder: &File, path: &Path) -> bool {
    let (Ok(opened), Ok(there)) = (folder.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    (opened.dev(), opened.ino()) == (there.dev(), there.ino())
}

#[cfg(test)]
mod tests {
    use std::os::unix;

    use super::*;

    fn folders(within: &Path) -> Vec<PathBuf> {
        let mut all: Vec<_> =
            fs::read_dir(within).unwrap().map(|entry| entry.unwrap().path()).collect();
        all.sort();
        all
    }

    #[test]
    fn a_process_has_one_folder_that_nobody_looks_into_and_takes_it_along() {
        let temp = tempfile::tempdir().unwrap();
        let files = AttemptFiles::new(temp.path().to_owned());
        assert!(folders(temp.path()).is_empty(), "before the first program");
        let (one, two) = (files.file(Uuid::nil()).unwrap(), files.file(Uuid::nil()).unwrap());
        let all = folders(temp.path());
        let [folder] = &*all else { panic!("{all:?}") };
        for file in [&one, &two] {
            assert_eq!(file.path().parent(), Some(&**folder));
        }
        let mode = fs::metadata(folder).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, if may_switch_user() { 0o711 } else { 0o700 });
        drop((one, two));
        assert!(folders(folder).is_empty());
        drop(files);
        assert!(folders(temp.path()).is_empty());
    }

    #[test]
    fn leftovers_of_dead_servers_are_removed_and_nothing_else() {
        let temp = tempfile::tempdir().unwrap();
        let (dead, link) = (format!("{PREFIX}dead"), format!("{PREFIX}link"));
        let [dead, link] = [dead, link].map(|name| temp.path().join(name));
        let elsewhere = temp.path().join("elsewhere");
        for folder in [&dead, &elsewhere] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("output"), "{}").unwrap();
        }
        // The target of a link must survive, whether the link is inside a dead directory or has
        // replaced it.
        unix::fs::symlink(&elsewhere, dead.join("inner")).unwrap();
        unix::fs::symlink(&elsewhere, &link).unwrap();
        let plain = temp.path().join(format!("{PREFIX}file"));
        fs::write(&plain, "no folder").unwrap();
        let alive = AttemptFiles::new(temp.path().to_owned());
        assert!(!dead.exists());
        let file = alive.file(Uuid::nil()).unwrap();
        drop(AttemptFiles::new(temp.path().to_owned()));
        assert!(file.path().exists(), "another process took it for dead");
        assert!(elsewhere.join("output").exists() && link.is_symlink() && plain.exists());
    }

    #[test]
    fn a_folder_that_was_taken_away_is_made_again() {
        let temp = tempfile::tempdir().unwrap();
        let files = AttemptFiles::new(temp.path().to_owned());
        drop(files.file(Uuid::nil()).unwrap());
        for folder in folders(temp.path()) {
            fs::remove_dir_all(folder).unwrap();
        }
        assert!(files.file(Uuid::nil()).unwrap().path().exists());
    }
}

use std::{
    fs::{File, OpenOptions},
    io,
    os::{
        fd::OwnedFd,
        unix::fs::{FileExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;
use uuid::Uuid;

use super::folder::Folder;
use crate::target::result::{MAX_RESULT_BYTES, too_large};

/// A file shared by the server and one attempt's program: for the run's context, or for the
/// program's output. It is removed when this value is dropped.
///
/// The server always reads the file that it created. It does not follow a link that the program has
/// put in the file's place.
#[derive(Debug)]
pub(super) struct AttemptFile {
    path: PathBuf,
    file: File,
    /// Keeps the directory alive while a program may write into it.
    _folder: Arc<Folder>,
}

impl AttemptFile {
    /// Creates the file, empty and owned by the server's user, under a name that cannot be guessed.
    pub(super) fn new(folder: Arc<Folder>, run: Uuid) -> io::Result<Self> {
        let name = format!("{}-{:016x}", run.simple(), rand::random::<u64>());
        let path = folder.path().join(name);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { path, file, _folder: folder })
    }

    /// The file's path, for the program.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The open file, for passing it to the program's user.
    pub(super) fn file(&self) -> io::Result<OwnedFd> {
        Ok(self.file.try_clone()?.into())
    }

    /// Writes the text for the program.
    pub(super) fn write(&self, text: &str) -> io::Result<()> {
        self.file.write_all_at(text.as_bytes(), 0)
    }

    /// Reads the output that the program wrote: nothing, or JSON.
    pub(super) fn read(&self) -> Result<Option<Value>, String> {
        let unreadable = |error: io::Error| format!("its output file could not be read: {error}");
        let size = self.file.metadata().map_err(unreadable)?.len();
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > MAX_RESULT_BYTES {
            return Err(too_large(size));
        }
        let mut text = vec![0; size];
        self.file.read_exact_at(&mut text, 0).map_err(unreadable)?;
        if text.trim_ascii().is_empty() {
            return Ok(None);
        }
        let not_json = |error| format!("what it wrote to CARILLON_OUTPUT is not JSON: {error}");
        serde_json::from_slice(&text).map(Some).map_err(not_json)
    }
}

impl Drop for AttemptFile {
    fn drop(&mut self) {
        // The program may already have removed the file.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix};

    use serde_json::json;

    use super::{super::folder::AttemptFiles, *};

    fn file() -> (tempfile::TempDir, AttemptFile) {
        let temp = tempfile::tempdir().unwrap();
        let file = AttemptFiles::new(temp.path().to_owned()).file(Uuid::nil()).unwrap();
        (temp, file)
    }

    #[test]
    fn the_written_output_is_read_and_its_file_removed() {
        let (_temp, file) = file();
        assert_eq!(file.read(), Ok(None));
        fs::write(file.path(), " {\"rows\": 7}\n").unwrap();
        assert_eq!(file.read(), Ok(Some(json!({ "rows": 7 }))));
        fs::write(file.path(), "rows=7").unwrap();
        assert!(file.read().unwrap_err().contains("not JSON"));
        fs::write(file.path(), "x".repeat(262_145)).unwrap();
        assert!(file.read().unwrap_err().contains("262144"));
        let path = file.path().to_owned();
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let (_temp, file) = file();
        fs::remove_file(file.path()).unwrap();
        unix::fs::symlink("/etc/hostname", file.path()).unwrap();
        assert_eq!(file.read(), Ok(None));
    }
}

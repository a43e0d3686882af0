//! Settings that are secrets: given directly, or as a file that contains them.

use std::{fs::File, io, io::Read, os::unix::fs::MetadataExt, path::PathBuf};

use nix::unistd::geteuid;
use secrecy::SecretString;

/// Permission bits of a file for its group, and for everyone.
const GROUP: u32 = 0o070;
const EVERYONE: u32 = 0o007;

/// Why a file with a secret cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UnreadFile {
    /// This process may not read it.
    #[error("read {field} '{}': {source}; name a file that this process may read", path.display())]
    Unreadable {
        /// The setting.
        field: &'static str,
        /// The configured path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file belongs to this user, but others may read it, too.
    #[error(
        "read {field} '{}': its mode {mode:04o} is open to other users of this machine; run \
         'chmod 600 {}'",
        path.display(), path.display()
    )]
    OpenToOthers {
        /// The setting.
        field: &'static str,
        /// The configured path.
        path: PathBuf,
        /// The file's mode.
        mode: u32,
    },
}

/// The text itself, or the content of the file without surrounding whitespace.
///
/// Like `ssh`, it refuses a file of this user that others may read. For a file of another user (a
/// file that Kubernetes mounts belongs to root), that user is responsible.
pub(super) fn text(
    field: &'static str,
    text: Option<&SecretString>,
    file: Option<&PathBuf>,
) -> Result<Option<SecretString>, UnreadFile> {
    let Some(path) = file else { return Ok(text.cloned()) };
    let unreadable = |source| UnreadFile::Unreadable { field, path: path.clone(), source };
    let mut opened = File::open(path).map_err(unreadable)?;
    let found = opened.metadata().map_err(unreadable)?;
    let mode = found.mode() & 0o7777;
    // Installations keep keys in a file that root owns and the server's group may read.
    let others = if geteuid().is_root() { EVERYONE } else { GROUP | EVERYONE };
    if found.is_file() && found.uid() == geteuid().as_raw() && mode & others != 0 {
        return Err(UnreadFile::OpenToOthers { field, path: path.clone(), mode });
    }
    let mut read = String::new();
    opened.read_to_string(&mut read).map_err(unreadable)?;
    Ok(Some(read.trim().to_owned().into()))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn a_secret_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, "  secret\n").unwrap();
        for (mode, is_refused) in [
            (0o600, false),
            (0o400, false),
            (0o640, !geteuid().is_root()),
            (0o604, true),
            (0o644, true),
        ] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            match text("secrets.key_file", None, Some(&path)) {
                Ok(read) => {
                    assert!(!is_refused, "{mode:o}");
                    assert_eq!(read.unwrap().expose_secret(), "secret");
                }
                Err(error) => {
                    assert!(is_refused, "{mode:o}: {error}");
                    assert!(error.to_string().contains("chmod 600"), "{error}");
                }
            }
        }
    }
}

//! Warns of a database file that other users of the machine may read.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

/// Permission bits of a file for others.
const OTHERS: u32 = 0o007;

/// Warns of a database file that is open to other users of this machine. New files are private, but
/// a copied file, or one from an earlier version, may not be.
pub(super) fn warn_of_readers(file: &Path) {
    let Ok(found) = fs::metadata(file) else { return };
    let mode = found.permissions().mode() & 0o777;
    if mode & OTHERS > 0 {
        let mode = format!("{mode:o}");
        tracing::warn!(
            file = %file.display(),
            mode,
            help = "close it with 'chmod o=', and the files beside it whose names end with -wal \
                    and -shm",
            "other users of this machine may open the database file: it has the inputs and outputs \
             of runs, and password hashes"
        );
    }
}

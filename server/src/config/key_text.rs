//! Settings that are secrets: given as they are, or as a file that holds them.

use std::{io, path::PathBuf};

use secrecy::SecretString;

/// Why a file with a secret cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("read {field} '{}': {source}; name a file that this process may read", path.display())]
pub struct UnreadFile {
    field: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// The text itself, or what stands in the file, white space around it aside.
pub(super) fn text(
    field: &'static str,
    text: Option<&SecretString>,
    file: Option<&PathBuf>,
) -> Result<Option<SecretString>, UnreadFile> {
    let Some(path) = file else { return Ok(text.cloned()) };
    let read = std::fs::read_to_string(path);
    let read = read.map_err(|source| UnreadFile { field, path: path.clone(), source })?;
    Ok(Some(read.trim().to_owned().into()))
}

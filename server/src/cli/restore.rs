use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use clap::Args;
use secrecy::ExposeSecret;
use serde_json::json;
use tempfile::TempPath;

use super::{
    CliError,
    backup::{megabytes, stamp, temporary},
    flags::SettingsArgs,
    output,
};
use crate::{
    clock::Clock,
    store::backup::{self, BackupError},
};

/// Replace a SQLite database with a backup; the old database is kept beside it
///
/// No server may be using it. The backup is checked first: it must be complete and sound, and its
/// schema known to this version.
#[derive(Debug, Args)]
pub(super) struct Restore {
    #[command(flatten)]
    place: SettingsArgs,
    /// The backup
    #[arg(value_name = "FILE")]
    from: PathBuf,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

impl Restore {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let file = backup::file_of(self.place.config()?.database.url.expose_secret())?;
        // Checked before anything large is read and copied.
        if let Some(holder) = backup::holder(&file)? {
            return Err(BackupError::InUse { file, holder }.into());
        }
        backup::no_log_beside(&self.from)?;
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(BackupError::io("make the folder", folder))?;
        }
        let copy = fetch(&self.from, &file)?;
        // Checks the copy instead of the original, because the copy becomes the database.
        let sound = backup::examine(&copy).await.map_err(|error| named(error, &self.from))?;
        let kept = backup::kept_name(&file, &stamp(&Clock::system()));
        backup::replace(&file, &copy, &kept).await?;
        let kept = kept.exists().then_some(kept);
        let schema = sound.schema.applied.last().map(String::as_str).unwrap_or_default();
        let pending = &sound.schema.pending;
        if self.json {
            return output::json(&json!({
                "database": file, "bytes": sound.bytes, "schema": schema, "pending": pending,
                "kept": kept,
            }));
        }
        let size = megabytes(sound.bytes);
        output::line(format!("restored '{}': {size}, schema {schema}", file.display()))?;
        if let Some(kept) = kept {
            output::line(format!("what was there is kept as '{}'", kept.display()))?;
        }
        if !pending.is_empty() {
            let pending = pending.len();
            output::line(format!(
                "{pending} migrations are pending: 'carillon migrate' applies them"
            ))?;
        }
        output::line(
            "start the server: it continues the work that was in progress when the backup was made",
        )
    }
}

/// Copies the backup beside the database and syncs it to disk.
fn fetch(from: &Path, database: &Path) -> Result<TempPath, BackupError> {
    let mut source = File::open(from).map_err(BackupError::io("open", from))?;
    let mut copy = temporary(database, ".carillon-restore-")?;
    let copied = io::copy(&mut source, copy.as_file_mut());
    copied.map_err(BackupError::io("copy", from))?;
    copy.as_file().sync_all().map_err(BackupError::io("bring to the disk", copy.path()))?;
    Ok(copy.into_temp_path())
}

/// Makes an error name the backup instead of its copy.
fn named(error: BackupError, from: &Path) -> BackupError {
    match error {
        BackupError::Unsound { problem, .. } => {
            BackupError::Unsound { file: from.to_owned(), problem }
        }
        BackupError::Io { action, source, .. } => {
            BackupError::Io { action, file: from.to_owned(), source }
        }
        error @ (BackupError::NotAFile { .. }
        | BackupError::Exists { .. }
        | BackupError::InUse { .. }
        | BackupError::Store(_)) => error,
    }
}

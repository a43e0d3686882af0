use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    pin::pin,
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
    progress::ProgressLine,
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

/// How many bytes are copied between two updates of the progress.
const PIECE: u64 = 64 * 1024 * 1024;

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
        let (clock, line) = (Clock::system(), ProgressLine::begin("restore the backup"));
        let copy = fetch(&self.from, &file, &line)?;
        // Checks the copy instead of the original, because the copy becomes the database.
        let checking = || "checking the copy";
        let sound = line.during(&clock, checking, pin!(backup::examine(&copy))).await;
        let sound = sound.map_err(|error| named(error, &self.from))?;
        let kept = backup::kept_name(&file, &stamp(&clock));
        backup::replace(&file, &copy, &kept).await?;
        drop(line);
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
            output::line(format!("the previous database is kept as '{}'", kept.display()))?;
        }
        if !pending.is_empty() {
            let pending = pending.len();
            output::line(format!(
                "{pending} migrations are pending: 'carillon migrate' applies them"
            ))?;
        }
        output::line(
            "start the server: it continues the work that was in progress at the time of the backup",
        )
    }
}

/// Copies the backup beside the database and syncs it to disk.
fn fetch(from: &Path, database: &Path, line: &ProgressLine) -> Result<TempPath, BackupError> {
    let mut source = File::open(from).map_err(BackupError::io("open", from))?;
    let size = source.metadata().map_err(BackupError::io("open", from))?.len();
    let mut copy = temporary(database, ".carillon-restore-")?;
    let tell = |done| line.tell(format_args!("{} of {}", megabytes(done), megabytes(size)));
    let copied = copy_in_pieces(&mut source, copy.as_file_mut(), PIECE, tell);
    copied.map_err(BackupError::io("copy", from))?;
    copy.as_file().sync_all().map_err(BackupError::io("bring to the disk", copy.path()))?;
    Ok(copy.into_temp_path())
}

/// Copies everything, and tells after each piece how many bytes are copied.
fn copy_in_pieces(
    source: &mut impl Read,
    copy: &mut impl Write,
    piece: u64,
    tell: impl Fn(u64),
) -> io::Result<()> {
    let mut done = 0;
    loop {
        let copied = io::copy(&mut Read::by_ref(source).take(piece), copy)?;
        if copied == 0 {
            return Ok(());
        }
        done += copied;
        tell(done);
    }
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_copy_is_complete_and_tells_how_far_it_is() {
        let (told, mut copy) = (RefCell::new(Vec::new()), Vec::new());
        let tell = |done| told.borrow_mut().push(done);
        copy_in_pieces(&mut &b"0123456789"[..], &mut copy, 4, tell).unwrap();
        assert_eq!(copy, b"0123456789");
        assert_eq!(told.into_inner(), [4, 8, 10]);
    }
}

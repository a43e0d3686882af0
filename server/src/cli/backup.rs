use std::{
    path::{Path, PathBuf},
    pin::pin,
    time::Duration,
};

use clap::Args;
use secrecy::ExposeSecret;
use serde_json::json;
use tempfile::{NamedTempFile, PersistError};

use super::{CliError, flags::SettingsArgs, output, progress};
use crate::{
    clock::Clock,
    store::backup::{self, BackupError, CopyProgress},
};

/// Copy a SQLite database to a file, even while a server uses it
#[derive(Debug, Args)]
pub(super) struct Backup {
    #[command(flatten)]
    place: SettingsArgs,
    /// Destination; in a folder, the file gets a name with the current time
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    overwrite: bool,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

impl Backup {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let from = backup::file_of(self.place.config()?.database.url.expose_secret())?;
        let clock = Clock::system();
        let to = self.target(&clock)?;
        if !self.overwrite && to.symlink_metadata().is_ok() {
            return Err(BackupError::Exists { file: to }.into());
        }
        let began = clock.instant();
        // The copy has a temporary name until it is complete. Only its owner may read the copy,
        // because it contains everything that the database contains.
        let temporary = temporary(&to, ".carillon-backup-")?;
        let quiet = self.json;
        let line = progress::ProgressLine::begin("make the backup");
        let told = |CopyProgress { done, of }| {
            if line.is_seen() {
                line.tell(format_args!("{} of about {}", megabytes(done), megabytes(of)));
                return Ok(());
            }
            if quiet { Ok(()) } else { tell(CopyProgress { done, of }) }
        };
        let copying = backup::copy(&from, temporary.path(), &clock, |progress| {
            // Failing to print the progress must not stop the backup.
            let _ = told(progress);
        });
        tokio::select! {
            copied = copying => copied?,
            _ = tokio::signal::ctrl_c() => return Err(CliError::Interrupted("make a backup")),
        }
        let checking = || "checking the copy";
        let sound = line.during(&clock, checking, pin!(backup::examine(temporary.path()))).await?;
        let named =
            if self.overwrite { temporary.persist(&to) } else { temporary.persist_noclobber(&to) };
        named.map_err(not_named(&to))?;
        backup::sync_folder(&to)?;
        drop(line);
        let took = clock.instant().saturating_duration_since(began);
        let schema = sound.schema.applied.last().map(String::as_str).unwrap_or_default();
        if self.json {
            return output::json(&json!({
                "file": to, "bytes": sound.bytes, "schema": schema, "tookMs": ms(took),
            }));
        }
        let (to, size) = (to.display(), megabytes(sound.bytes));
        output::line(format!("created the backup '{to}': {size}, schema {schema}, {} ms", ms(took)))
    }

    /// The destination file.
    fn target(&self, clock: &Clock) -> Result<PathBuf, CliError> {
        if self.to.is_dir() {
            return Ok(self.to.join(format!("carillon-{}.db", stamp(clock))));
        }
        match self.to.file_name() {
            Some(_) => Ok(self.to.clone()),
            None => Err(CliError::Usage(format!("--to '{}' names no file", self.to.display()))),
        }
    }
}

/// The time as part of a file's name.
pub(super) fn stamp(clock: &Clock) -> String {
    clock.now().format("%Y%m%dT%H%M%SZ").to_string()
}

/// A temporary file in the folder of `of`, deleted when dropped.
pub(super) fn temporary(of: &Path, prefix: &str) -> Result<NamedTempFile, BackupError> {
    let folder = of.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let made = tempfile::Builder::new().prefix(prefix).tempfile_in(folder);
    made.map_err(BackupError::io("make a file in", folder))
}

pub(super) fn megabytes(bytes: u64) -> String {
    format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10)
}

fn tell(CopyProgress { done, of }: CopyProgress) -> std::io::Result<()> {
    use std::io::Write;
    let (done, of) = (megabytes(done), megabytes(of));
    writeln!(std::io::stderr().lock(), "copied {done} of about {of}")
}

fn not_named(to: &Path) -> impl FnOnce(PersistError) -> BackupError {
    move |PersistError { error, .. }| {
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            return BackupError::Exists { file: to.to_owned() };
        }
        BackupError::io("write", to)(error)
    }
}

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

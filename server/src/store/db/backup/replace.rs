use std::{
    fmt,
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt, chown},
    path::{Path, PathBuf},
};

use nix::{errno::Errno, fcntl, libc};
use sea_orm::sqlx::{self, ConnectOptions, Connection, sqlite::SqliteConnectOptions};

use super::{BackupError, beside};

/// The range of bytes in a database file that SQLite locks.
/// Every process that has the database open holds a lock on one of these bytes.
const LOCKED: (i64, i64) = (0x4000_0000, 512);
/// The files that SQLite keeps beside a database.
const COMPANIONS: [&str; 2] = ["-wal", "-shm"];

/// The process that has a database open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseHolder {
    /// A process on this machine.
    Process(i32),
    /// A process that the system cannot identify, because it is
    /// in another container or on another machine.
    Somebody,
}

impl fmt::Display for DatabaseHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(id) => write!(f, "the process {id}"),
            Self::Somebody => f.write_str("a process of another container or machine"),
        }
    }
}

/// The process that has the database in `file` open; `None` if there is none.
/// This process must not have it open.
pub fn holder(file: &Path) -> Result<Option<DatabaseHolder>, BackupError> {
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(BackupError::io("open", file)(source)),
    };
    let mut lock = whole();
    fcntl::fcntl(&opened, fcntl::FcntlArg::F_GETLK(&mut lock)).map_err(denied(file))?;
    Ok(match lock.l_pid {
        _ if i32::from(lock.l_type) == libc::F_UNLCK => None,
        id if id > 0 => Some(DatabaseHolder::Process(id)),
        _ => Some(DatabaseHolder::Somebody),
    })
}

/// Puts `copy`, which must be in the same folder and on the disk, in the place of the database
/// `file`. Renames the replaced file to `kept`, together with its WAL if it still has one.
/// After a crash at any moment, one of the two is in place.
pub async fn replace(file: &Path, copy: &Path, kept: &Path) -> Result<(), BackupError> {
    let is_there = file.try_exists().map_err(BackupError::io("look at", file))?;
    if is_there {
        in_use(file)?;
        settle_log(file).await;
    }
    // From here on, no process can open the database: its first read waits for this lock.
    let _locked = if is_there { Some(lock(file)?) } else { None };
    if is_there {
        like(copy, file)?;
        fs::hard_link(file, kept).map_err(BackupError::io("keep the old database as", kept))?;
    }
    for ending in COMPANIONS {
        let (from, to) = (beside(file, ending), beside(kept, ending));
        match fs::rename(&from, &to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            moved => moved.map_err(BackupError::io("move away", &from))?,
        }
    }
    fs::rename(copy, file).map_err(BackupError::io("replace", file))?;
    sync_folder(file)
}

/// Syncs the folder, so that a file's new name is on the disk.
pub fn sync_folder(file: &Path) -> Result<(), BackupError> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let opened = File::open(folder).map_err(BackupError::io("open", folder))?;
    opened.sync_all().map_err(BackupError::io("bring to the disk", folder))
}

fn in_use(file: &Path) -> Result<(), BackupError> {
    match holder(file)? {
        Some(holder) => Err(BackupError::InUse { file: file.to_owned(), holder }),
        None => Ok(()),
    }
}

/// Merges the WAL of a database, so that its file is complete: the last connection that closes does
/// this. A damaged database stays unchanged, and its WAL is kept beside it.
async fn settle_log(file: &Path) {
    let options = SqliteConnectOptions::new().filename(file).disable_statement_logging();
    let settled = async {
        let mut opened = options.connect().await?;
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut opened).await?;
        opened.close().await
    };
    if let Err(error) = settled.await {
        tracing::warn!(%error, "the old database is kept with its log: it cannot be read");
    }
}

/// Locks a database for this process until the returned file is dropped.
fn lock(file: &Path) -> Result<File, BackupError> {
    let opened = File::options().read(true).write(true).open(file);
    let opened = opened.map_err(BackupError::io("open", file))?;
    match fcntl::fcntl(&opened, fcntl::FcntlArg::F_SETLK(&whole())) {
        Ok(_) => Ok(opened),
        Err(Errno::EAGAIN | Errno::EACCES) => {
            let holder = holder(file)?.unwrap_or(DatabaseHolder::Somebody);
            Err(BackupError::InUse { file: file.to_owned(), holder })
        }
        Err(error) => Err(denied(file)(error)),
    }
}

/// An exclusive lock on the whole range of bytes.
fn whole() -> libc::flock {
    let short = |number: i32| i16::try_from(number).unwrap_or_default();
    let (l_start, l_len) = LOCKED;
    libc::flock {
        l_type: short(libc::F_WRLCK),
        l_whence: short(libc::SEEK_SET),
        l_start,
        l_len,
        l_pid: 0,
    }
}

/// Gives the copy the owner of the file, because the user who restores
/// it may not be the user who runs the server.
fn like(copy: &Path, file: &Path) -> Result<(), BackupError> {
    let of = file.metadata().map_err(BackupError::io("look at", file))?;
    let own = copy.metadata().map_err(BackupError::io("look at", copy))?;
    fs::set_permissions(copy, of.permissions()).map_err(BackupError::io("give to others", copy))?;
    if (of.uid(), of.gid()) != (own.uid(), own.gid()) {
        let given = chown(copy, Some(of.uid()), Some(of.gid()));
        given.map_err(BackupError::io("give to the owner of the database", copy))?;
    }
    Ok(())
}

fn denied(file: &Path) -> impl FnOnce(Errno) -> BackupError {
    let failed = BackupError::io("lock", file);
    move |error| failed(error.into())
}

/// The name that a database file gets when it is replaced at the time `at`.
pub fn kept_name(file: &Path, at: &str) -> PathBuf {
    beside(file, &format!(".before-restore-{at}"))
}

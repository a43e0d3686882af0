use std::{fs::File, io::Read, path::Path};

use sea_orm::sqlx::{self, ConnectOptions, Connection, sqlite::SqliteConnectOptions};

use super::{BackupError, beside, copy::failed};
use crate::store::{MigrationState, db::open::compare};

/// The contents of a sound file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sound {
    /// The size of the file.
    pub bytes: u64,
    /// The state of the schema in the file.
    pub schema: MigrationState,
}

/// The first bytes of every SQLite database.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Maximum number of faults that are reported.
const FAULTS: usize = 3;

/// Examines a file that no process is writing. It must be complete and undamaged, a Carillon
/// database, and of a version that this program knows.
pub async fn examine(file: &Path) -> Result<Sound, BackupError> {
    let unsound = |problem: String| BackupError::Unsound { file: file.to_owned(), problem };
    let bytes = size(file)?;
    let options = SqliteConnectOptions::new().filename(file).read_only(true).immutable(true);
    let mut copy = options.disable_statement_logging().connect().await.map_err(failed)?;
    let damaged = |problem: String| unsound(format!("it is damaged: {problem}; use another copy"));
    let mut faults: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check")
        .fetch_all(&mut copy)
        .await
        .map_err(|error| damaged(error.to_string()))?;
    if faults != ["ok"] {
        faults.truncate(FAULTS);
        return Err(damaged(faults.join("; ").replace('\n', " ")));
    }
    let no_parents = "SELECT count(*) FROM pragma_foreign_key_check";
    let orphans: i64 = sqlx::query_scalar(no_parents).fetch_one(&mut copy).await.map_err(failed)?;
    if orphans > 0 {
        return Err(damaged(format!("{orphans} rows refer to rows that do not exist")));
    }
    let migrations = "SELECT count(*) FROM sqlite_master WHERE name = 'seaql_migrations'";
    let is_ours: i64 = sqlx::query_scalar(migrations).fetch_one(&mut copy).await.map_err(failed)?;
    if is_ours == 0 {
        return Err(unsound("it is not a Carillon database; choose another file".to_owned()));
    }
    let applied = sqlx::query_scalar("SELECT version FROM seaql_migrations ORDER BY version");
    let applied: Vec<String> = applied.fetch_all(&mut copy).await.map_err(failed)?;
    copy.close().await.map_err(failed)?;
    let schema = compare(applied, &format!("sqlite:{}", file.display()))?;
    Ok(Sound { bytes, schema })
}

/// Rejects a file that has a SQLite WAL beside it. The WAL contains the last commits; without it,
/// the file has an older state, if it is usable at all.
pub fn no_log_beside(file: &Path) -> Result<(), BackupError> {
    if beside(file, "-wal").metadata().is_ok_and(|log| log.len() > 0) {
        let problem = "a log ('-wal') lies beside it: it is a database in use, or a copy that \
                       another program made of one; make copies with 'carillon backup'";
        return Err(BackupError::Unsound { file: file.to_owned(), problem: problem.to_owned() });
    }
    Ok(())
}

fn size(file: &Path) -> Result<u64, BackupError> {
    let mut opened = File::open(file).map_err(BackupError::io("open", file))?;
    let mut head = [0; MAGIC.len()];
    let is_database = opened.read_exact(&mut head).is_ok() && &head == MAGIC;
    if !is_database {
        let problem = "it is not a SQLite database; choose another file".to_owned();
        return Err(BackupError::Unsound { file: file.to_owned(), problem });
    }
    Ok(opened.metadata().map_err(BackupError::io("look at", file))?.len())
}

use std::{path::Path, pin::pin, time::Duration};

use sea_orm::{
    DbErr, RuntimeErr,
    sqlx::{self, ConnectOptions, Connection, sqlite::SqliteConnectOptions},
};

use super::BackupError;
use crate::{clock::Clock, store::StoreError};

/// The interval between two progress reports.
const BEAT: Duration = Duration::from_secs(2);

/// The progress of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyProgress {
    /// Number of bytes of the copy that have been written.
    pub done: u64,
    /// The size of the database in bytes. A copy has no unused pages, so it may be smaller.
    pub of: u64,
}

/// Copies the current state of the database at `from` to the empty file `to`, and waits until the
/// copy is on the disk. Calls `told` with the progress at intervals.
pub async fn copy(
    from: &Path,
    to: &Path,
    clock: &Clock,
    told: impl Fn(CopyProgress),
) -> Result<(), BackupError> {
    let target = to.to_str().ok_or_else(|| BackupError::Unsound {
        file: to.to_owned(),
        problem: "its name is not text; choose another name".to_owned(),
    })?;
    let options = SqliteConnectOptions::new().filename(from).create_if_missing(false);
    let opened = options.busy_timeout(Duration::from_secs(10)).disable_statement_logging();
    let unreachable = |source| {
        let source = DbErr::Conn(RuntimeErr::SqlxError(std::sync::Arc::new(source)));
        StoreError::Unreachable { url: format!("sqlite:{}", from.display()), source }
    };
    let mut source = opened.connect().await.map_err(unreachable)?;
    let size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    let size: i64 = sqlx::query_scalar(size).fetch_one(&mut source).await.map_err(failed)?;
    let of = u64::try_from(size).unwrap_or_default();
    {
        let into = sqlx::query("VACUUM INTO $1").bind(target);
        let mut copying = pin!(into.execute(&mut source));
        loop {
            tokio::select! {
                done = &mut copying => {
                    done.map_err(failed)?;
                    break;
                }
                () = clock.sleep(BEAT) => {
                    let done = to.metadata().map_or(0, |metadata| metadata.len());
                    told(CopyProgress { done, of });
                }
            }
        }
    }
    source.close().await.map_err(failed)?;
    // SQLite leaves it to the caller to sync the copy.
    let file = std::fs::File::open(to).map_err(BackupError::io("open", to))?;
    file.sync_all().map_err(BackupError::io("bring to the disk", to))
}

/// Converts a driver's error in the same way as the store does.
pub(super) fn failed(error: sqlx::Error) -> BackupError {
    let error = DbErr::Query(RuntimeErr::SqlxError(std::sync::Arc::new(error)));
    BackupError::Store(error.into())
}

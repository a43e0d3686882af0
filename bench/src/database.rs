//! A fresh database for each round, removed afterwards.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result};
use carillon::{
    clock::Clock,
    store::{
        Options, Store,
        retention::{PartitionRange, TableFamily},
    },
};
use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use uuid::Uuid;

/// The idle-in-transaction timeout while a database is filled. The time limit of a statement is
/// twice this.
const FILLING: Duration = Duration::from_secs(600);

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// A file in the system's folder for temporary files.
    Sqlite,
    /// A database on the given server.
    Postgres,
}

impl Kind {
    /// The kind's name for display.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// The choice of databases to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Databases {
    Sqlite,
    Postgres,
    Both,
}

impl Databases {
    pub(crate) fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Sqlite => &[Kind::Sqlite],
            Self::Postgres => &[Kind::Postgres],
            Self::Both => &[Kind::Postgres, Kind::Sqlite],
        }
    }
}

/// An empty database, migrated unless another scheduler will use it.
#[derive(Debug)]
pub(crate) struct Fresh {
    /// The database's URL.
    pub(crate) url: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Folder(TempDir),
    Server { admin: String, name: String },
}

impl Fresh {
    /// Creates a database; on PostgreSQL through `admin`, a connection that may create databases.
    /// PostgreSQL's ledger is partitioned as after this many days of use.
    pub(crate) async fn create(kind: Kind, admin: Option<&str>, days: u32) -> Result<Self> {
        let fresh = match kind {
            Kind::Sqlite => {
                let folder = tempfile::tempdir().context("make a folder for SQLite")?;
                let url = format!("sqlite:{}", folder.path().join("carillon.db").display());
                Self { url, place: Place::Folder(folder) }
            }
            Kind::Postgres => Self::empty(admin).await?,
        };
        // The database is migrated here, so that it is ready for the next process that opens it.
        let store = Store::open(&Options::new(&fresh.url)).await?;
        if kind == Kind::Postgres && days > 0 {
            divide(&store, days).await?;
        }
        store.close().await?;
        Ok(fresh)
    }

    /// A store for filling the database. Its timeouts are long, because a statement over millions
    /// of rows takes longer than a server would wait.
    pub(crate) async fn filler(&self) -> Result<Store> {
        let options = Options { idle_transaction: FILLING, ..Options::new(&self.url) };
        Ok(Store::open(&options).await?)
    }

    /// Creates an empty database on PostgreSQL, for another scheduler.
    pub(crate) async fn empty(admin: Option<&str>) -> Result<Self> {
        let admin =
            admin.context("no PostgreSQL given: run `make bench`, or name one with --postgres")?;
        let name = format!("bench_{}", Uuid::now_v7().simple());
        on_server(admin, &format!("CREATE DATABASE {name}")).await?;
        let url = with_database(admin, &name);
        Ok(Self { url, place: Place::Server { admin: admin.to_owned(), name } })
    }

    /// A single connection to the database, for observing it from outside.
    pub(crate) async fn connect(&self) -> Result<DatabaseConnection> {
        connect(&self.url).await
    }

    /// Removes the database.
    pub(crate) async fn drop(self) -> Result<()> {
        match self.place {
            Place::Folder(folder) => folder.close().context("remove SQLite's folder"),
            Place::Server { admin, name } => {
                on_server(&admin, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await
            }
        }
    }
}

/// Creates the partitions that a server has after it has run for `days` days, and those of a week
/// ahead.
async fn divide(store: &Store, days: u32) -> Result<()> {
    const DAY: i64 = 24 * 60 * 60 * 1_000;
    let today = Clock::system().now().timestamp_millis() / DAY * DAY;
    let first = today - i64::from(days) * DAY;
    for family in TableFamily::ALL {
        store.add_stretch(family, PartitionRange { from: 0, to: first }, true, None).await?;
        for from in (first..=today + 7 * DAY).step_by(24 * 60 * 60 * 1_000) {
            store.add_stretch(family, PartitionRange { from, to: from + DAY }, false, None).await?;
        }
    }
    Ok(())
}

async fn connect(url: &str) -> Result<DatabaseConnection> {
    let mut options = ConnectOptions::new(url);
    options.max_connections(1).sqlx_logging(false);
    Ok(Database::connect(options).await?)
}

async fn on_server(admin: &str, statement: &str) -> Result<()> {
    let connection = connect(admin).await?;
    connection.execute_unprepared(statement).await.with_context(|| statement.to_owned())?;
    Ok(connection.close().await?)
}

/// The URL of another database on the same server.
fn with_database(admin: &str, name: &str) -> String {
    let (address, query) = admin.split_once('?').unwrap_or((admin, ""));
    let server = address.rsplit_once('/').map_or(address, |(server, _)| server);
    let separator = if query.is_empty() { "" } else { "?" };
    format!("{server}/{name}{separator}{query}")
}

/// The path of a program of the newest PostgreSQL in Debian's folder; the bare name if it is not
/// there.
pub(crate) fn program(folder: Option<&Path>, name: &str) -> std::path::PathBuf {
    if let Some(folder) = folder {
        return folder.join(name);
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| {
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            let program = entry.path().join("bin").join(name);
            program.exists().then_some((version, program))
        })
        .max();
    newest.map_or_else(|| name.into(), |(_, program)| program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_database_keeps_the_rest_of_the_address() {
        let cases = [
            ("postgres://a@b:1/postgres", "postgres://a@b:1/x"),
            ("postgres://a@b/postgres?host=/tmp", "postgres://a@b/x?host=/tmp"),
        ];
        for (admin, expected) in cases {
            assert_eq!(with_database(admin, "x"), expected);
        }
    }
}

//! Opening the database: connect, check or migrate the schema, then build the pools.

use std::{
    fmt,
    fs::{DirBuilder, OpenOptions},
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use migration::{Migrator, MigratorTrait, SchemaManager};
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbBackend, DbErr,
    sqlx::Connection,
};

use super::{
    database_file::{self, DatabaseFile},
    primary::{self, Address, Link, Problem, masked},
    searching::{LANES, STEPS, Searching, Until},
};
use crate::store::{Changes, Dialect, Store, StoreError};

/// What to do about pending migrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Migrations {
    /// Apply them.
    Apply,
    /// Refuse to open.
    Refuse,
}

/// How to open a database.
#[derive(Clone)]
pub struct Options {
    /// `sqlite:PATH` or `postgres://...`, with several hosts if there are standbys.
    pub url: String,
    /// See [`Migrations`].
    pub migrations: Migrations,
    /// Connections in all: on PostgreSQL half of them for writing; on SQLite the readers, half of
    /// them the API's, beside the one writer.
    pub connections: u32,
    /// How long to wait for a connection.
    pub acquire_timeout: Duration,
    /// PostgreSQL ends a transaction in which it hears nothing for so long.
    pub idle_transaction: Duration,
    /// How long somebody may have it search.
    pub search_limit: Duration,
    /// Whether this is the one server of a SQLite database: another one is refused.
    pub is_server: bool,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("url", &masked(&self.url)).finish_non_exhaustive()
    }
}

impl Options {
    /// The defaults for a server: migrate, ten connections.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            migrations: Migrations::Apply,
            connections: 10,
            acquire_timeout: Duration::from_secs(10),
            idle_transaction: Duration::from_secs(15),
            // Before a slow answer is a reason to look whether the server is still the primary.
            search_limit: Duration::from_secs(4),
            is_server: false,
        }
    }
}

/// Where a database's schema stands: names of migrations, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// Those that it has.
    pub applied: Vec<String>,
    /// Those that it lacks.
    pub pending: Vec<String>,
}

impl Store {
    /// The last migration that this program knows.
    pub fn latest_migration() -> String {
        Migrator::migrations().last().map_or_else(String::new, |last| last.name().to_owned())
    }

    /// Where the schema of a database stands. Makes the database if it is a file, changes nothing
    /// else.
    pub async fn schema(options: &Options) -> Result<Schema, StoreError> {
        let place = DatabaseLocation::of(&options.url)?;
        let single = place.open_one(options).await?;
        let schema = schema(&single, &options.url).await;
        single.close().await?;
        schema
    }

    /// Connects, brings the schema up to date or checks that it is, and opens the pools.
    pub async fn open(options: &Options) -> Result<Self, StoreError> {
        let place = DatabaseLocation::of(&options.url)?;
        // Before anything is read: a migration is to surprise no server that runs.
        let path = place.path(&options.url);
        let locked = path.filter(|_| options.is_server).map(database_file::lock).transpose()?;
        // A SQLite connection that was opened before another one made an index does not see it
        // until its next statement: so migrate on a connection of its own, closed before the
        // pools open.
        let single = place.open_one(options).await?;
        let checked = migrate(&single, options).await;
        single.close().await?;
        checked?;

        let (read, api_read, write, searching) = place
            .open(options)
            .await
            .map_err(|source| StoreError::Unreachable { url: masked(&options.url), source })?;
        let dialect = Dialect::new(read.get_database_backend());
        let file = path.map(|path| DatabaseFile::opened(path, locked));
        // Two of the connections for writing are left to the engine.
        let writers = usize::try_from(options.connections / 2).unwrap_or(usize::MAX);
        let api_transactions = writers.saturating_sub(2).max(1);
        Ok(Self {
            read,
            api_read,
            api_transactions,
            write,
            dialect,
            changes: Changes::default(),
            searching,
            file,
            faults: None,
        })
    }
}

/// What a URL leads to.
pub(in crate::store) enum DatabaseLocation {
    File,
    Servers(Address),
}

impl DatabaseLocation {
    pub(in crate::store) fn of(url: &str) -> Result<Self, StoreError> {
        if backend(url)? == DbBackend::Sqlite {
            make_folder(url)?;
            make_file(url)?;
            return Ok(Self::File);
        }
        let bad = |problem: Problem| StoreError::BadUrl {
            url: masked(url),
            problem: problem.to_string(),
        };
        Ok(Self::Servers(Address::parse(url).map_err(bad)?))
    }

    /// Where the file is, if it is one.
    fn path<'a>(&self, url: &'a str) -> Option<&'a Path> {
        match self {
            Self::File => Some(path_in(url)),
            Self::Servers(_) => None,
        }
    }

    pub(in crate::store) async fn open_one(
        &self,
        options: &Options,
    ) -> Result<DatabaseConnection, StoreError> {
        let opened = match self {
            Self::File => Database::connect(file(options, 1)).await,
            Self::Servers(address) => primary::open_one(address, options).await,
        };
        opened.map_err(|source| StoreError::Unreachable { url: masked(&options.url), source })
    }

    /// The links to read (the engine's and the API's), to write and to search through.
    async fn open(self, options: &Options) -> Result<(Link, Link, Link, Searching), DbErr> {
        let limit = options.search_limit;
        match self {
            Self::File => {
                let write = Link::fixed(Database::connect(file(options, 1)).await?);
                let half = (options.connections / 2).max(1);
                let read = Link::fixed(Database::connect(file(options, half)).await?);
                let api = options.connections.saturating_sub(half).max(1);
                let api = Link::fixed(Database::connect(file(options, api)).await?);
                let mut lanes = Vec::with_capacity(LANES);
                for _ in 0..LANES {
                    lanes.push(lane(options).await?);
                }
                Ok((read, api, write, Searching::in_lanes(limit, lanes)))
            }
            Self::Servers(address) => {
                let (read, write) = primary::open(address, options).await?;
                Ok((read.clone(), read, write, Searching::by_server(limit)))
            }
        }
    }
}

/// Whether a URL leads to a file.
pub(in crate::store) fn is_file(url: &str) -> Result<bool, StoreError> {
    Ok(backend(url)? == DbBackend::Sqlite)
}

fn backend(url: &str) -> Result<DbBackend, StoreError> {
    if let Some(place) = url.strip_prefix("sqlite:") {
        let (path, query) = place.split_once('?').unwrap_or((place, ""));
        let path = path.trim_start_matches("//");
        if matches!(path, "" | ":memory:") || query.split('&').any(|part| part == "mode=memory") {
            return Err(StoreError::NoFile { url: url.to_owned() });
        }
        Ok(DbBackend::Sqlite)
    } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        Ok(DbBackend::Postgres)
    } else {
        Err(StoreError::UnknownUrl { url: masked(url) })
    }
}

/// A connection to a SQLite file, for searches, and what says how long its statements may go on.
async fn lane(options: &Options) -> Result<(DatabaseConnection, Until), DbErr> {
    let until = Until::new();
    let kept = until.clone();
    let mut connect = file(options, 1);
    connect.map_sqlx_sqlite_pool_opts(move |pool| {
        let until = until.clone();
        pool.after_connect(move |connection, _| {
            let until = until.clone();
            Box::pin(async move {
                let mut handle = connection.lock_handle().await?;
                handle.set_progress_handler(STEPS, move || until.goes_on());
                Ok(())
            })
        })
    });
    Ok((Database::connect(connect).await?, kept))
}

/// So many rows are on their way from SQLite at the most.
const ROWS: usize = 500;

/// How a SQLite file is opened.
fn file(options: &Options, connections: u32) -> ConnectOptions {
    let mut connect = ConnectOptions::new(&options.url);
    connect
        .max_connections(connections)
        .acquire_timeout(options.acquire_timeout)
        .sqlx_logging(false)
        .test_before_acquire(false)
        .map_sqlx_sqlite_opts(|sqlite| {
            // FULL: a commit that was answered is on the disk. The guarantee rests on it.
            sqlite
                .create_if_missing(true)
                .pragma("journal_mode", "WAL")
                .pragma("synchronous", "FULL")
                .pragma("busy_timeout", "10000")
                .pragma("cache_size", "-32768")
                // A batch is spread out in a table of its own: in memory, not in a file each time.
                .pragma("temp_store", "MEMORY")
                .foreign_keys(true)
                // SQLite's thread reads a whole claim, and does not wait for each 50 rows to be taken.
                .row_buffer_size(ROWS)
        });
    // One that is not is closed, and the pool opens another.
    connect.map_sqlx_sqlite_before_acquire(|connection, _| {
        let is_clean = is_outside_transactions(&*connection);
        Box::pin(async move { Ok(is_clean) })
    });
    connect
}

/// Whether a connection of the pool is outside of transactions for its driver, too. When SQLite is
/// out of room or of luck it takes a transaction back by itself; the driver's own attempt then
/// fails, and it goes on counting that transaction as open. What it begins next would be nested in
/// nothing, and one failure later in something that nobody ever commits.
fn is_outside_transactions(connection: &impl Connection) -> bool {
    !connection.is_in_transaction()
}

/// Held while the schema is checked and migrated, so that of several servers that start at once one
/// does it. The lock belongs to the connection: it ends with it, whatever happens.
const MIGRATING: i64 = 0x6361_7269_6d69_6772;

async fn migrate(connection: &DatabaseConnection, options: &Options) -> Result<(), StoreError> {
    if connection.get_database_backend() == DbBackend::Postgres {
        let lock = format!("SELECT pg_advisory_lock({MIGRATING})");
        connection.execute_unprepared(&lock).await?;
    }
    let Schema { pending, .. } = schema(connection, &options.url).await?;
    match options.migrations {
        Migrations::Apply => Ok(Migrator::up(connection, None).await?),
        Migrations::Refuse if pending.is_empty() => Ok(()),
        Migrations::Refuse => {
            let (url, pending) = (masked(&options.url), pending.len());
            Err(StoreError::SchemaOlder { url, pending })
        }
    }
}

pub(in crate::store) async fn schema(
    connection: &DatabaseConnection,
    url: &str,
) -> Result<Schema, StoreError> {
    // Looking must change nothing, and the table of migrations is itself made by the first one.
    let is_there = SchemaManager::new(connection).has_table("seaql_migrations").await?;
    let applied =
        if is_there { Migrator::get_migration_models(connection).await? } else { Vec::new() };
    compare(applied.into_iter().map(|row| row.version).collect(), url)
}

/// Where a database stands that has these migrations.
pub(in crate::store) fn compare(applied: Vec<String>, url: &str) -> Result<Schema, StoreError> {
    let known = Migrator::migrations();
    let known = known.iter().map(|migration| migration.name().to_owned());
    let (done, pending) = known.partition::<Vec<_>, _>(|name| applied.contains(name));
    match applied.into_iter().find(|name| !done.contains(name)) {
        Some(migration) => Err(StoreError::SchemaNewer { url: masked(url), migration }),
        None => Ok(Schema { applied: done, pending }),
    }
}

/// The file that the address of a database leads to, if it is one.
pub fn file_of(url: &str) -> Option<PathBuf> {
    matches!(is_file(url), Ok(true)).then(|| path_in(url).to_owned())
}

/// The path in the address of a SQLite file.
fn path_in(url: &str) -> &Path {
    let path = url.trim_start_matches("sqlite:").trim_start_matches("//");
    Path::new(path.split('?').next().unwrap_or(path))
}

/// Makes the file, if it is not there, for this user alone: it holds contexts, outputs and the
/// hashes of passwords. SQLite gives the files beside it the same mode.
fn make_file(url: &str) -> Result<(), StoreError> {
    let path = path_in(url);
    if url.contains("mode=ro") {
        return Ok(());
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StoreError::Unreachable {
            url: masked(url),
            source: DbErr::Custom(format!("make the file {}: {error}", path.display())),
        }),
    }
}

/// The folder of a SQLite file is made if it is missing, for its owner alone: what is in it has
/// what runs were given and gave back.
fn make_folder(url: &str) -> Result<(), StoreError> {
    let Some(folder) = path_in(url).parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| StoreError::Unreachable {
        url: masked(url),
        source: DbErr::Custom(format!("make the folder {}: {error}", folder.display())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_without_a_file_is_refused() {
        for url in ["sqlite::memory:", "sqlite://:memory:", "sqlite:", "sqlite:x?mode=memory"] {
            assert!(matches!(backend(url), Err(StoreError::NoFile { .. })), "{url}");
        }
        assert!(matches!(backend("sqlite://data/x.db?mode=rwc"), Ok(DbBackend::Sqlite)));
    }

    #[test]
    fn an_unknown_address_is_refused() {
        assert!(matches!(backend("mysql://x"), Err(StoreError::UnknownUrl { .. })));
    }
}

//! Opens a database: connects, checks or migrates the schema, and then builds the pools.

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
    primary::{self, Address, AddressProblem, DatabaseLink, masked},
    searching::{LANES, STEPS, Searching, StatementDeadline},
};
use crate::store::{Changes, Dialect, Store, StoreError};

/// The policy for pending migrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Migrations {
    /// Pending migrations are applied.
    Apply,
    /// The database is not opened if migrations are pending.
    Refuse,
}

/// The options for opening a database.
#[derive(Clone)]
pub struct Options {
    /// The database's URL: `sqlite:PATH`,
    /// or `postgres://...` with several hosts if there are standbys.
    pub url: String,
    /// The policy for pending migrations. See [`Migrations`].
    pub migrations: Migrations,
    /// The total number of connections. On PostgreSQL, half of them are for writing. On SQLite,
    /// this is the number of readers besides the one writer, and half of these are for the API.
    pub connections: u32,
    /// How long a caller waits for a connection.
    pub acquire_timeout: Duration,
    /// How long a transaction may be idle on PostgreSQL before the server ends it.
    pub idle_transaction: Duration,
    /// The time limit of a search.
    pub search_limit: Duration,
    /// Whether a server opens the SQLite database. A second server is rejected.
    pub is_server: bool,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("url", &masked(&self.url)).finish_non_exhaustive()
    }
}

impl Options {
    /// The defaults for a server: apply migrations, use ten connections.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            migrations: Migrations::Apply,
            connections: 10,
            acquire_timeout: Duration::from_secs(10),
            idle_transaction: Duration::from_secs(15),
            // This is less than the time after which a slow answer makes the store check whether
            // the server is still the primary.
            search_limit: Duration::from_secs(4),
            is_server: false,
        }
    }
}

/// The state of a database's schema, as names of migrations in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MigrationState {
    /// The applied migrations.
    pub applied: Vec<String>,
    /// The pending migrations.
    pub pending: Vec<String>,
}

impl Store {
    /// The last migration that this program contains.
    pub fn latest_migration() -> String {
        Migrator::migrations().last().map_or_else(String::new, |last| last.name().to_owned())
    }

    /// The state of the schema of a database that is not there yet: all migrations are pending.
    pub fn absent_schema() -> MigrationState {
        let known = Migrator::migrations();
        let pending = known.iter().map(|migration| migration.name().to_owned()).collect();
        MigrationState { applied: Vec::new(), pending }
    }

    /// Reads the state of a database's schema.
    /// Creates the database if it is a file, and changes nothing else.
    pub async fn schema(options: &Options) -> Result<MigrationState, StoreError> {
        let place = DatabaseLocation::of(&options.url)?;
        let single = place.open_one(options).await?;
        let schema = schema(&single, &options.url).await;
        single.close().await?;
        schema
    }

    /// Connects, updates or checks the schema, and opens the pools.
    pub async fn open(options: &Options) -> Result<Self, StoreError> {
        let place = DatabaseLocation::of(&options.url)?;
        // The lock comes before any read, because a migration must not surprise a running server.
        let path = place.path(&options.url);
        let locked = path.filter(|_| options.is_server).map(database_file::lock).transpose()?;
        // A SQLite connection sees an index that another connection has created since it was opened
        // only after its next statement.
        // So migrate on a separate connection, and close that one before the pools open.
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
        // Two of the connections for writing are reserved for the engine.
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

/// The kind of database to which a URL leads.
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
        let bad = |problem: AddressProblem| StoreError::BadUrl {
            url: masked(url),
            problem: problem.to_string(),
        };
        Ok(Self::Servers(Address::parse(url).map_err(bad)?))
    }

    /// The path of the database file; `None` if the URL leads to servers.
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

    /// The links for reading (the engine's and the API's),
    /// the one for writing, and the ones for searches.
    async fn open(
        self,
        options: &Options,
    ) -> Result<(DatabaseLink, DatabaseLink, DatabaseLink, Searching), DbErr> {
        let limit = options.search_limit;
        match self {
            Self::File => {
                let write = DatabaseLink::fixed(Database::connect(file(options, 1)).await?);
                let half = (options.connections / 2).max(1);
                let read = DatabaseLink::fixed(Database::connect(file(options, half)).await?);
                let api = options.connections.saturating_sub(half).max(1);
                let api = DatabaseLink::fixed(Database::connect(file(options, api)).await?);
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

/// Whether a URL leads to a database file.
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

/// A connection to a SQLite file for searches, and the deadline of the statements on it.
async fn lane(options: &Options) -> Result<(DatabaseConnection, StatementDeadline), DbErr> {
    let until = StatementDeadline::new();
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

/// Maximum number of rows that are buffered from SQLite.
const ROWS: usize = 500;

/// The options with which a SQLite file is opened.
fn file(options: &Options, connections: u32) -> ConnectOptions {
    let mut connect = ConnectOptions::new(&options.url);
    connect
        .max_connections(connections)
        .acquire_timeout(options.acquire_timeout)
        .sqlx_logging(false)
        .test_before_acquire(false)
        .map_sqlx_sqlite_opts(|sqlite| {
            // FULL means that an acknowledged commit is on the
            // disk, on which Carillon's guarantee depends.
            sqlite
                .create_if_missing(true)
                .pragma("journal_mode", "WAL")
                .pragma("synchronous", "FULL")
                .pragma("busy_timeout", "10000")
                .pragma("cache_size", "-32768")
                // A batch is unpacked into a temporary table, which should be
                // in memory and not in a new file each time.
                .pragma("temp_store", "MEMORY")
                .foreign_keys(true)
                // This lets SQLite's thread read a whole
                // claim instead of waiting after every 50 rows.
                .row_buffer_size(ROWS)
        });
    // A connection that is still in a transaction is closed, and the pool opens another one.
    connect.map_sqlx_sqlite_before_acquire(|connection, _| {
        let is_clean = is_outside_transactions(&*connection);
        Box::pin(async move { Ok(is_clean) })
    });
    connect
}

/// Whether the driver also considers a pooled connection to be outside a transaction.
/// If SQLite runs out of space or fails, it rolls a transaction back itself. The driver's own
/// rollback then fails, and the driver still counts that transaction as open. It would treat
/// the next one as nested, and a later one would run in a transaction that is never committed.
fn is_outside_transactions(connection: &impl Connection) -> bool {
    !connection.is_in_transaction()
}

/// The id of the lock that is held while the schema is checked and migrated,
/// so that only one of several servers that start at once does so.
/// The lock belongs to the connection and always ends with it.
const MIGRATING: i64 = 0x6361_7269_6d69_6772;

async fn migrate(connection: &DatabaseConnection, options: &Options) -> Result<(), StoreError> {
    if connection.get_database_backend() == DbBackend::Postgres {
        let lock = format!("SELECT pg_advisory_lock({MIGRATING})");
        connection.execute_unprepared(&lock).await?;
    }
    let MigrationState { pending, .. } = schema(connection, &options.url).await?;
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
) -> Result<MigrationState, StoreError> {
    // An inspection must change nothing, but the first
    // migration would create the table of migrations.
    let is_there = SchemaManager::new(connection).has_table("seaql_migrations").await?;
    let applied =
        if is_there { Migrator::get_migration_models(connection).await? } else { Vec::new() };
    compare(applied.into_iter().map(|row| row.version).collect(), url)
}

/// The state of the schema of a database that has applied these migrations.
pub(in crate::store) fn compare(
    applied: Vec<String>,
    url: &str,
) -> Result<MigrationState, StoreError> {
    let known = Migrator::migrations();
    let known = known.iter().map(|migration| migration.name().to_owned());
    let (done, pending) = known.partition::<Vec<_>, _>(|name| applied.contains(name));
    match applied.into_iter().find(|name| !done.contains(name)) {
        Some(migration) => Err(StoreError::SchemaNewer { url: masked(url), migration }),
        None => Ok(MigrationState { applied: done, pending }),
    }
}

/// The file to which a database URL leads; `None` if it leads to servers.
pub fn file_of(url: &str) -> Option<PathBuf> {
    matches!(is_file(url), Ok(true)).then(|| path_in(url).to_owned())
}

/// The path in the URL of a SQLite database.
fn path_in(url: &str) -> &Path {
    let path = url.trim_start_matches("sqlite:").trim_start_matches("//");
    Path::new(path.split('?').next().unwrap_or(path))
}

/// Creates the database file for this user alone, if it does not exist: it contains contexts,
/// outputs and password hashes. SQLite gives its companion files the same mode.
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

/// Creates the folder of a SQLite database for its owner alone, if it does not exist: the database
/// contains the inputs and outputs of runs.
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

//! Opening the database: connect, check or migrate the schema, then build the pools.

use std::{path::Path, time::Duration};

use migration::{Migrator, MigratorTrait, SchemaManager};
use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection, DbBackend, DbErr};

use super::{Changes, Dialect, Store, StoreError};

/// What to do about pending migrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Migrations {
    /// Apply them.
    Apply,
    /// Refuse to open.
    Refuse,
}

/// How to open a database.
#[derive(Clone, Debug)]
pub struct Options {
    /// `sqlite:PATH` or `postgres://...`.
    pub url: String,
    /// See [`Migrations`].
    pub migrations: Migrations,
    /// Connections in all: on PostgreSQL half of them for writing; on SQLite the readers, beside the
    /// one writer.
    pub connections: u32,
    /// How long to wait for a connection.
    pub acquire_timeout: Duration,
}

impl Options {
    /// The defaults for a server: migrate, ten connections.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            migrations: Migrations::Apply,
            connections: 10,
            acquire_timeout: Duration::from_secs(10),
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
        let backend = backend(&options.url)?;
        if backend == DbBackend::Sqlite {
            make_folder(&options.url)?;
        }
        let unreachable = |source| StoreError::Unreachable { url: masked(&options.url), source };
        let single = connect(options, backend, Use::Reading, 1).await.map_err(unreachable)?;
        let schema = schema(&single, &options.url).await;
        single.close().await?;
        schema
    }

    /// Connects, brings the schema up to date or checks that it is, and opens the pools.
    pub async fn open(options: &Options) -> Result<Self, StoreError> {
        let backend = backend(&options.url)?;
        if backend == DbBackend::Sqlite {
            make_folder(&options.url)?;
        }
        let unreachable = |source| StoreError::Unreachable { url: masked(&options.url), source };

        // A SQLite connection that was opened before another one made an index does not see it
        // until its next statement: so migrate on a connection of its own, closed before the
        // pools open.
        let single = connect(options, backend, Use::Reading, 1).await.map_err(unreachable)?;
        let checked = migrate(&single, options).await;
        single.close().await?;
        checked?;

        let (read, write) = if backend == DbBackend::Sqlite {
            let write = connect(options, backend, Use::Writing, 1).await.map_err(unreachable)?;
            let readers = options.connections.max(1);
            let read = connect(options, backend, Use::Reading, readers).await;
            (read.map_err(unreachable)?, write)
        } else {
            let writers = (options.connections / 2).max(2);
            let readers = options.connections.saturating_sub(writers).max(1);
            let write = connect(options, backend, Use::Writing, writers).await;
            let read = connect(options, backend, Use::Reading, readers).await;
            (read.map_err(unreachable)?, write.map_err(unreachable)?)
        };
        Ok(Self {
            read,
            write,
            dialect: Dialect::new(backend),
            changes: Changes::default(),
            faults: None,
        })
    }
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

/// Connections to PostgreSQL that stay open: as many as the engine works with at once.
const KEPT_OPEN: u32 = 4;

/// What connections are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Reading,
    Writing,
}

/// Our statements are short. A plan over the ledger's days looks dear enough to PostgreSQL to be
/// compiled first, which then takes up to a second.
const ALWAYS: [(&str, &str); 1] = [("jit", "off")];

/// What we write we find by keys, some hundred at a time. Left to itself PostgreSQL reads a table of
/// some ten thousand rows as a whole for them.
const BY_KEYS: [(&str, &str); 2] = [("enable_seqscan", "off"), ("random_page_cost", "1.1")];

async fn connect(
    options: &Options,
    backend: DbBackend,
    purpose: Use,
    connections: u32,
) -> Result<DatabaseConnection, DbErr> {
    let mut connect = ConnectOptions::new(&options.url);
    connect
        .max_connections(connections)
        .acquire_timeout(options.acquire_timeout)
        .connect_timeout(options.acquire_timeout)
        .sqlx_logging(false)
        .test_before_acquire(false);
    if backend == DbBackend::Postgres {
        // The first fires of a storm are not to wait for a connection.
        connect.min_connections(connections.min(KEPT_OPEN));
        connect.map_sqlx_postgres_opts(move |postgres| match purpose {
            Use::Reading => postgres.options(ALWAYS),
            Use::Writing => postgres.options(ALWAYS).options(BY_KEYS),
        });
    } else {
        connect.map_sqlx_sqlite_opts(|sqlite| {
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
        });
    }
    Database::connect(connect).await
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

async fn schema(connection: &DatabaseConnection, url: &str) -> Result<Schema, StoreError> {
    // Looking must change nothing, and the table of migrations is itself made by the first one.
    let is_there = SchemaManager::new(connection).has_table("seaql_migrations").await?;
    let applied =
        if is_there { Migrator::get_migration_models(connection).await? } else { Vec::new() };
    let applied: Vec<String> = applied.into_iter().map(|row| row.version).collect();
    let known = Migrator::migrations();
    let known = known.iter().map(|migration| migration.name().to_owned());
    let (done, pending) = known.partition::<Vec<_>, _>(|name| applied.contains(name));
    match applied.into_iter().find(|name| !done.contains(name)) {
        Some(migration) => Err(StoreError::SchemaNewer { url: masked(url), migration }),
        None => Ok(Schema { applied: done, pending }),
    }
}

/// The folder of a SQLite file is made if it is missing.
fn make_folder(url: &str) -> Result<(), StoreError> {
    let path = url.trim_start_matches("sqlite:").trim_start_matches("//");
    let path = path.split('?').next().unwrap_or(path);
    let Some(folder) = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty())
    else {
        return Ok(());
    };
    std::fs::create_dir_all(folder).map_err(|error| StoreError::Unreachable {
        url: masked(url),
        source: DbErr::Custom(format!("make the folder {}: {error}", folder.display())),
    })
}

/// The address without its password.
fn masked(url: &str) -> String {
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let mut masked = place.to_owned();
    if let Some((scheme, rest)) = place.split_once("://")
        && let Some((user, host)) = rest.rsplit_once('@')
        && let Some((name, _)) = user.split_once(':')
    {
        masked = format!("{scheme}://{name}:***@{host}");
    }
    for (index, part) in query.split('&').filter(|part| !part.is_empty()).enumerate() {
        masked.push(if index == 0 { '?' } else { '&' });
        let name = part.split_once('=').map_or(part, |(name, _)| name);
        masked.push_str(if name == "password" { "password=***" } else { part });
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        assert_eq!(masked("postgres://ada:s3cret@db/x"), "postgres://ada:***@db/x");
        assert_eq!(masked("postgres://ada@db/x"), "postgres://ada@db/x");
        assert_eq!(masked("sqlite:data/carillon.db"), "sqlite:data/carillon.db");
        assert_eq!(
            masked("postgres://db/x?user=ada&password=s3cr@t&sslmode=require"),
            "postgres://db/x?user=ada&password=***&sslmode=require"
        );
    }

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

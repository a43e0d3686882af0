//! Inspects a database without changing it, to find out why
//! a server would not start on it or not run well.

use entity::Timestamp;
use sea_orm::{ConnectionTrait, DatabaseConnection, FromQueryResult};

use super::open::{DatabaseLocation, schema};
use crate::store::{Dialect, MigrationState, Options, StoreError};

/// The results of an inspection.
#[derive(Debug)]
pub struct Inspection {
    /// The database's kind: `sqlite` or `postgres`.
    pub kind: &'static str,
    /// The database's version, in its own words.
    pub version: String,
    /// The version as a number in PostgreSQL's form: 15.18 is 150018.
    pub version_number: i64,
    /// The time on the database's clock.
    pub now: Timestamp,
    /// The state of the schema.
    pub schema: Result<MigrationState, StoreError>,
    /// Why the database does not accept Carillon's writes; `None` if it does.
    pub refuses: Option<String>,
    /// Settings that are off although commits are not safe without them.
    pub unsafe_settings: Vec<String>,
    /// Number of open connections, and the maximum; only for PostgreSQL.
    pub connections: Option<(i64, i64)>,
}

/// The facts that PostgreSQL reports about itself.
#[derive(FromQueryResult)]
struct PostgresFacts {
    version: String,
    version_number: i64,
    now: i64,
    fsync: String,
    synchronous_commit: String,
    used: i64,
    most: i64,
    may_create: bool,
    closed: Option<String>,
}

/// The query checks the privileges on each table, so that a missing privilege can be named.
const SERVER: &str = "SELECT current_setting('server_version') AS version, \
       current_setting('server_version_num')::bigint AS version_number, \
       (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, \
       current_setting('fsync') AS fsync, \
       current_setting('synchronous_commit') AS synchronous_commit, \
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used, \
       current_setting('max_connections')::bigint \
         - current_setting('superuser_reserved_connections')::bigint AS most, \
       coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create, \
       (SELECT min(c.relname::text) FROM pg_class c \
          JOIN pg_namespace n ON n.oid = c.relnamespace \
        WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') \
          AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') \
            AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))) \
         AS closed";

/// The facts that SQLite reports about a file.
#[derive(FromQueryResult)]
struct SqliteFacts {
    version: String,
    now: i64,
}

/// Connects to the database and inspects it. The file of a SQLite database must exist.
pub async fn look(options: &Options) -> Result<Inspection, StoreError> {
    let single = DatabaseLocation::of(&options.url)?.open_one(options).await?;
    let dialect = Dialect::new(single.get_database_backend());
    let schema = schema(&single, &options.url).await;
    let seen = if dialect.is_postgres() {
        look_at_server(&single, &dialect, schema).await
    } else {
        look_at_file(&single, &dialect, schema).await
    };
    single.close().await?;
    seen
}

async fn look_at_server(
    single: &DatabaseConnection,
    dialect: &Dialect,
    schema: Result<MigrationState, StoreError>,
) -> Result<Inspection, StoreError> {
    let server =
        PostgresFacts::find_by_statement(dialect.statement(SERVER, [])).one(single).await?;
    let server = server.ok_or_else(nothing)?;
    let refuses = match (server.may_create, server.closed) {
        (true, None) => None,
        (false, _) => Some("its user may not create tables in the schema".to_owned()),
        (true, Some(table)) => Some(format!("its user may not read and write the table {table:?}")),
    };
    let settings = [("fsync", server.fsync), ("synchronous_commit", server.synchronous_commit)];
    let off = settings.into_iter().filter(|(_, value)| value == "off");
    Ok(Inspection {
        kind: dialect.name(),
        version: server.version,
        version_number: server.version_number,
        now: Timestamp(server.now),
        schema,
        refuses,
        unsafe_settings: off.map(|(name, value)| format!("{name} = {value}")).collect(),
        connections: Some((server.used, server.most)),
    })
}

async fn look_at_file(
    single: &DatabaseConnection,
    dialect: &Dialect,
    schema: Result<MigrationState, StoreError>,
) -> Result<Inspection, StoreError> {
    let sql = format!("SELECT sqlite_version() AS version, {} AS now", dialect.now());
    let file = SqliteFacts::find_by_statement(dialect.statement(sql, [])).one(single).await?;
    let file = file.ok_or_else(nothing)?;
    // The table never becomes visible: the statement waits
    // for its turn to write, and is rolled back.
    let attempt = "BEGIN IMMEDIATE; CREATE TABLE carillon_doctor (x INTEGER); ROLLBACK";
    let refuses = single.execute_unprepared(attempt).await.err().map(|error| error.to_string());
    Ok(Inspection {
        kind: dialect.name(),
        version: file.version,
        version_number: 0,
        now: Timestamp(file.now),
        schema,
        refuses,
        unsafe_settings: Vec::new(),
        connections: None,
    })
}

fn nothing() -> StoreError {
    StoreError::Database(sea_orm::DbErr::RecordNotFound("it provides no version".to_owned()))
}

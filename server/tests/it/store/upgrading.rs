//! The migrations of a database that the previous version left when it was killed in the middle of
//! its work. `scripts/migration-fixture` creates that database.

use std::{collections::BTreeMap, fs, path::Path};

use carillon::store::{Migrations, Options, Store};
use reqwest::header;
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, EntityTrait, FromQueryResult, QueryResult,
};
use serde_json::{Value, json};

use crate::support::{Command, Server, TestDatabase, on_both};

on_both!(a_database_of_the_version_before_is_migrated_and_loses_nothing);

/// The last migration of the previous version.
const BEFORE: &str = "m0017";

/// The key that sealed the database's secrets and channels.
const KEY: &str = "Zml4dHVyZS1maXh0dXJlLWZpeHR1cmUtZml4dHVyZS0=";

fn fixture(kind: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    fs::read_to_string(folder.join(format!("{BEFORE}.{kind}.sql"))).unwrap()
}

/// Replaces the test's empty database with the previous version's.
async fn plant(database: &TestDatabase) {
    let dialect = database.store.dialect().clone();
    database.store.clone().close().await.unwrap();
    if !dialect.is_postgres() {
        // Carillon made the file for its own user only, and SQLite opens an empty file as a database.
        fs::write(database.url.trim_start_matches("sqlite:"), "").unwrap();
    }
    let url = if dialect.is_postgres() {
        database.url.clone()
    } else {
        format!("{}?mode=rwc", database.url)
    };
    let mut options = ConnectOptions::new(url);
    options.max_connections(1).sqlx_logging(false);
    let connection = Database::connect(options).await.unwrap();
    if dialect.is_postgres() {
        let empty = "DROP SCHEMA public CASCADE";
        connection.execute_unprepared(empty).await.unwrap();
    }
    if !dialect.is_postgres() {
        // A dump lists its tables by name, so rows may come before the rows that they refer to.
        connection.execute_unprepared("PRAGMA foreign_keys = OFF").await.unwrap();
    }
    let text = fixture(dialect.name()).replace("CREATE SCHEMA public;", "");
    let text = if dialect.is_postgres() { format!("CREATE SCHEMA public; {text}") } else { text };
    connection.execute_unprepared(&text).await.unwrap();
    connection.close().await.unwrap();
}

/// The ledger as text: the outcome of each fire, run and attempt.
async fn ledger(connection: &impl ConnectionTrait) -> Vec<String> {
    let sql = "SELECT 'fire ' || CAST(scheduled_at AS text) || ' ' || verdict || ' ' || reason \
                 || ' ' || CAST(count AS text) AS line FROM fire \
               UNION ALL SELECT 'run ' || CAST(scheduled_at AS text) || ' ' || state || ' ' \
                 || CAST(attempt AS text) || ' ' || idempotency_key FROM run \
               UNION ALL SELECT 'attempt ' || task || ' ' || CAST(attempt AS text) || ' ' || state \
                 FROM task_run \
               UNION ALL SELECT 'line ' || CAST(seq AS text) || ' ' || text FROM task_log \
               ORDER BY 1";
    let backend = connection.get_database_backend();
    let rows = connection.query_all_raw(sea_orm::Statement::from_string(backend, sql)).await;
    rows.unwrap().iter().map(|row: &QueryResult| row.try_get("", "line").unwrap()).collect()
}

/// Counts the rows of each table through today's models, so every row must be readable.
macro_rules! counted {
    ($store:expr, $($entity:ident),+ $(,)?) => {
        BTreeMap::from([$((
            stringify!($entity),
            entity::$entity::Entity::find().all($store.read()).await.unwrap().len(),
        )),+])
    };
}

#[derive(FromQueryResult)]
struct Count {
    rows: i64,
}

async fn a_database_of_the_version_before_is_migrated_and_loses_nothing(database: TestDatabase) {
    plant(&database).await;
    let mut options = ConnectOptions::new(&database.url);
    options.max_connections(1).sqlx_logging(false);
    let raw = Database::connect(options).await.unwrap();
    let before = ledger(&raw).await;
    let tables = [
        "fire",
        "run",
        "task_run",
        "schedule",
        "audit_event",
        "node",
        "session",
        "secret",
        "alert",
        "notification",
        "calendar_feed",
        "run_stat",
    ];
    let mut rows = BTreeMap::new();
    for table in tables {
        let sql = format!("SELECT count(*) AS rows FROM {table}");
        let statement = sea_orm::Statement::from_string(raw.get_database_backend(), sql);
        let count = Count::find_by_statement(statement).one(&raw).await.unwrap().unwrap();
        rows.insert(table, usize::try_from(count.rows).unwrap());
    }
    raw.close().await.unwrap();

    // The check changes nothing. A server that may not migrate says which migrations are missing.
    let told = |args: &[&str]| Command::new(args).on(&database).run();
    let mut is_current = false;
    for _ in 0..2 {
        let status: Value =
            serde_json::from_str(&told(&["migrate", "--dry-run", "--json"]).done()).unwrap();
        let pending = status["pending"].as_array().unwrap();
        // Until the next migration is written, the old schema is today's.
        is_current = pending.is_empty();
        assert!(pending.iter().all(|name| name.as_str().unwrap() > BEFORE), "{status}");
    }
    // The check says beforehand that the new version can read everything that the previous one has
    // stored.
    let check = told(&["upgrade", "--check", "--json"]);
    let found: Value = serde_json::from_str(&check.out).unwrap_or_else(|_| panic!("{check:?}"));
    assert_eq!((check.code, &found["named"]), (0, &json!([])), "{found:#}");
    for kind in ["alert_channels", "alert_rules", "calendars", "modules"] {
        assert!(found["others"][kind].as_u64() > Some(0), "{kind}: {found:#}");
    }
    if !is_current {
        let refused = Command::new(&["serve", "--listen", "127.0.0.1:0"]).on(&database);
        let refused = refused.env("CARILLON_DATABASE__MIGRATE", "false").run().refused(1);
        assert!(refused.contains("run 'carillon migrate'"), "{refused}");
        assert!(told(&["migrate"]).done().contains("applied m"));
    }
    assert!(told(&["migrate"]).done().starts_with("the schema is up to date"));

    let options = Options { migrations: Migrations::Refuse, ..Options::new(&database.url) };
    let store = Store::open(&options).await.unwrap();
    assert_eq!(ledger(store.read()).await, before, "the ledger is as it was");
    let counted = counted!(
        store,
        alert,
        alert_channel,
        alert_cursor,
        alert_rule,
        api_token,
        audit_event,
        backfill,
        backfill_fire,
        calendar,
        calendar_feed,
        concurrency_group,
        fire,
        idempotency,
        lease,
        membership,
        module,
        namespace,
        node,
        notification,
        ping,
        run,
        run_stat,
        schedule,
        schedule_version,
        secret,
        session,
        stat_position,
        task_log,
        task_run,
        user,
        workflow,
        workflow_version,
    );
    for (table, count) in &counted {
        assert!(*count > 0, "the fixture has nothing of {table}");
        assert_eq!(rows.get(table).unwrap_or(count), count, "{table}");
    }
    store.close().await.unwrap();

    // A server continues with the old database: its users can sign in, its schedules fire, its
    // sealed values open, and unfinished work ends.
    let without = Command::new(&["serve", "--listen", "127.0.0.1:0"]).on(&database).run();
    assert!(without.refused(1).contains("key"), "what is sealed is asked for its key");
    let config = format!("secrets.key = \"{KEY}\"");
    let server = Server::start_configured(&database, &config);
    let answer = server.sign_in("ada", "correct horse battery").await;
    assert!(answer.status().is_success(), "{answer:?}");
    let cookie = crate::support::cookie(&answer);
    let query =
        "{ schedules { nodes { name } } backfills { nodes { state } } secrets { nodes { name } }
        alertRules { name channels { name } } alerts { nodes { kind } } calendarFeeds { name }
        schedule(name: \"every-second\") { ping { last { error } } } }";
    let query = json!({ "query": query });
    let request = server.post("/graphql").header(header::COOKIE, cookie).json(&query);
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    let names = answer["data"]["schedules"]["nodes"].as_array().unwrap();
    assert_eq!(names.len(), counted["schedule"], "{answer}");
    let told = answer["data"].to_string();
    for part in ["reports_token", "\"hook\"", "\"FAILED\"", "\"mine\"", "\"error\":\""] {
        assert!(told.contains(part), "{part}: {answer}");
    }
    assert_eq!(server.stop(), 0);
}

use std::{os::unix::fs::PermissionsExt, time::Duration};

use carillon::store::{Migrations, Options, Store, StoreError};
use sea_orm::{ConnectionTrait, FromQueryResult};

use crate::support::{TestDatabase, on_both};

on_both!(
    a_second_opening_finds_the_schema_up_to_date,
    a_schema_that_is_newer_is_refused,
    looking_at_a_schema_changes_nothing,
);

async fn a_second_opening_finds_the_schema_up_to_date(database: TestDatabase) {
    let mut options = Options::new(&database.url);
    options.migrations = Migrations::Refuse;
    let again = Store::open(&options).await.unwrap();
    again.close().await.unwrap();
}

async fn a_schema_that_is_newer_is_refused(database: TestDatabase) {
    let insert = "INSERT INTO seaql_migrations (version, applied_at) VALUES ('m9999_later', 0)";
    let transaction = database.store.begin().await.unwrap();
    transaction.execute_unprepared(insert).await.unwrap();
    database.store.commit(transaction).await.unwrap();
    let refused = Store::open(&Options::new(&database.url)).await.unwrap_err();
    assert!(
        matches!(&refused, StoreError::SchemaNewer { migration, .. } if migration == "m9999_later"),
        "{refused}"
    );
}

async fn looking_at_a_schema_changes_nothing(database: TestDatabase) {
    let transaction = database.store.begin().await.unwrap();
    transaction.execute_unprepared("DROP TABLE seaql_migrations").await.unwrap();
    database.store.commit(transaction).await.unwrap();
    let mut options = Options::new(&database.url);
    options.migrations = Migrations::Refuse;
    let schema = Store::schema(&options).await.unwrap();
    assert!(schema.applied.is_empty() && !schema.pending.is_empty(), "{schema:?}");
    let refused = Store::open(&options).await.unwrap_err();
    assert!(matches!(refused, StoreError::SchemaOlder { .. }), "{refused}");
    let select = "SELECT version FROM seaql_migrations";
    assert!(database.store.read().execute_unprepared(select).await.is_err());
}

#[tokio::test]
async fn a_new_file_is_for_its_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/new.db");
    let store = Store::open(&Options::new(format!("sqlite:{}", path.display()))).await.unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let file = format!("{}{suffix}", path.display());
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{file}");
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn only_one_of_several_starting_servers_migrates() {
    let database = TestDatabase::postgres().await;
    let transaction = database.store.begin().await.unwrap();
    let empty = "DROP SCHEMA public CASCADE; CREATE SCHEMA public";
    transaction.execute_unprepared(empty).await.unwrap();
    database.store.commit(transaction).await.unwrap();
    let options = Options::new(&database.url);
    let stores = futures::future::join_all((0..4).map(|_| Store::open(&options))).await;
    for store in stores {
        store.unwrap().close().await.unwrap();
    }
}

/// Half of the connections write, one sends heartbeats, and the others read: that needs at least
/// three.
#[tokio::test]
async fn as_many_connections_are_opened_as_are_configured() {
    #[derive(FromQueryResult)]
    struct Row {
        found: i64,
    }
    for connections in [3, 4, 7] {
        let database = TestDatabase::postgres().await;
        let url = format!("{}?application_name=counted", database.url);
        let store = Store::open(&Options { connections, ..Options::new(url) }).await.unwrap();
        let busy = store.begin().await.unwrap();
        let asked = (0..20).map(|_| store.read().ping());
        futures::future::try_join_all(asked).await.unwrap();
        // The connections that looked for the primary are closed. The server notices that a moment
        // later.
        let counted = async {
            loop {
                let sql = "SELECT count(*) AS found FROM pg_stat_activity \
                    WHERE application_name = 'counted' AND datname = current_database()";
                let row = Row::find_by_statement(store.dialect().statement(sql, []));
                let found = row.one(database.store.read()).await.unwrap().unwrap().found;
                if found <= i64::from(connections) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        let counted = tokio::time::timeout(Duration::from_secs(60), counted).await;
        assert!(counted.is_ok(), "more than {connections} connections are open");
        busy.rollback().await.unwrap();
        store.close().await.unwrap();
    }
}

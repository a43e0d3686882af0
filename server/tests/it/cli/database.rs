use std::fs;

use sea_orm::ConnectionTrait;
use serde_json::Value;

use crate::support::{Command, TestDatabase, on_both};

on_both!(a_schema_that_is_newer_stops_the_server, a_migrated_database_needs_nothing);

async fn a_schema_that_is_newer_stops_the_server(database: TestDatabase) {
    let insert = "INSERT INTO seaql_migrations (version, applied_at) VALUES ('m9999_later', 0)";
    let transaction = database.store.begin().await.unwrap();
    transaction.execute_unprepared(insert).await.unwrap();
    database.store.commit(transaction).await.unwrap();
    for args in [&["serve", "--listen", "127.0.0.1:0"][..], &["migrate"], &["user", "list"]] {
        let line = Command::new(args).on(&database).run().refused(1);
        assert!(line.contains("'m9999_later'") && line.contains("run the newer version"), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
}

async fn a_migrated_database_needs_nothing(database: TestDatabase) {
    let said = Command::new(&["migrate"]).on(&database).run().done();
    assert!(said.starts_with("the schema is up to date"), "{said}");
    let status = Command::new(&["migrate", "--status", "--json"]).on(&database).run().done();
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["pending"], serde_json::json!([]));
}

#[test]
fn a_new_database_is_migrated_when_asked() {
    let command = Command::new(&["migrate", "--status"]);
    let (mut status, folder) = command.into_inner();
    let said = String::from_utf8(status.output().unwrap().stdout).unwrap();
    assert!(said.lines().all(|line| line.starts_with("pending m")), "{said}");
    assert!(said.lines().count() >= 4, "{said}");
    let data = folder.path().join("data");
    assert!(!data.exists(), "a look makes no database");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("carillon.db"), "").unwrap();
    let refused = Command::new(&["user", "list"])
        .env(
            "CARILLON_DATABASE__URL",
            &format!("sqlite:{}/data/carillon.db", folder.path().display()),
        )
        .env("CARILLON_DATABASE__MIGRATE", "false")
        .run()
        .refused(1);
    assert!(refused.contains("run 'carillon migrate'"), "{refused}");
    let (mut migrate, _) = Command::new(&["migrate"]).into_inner();
    let said = migrate.current_dir(folder.path()).output().unwrap();
    assert!(said.status.success(), "{said:?}");
    assert!(said.stderr.starts_with(b"applying "), "{said:?}");
}

#[test]
fn a_database_that_does_not_answer_is_named_without_its_password() {
    let url = "postgres://ada:s3cret@127.0.0.1:1/carillon";
    let line = Command::new(&["serve", "--listen", "127.0.0.1:0", "--database-url", url]).run();
    let line = line.refused(1);
    assert!(line.contains("postgres://ada:***@127.0.0.1:1/carillon"), "{line}");
    assert!(line.contains("database.url"), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
}

#[test]
fn an_address_that_is_no_database_is_refused() {
    let line = Command::new(&["serve", "--listen", "127.0.0.1:0", "--database-url", "data.db"]);
    let line = line.run().refused(1);
    assert!(line.contains("'data.db'") && line.contains("--database-url"), "{line}");
}

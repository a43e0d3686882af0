//! Whether this version could go on with a database, before anything is changed in it.

use std::fs;

use sea_orm::ConnectionTrait;
use serde_json::{Value, json};

use super::desk::Desk;
use crate::support::{Command, Finished, TestDatabase, on_both};

on_both!(a_database_that_can_be_upgraded_is_read_and_one_that_cannot_is_told);

const MODULE: &str = "module: reports
schedules:
  nightly: { when: '0 3 * * *', task: { target: { noop: {} } } }
  hourly: { when: '@hourly', task: { target: { noop: {} } } }
";

fn check(database: &TestDatabase) -> Finished {
    Command::new(&["upgrade", "--check", "--json"]).on(database).run()
}

fn report(finished: &Finished) -> Value {
    serde_json::from_str(&finished.out).unwrap_or_else(|_| panic!("{finished:?}"))
}

async fn a_database_that_can_be_upgraded_is_read_and_one_that_cannot_is_told(
    database: TestDatabase,
) {
    let run = async |sql: &str| {
        let tx = database.store.begin().await.unwrap();
        tx.execute_unprepared(sql).await.unwrap();
        database.store.commit(tx).await.unwrap();
    };
    let desk = Desk::open(&database, MODULE);
    assert_eq!(desk.server.stop(), 0);
    let well = check(&database);
    let found = report(&well);
    assert_eq!((well.code, &found["problems"]), (0, &json!(0)), "{found:#}");
    assert_eq!((&found["schedules"], &found["workflows"]), (&json!(2), &json!(2)), "{found:#}");
    assert_eq!((&found["pending"], &found["nodes"]), (&json!([]), &json!([])));

    // What another version has left behind.
    run("UPDATE node SET state = 'alive', version = '0.0.9'").await;
    run("UPDATE schedule SET zone = 'Mars/Base' WHERE name = 'nightly'").await;
    let told = check(&database);
    let found = report(&told);
    assert_eq!((told.code, &found["problems"]), (1, &json!(1)), "{found:#}");
    let named = found["named"][0].as_str().unwrap();
    assert!(named.starts_with("schedule default/nightly: ") && named.contains("Mars/Base"));
    assert_eq!(found["nodes"][0]["version"], "0.0.9");
    // Without --json, for people.
    let said = Command::new(&["upgrade", "--check"]).on(&database).run();
    assert_eq!(said.code, 1);
    assert!(said.out.contains("cannot go on: schedule default/nightly"), "{said:?}");
    assert!(said.out.contains("runs 0.0.9: replace it as well"), "{said:?}");

    // A database of a later version is not read at all.
    run("INSERT INTO seaql_migrations (version, applied_at) VALUES ('m9999_later', 0)").await;
    let later = Command::new(&["upgrade", "--check"]).on(&database).run().refused(1);
    assert!(later.contains("m9999_later"), "{later}");
}

#[test]
fn where_there_is_no_database_none_is_made() {
    let (mut command, folder) = Command::new(&["upgrade", "--check"]).into_inner();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("nothing to upgrade"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was made");
}

#[test]
fn it_only_checks() {
    assert_eq!(Command::new(&["upgrade"]).run().code, 2);
}

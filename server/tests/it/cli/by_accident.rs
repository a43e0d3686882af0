//! No command creates a database by accident, and a new one says how to sign in.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use sea_orm::{ConnectionTrait, DbBackend};

use crate::support::{Command, TestDatabase, on_both};

on_both!(a_database_is_made_only_if_that_is_asked_for);

/// Removes all tables, as if the database had never been migrated.
async fn emptied(database: &TestDatabase) {
    let read = database.store.read();
    if read.get_database_backend() == DbBackend::Postgres {
        let tx = database.store.begin().await.unwrap();
        tx.execute_unprepared("DROP SCHEMA public CASCADE").await.unwrap();
        tx.execute_unprepared("CREATE SCHEMA public").await.unwrap();
        database.store.commit(tx).await.unwrap();
        return;
    }
    let path = database.url.trim_start_matches("sqlite:").split('?').next().unwrap();
    std::fs::remove_file(path).unwrap();
}

async fn a_database_is_made_only_if_that_is_asked_for(database: TestDatabase) {
    emptied(&database).await;
    for args in [
        &["token", "create", "ci", "--role", "viewer"][..],
        &["user", "list"],
        &["audit"],
        &["secret", "list"],
        &["namespace", "list"],
        &["member", "list"],
        &["retention"],
    ] {
        let refused = Command::new(args).on(&database).run().refused(1);
        assert!(refused.starts_with("there is no database at '"), "{args:?}: {refused}");
        assert!(refused.contains("(CARILLON_DATABASE__URL)"), "{refused}");
        assert!(refused.contains("or --init to create it"), "{refused}");
    }
    let create = ["token", "create", "ci", "--role", "viewer", "--init"];
    assert!(Command::new(&create).on(&database).run().done().starts_with("car_"));
    Command::new(&["token", "list"]).on(&database).run().done();
}

#[test]
fn a_database_that_nothing_names_is_named_in_the_refusal() {
    let (mut create, folder) =
        Command::new(&["token", "create", "ci", "--role", "viewer"]).into_inner();
    let refused = String::from_utf8(create.output().unwrap().stderr).unwrap();
    let expected = "error: there is no database at 'data/carillon.db' (the default: nothing names \
                    another): give --config";
    assert!(refused.starts_with(expected), "{refused}");
    assert!(!folder.path().join("data").exists());
    let configured = Command::new(&["user", "list"])
        .file("carillon.toml", "[database]\nurl = \"sqlite:there.db\"");
    let refused = configured.run().refused(1);
    assert!(refused.contains("'there.db' (the configuration file)"), "{refused}");
}

#[test]
fn a_server_without_users_says_how_the_first_gets_in() {
    let serve = |flags: &[&str]| {
        let args = [&["serve", "--listen", "127.0.0.1:0"][..], flags].concat();
        let (mut command, _folder) = Command::new(&args).into_inner();
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let said: Vec<String> =
            lines.take_while(|line| !line.starts_with("Carillon is ready")).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        said.join("\n")
    };
    let said = serve(&[]);
    assert!(said.contains("carillon user add NAME --role admin"), "{said}");
    assert!(said.contains("--init-admin"), "{said}");
    let said = serve(&["--init-admin"]);
    assert!(said.starts_with("User 'admin' with the password") && !said.contains("no user yet"));
}

//! The doctor in broken environments.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt};

use sea_orm::ConnectionTrait;
use serde_json::Value;

use crate::{
    settings::repository,
    support::{Command, Server, TestDatabase, on_both},
};

/// The doctor's findings, and its exit code.
pub(super) fn examined(command: Command) -> (Value, i32) {
    let finished = command.run();
    let found = serde_json::from_str(&finished.out).unwrap_or_else(|_| panic!("{finished:?}"));
    (found, finished.code)
}

pub(super) fn doctor(more: &[&str]) -> Command {
    Command::new(&[&["doctor", "--json", "--listen", "127.0.0.1:0"], more].concat())
}

/// The level of a check, and its text.
fn check(found: &Value, name: &str) -> (String, String) {
    let checks = found["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["check"] == name);
    let check = check.unwrap_or_else(|| panic!("no check '{name}': {found:#}"));
    let level = check["level"].as_str().unwrap();
    // Every finding says what to do.
    assert_eq!(check["help"].is_null(), level == "ok", "{check}");
    (level.to_owned(), check["found"].as_str().unwrap().to_owned())
}

pub(super) fn assert_check(found: &Value, name: &str, level: &str, part: &str) {
    let (is, says) = check(found, name);
    assert!(is == level && says.contains(part), "{name} is {is}: {says}");
}

on_both!(a_server_that_runs_is_found_well, a_schema_of_another_version_is_reported);

async fn a_server_that_runs_is_found_well(database: TestDatabase) {
    let server = Server::start_with(&database, &["--init-admin"]);
    let listen = server.url.trim_start_matches("http://");
    let command = Command::new(&["doctor", "--json", "--listen", listen]).on(&database);
    let (found, code) = examined(command);
    assert_eq!((code, &found["errors"]), (0, &0.into()), "{found:#}");
    assert_check(&found, "port", "ok", "Carillon");
    for name in ["configuration", "zone data", "database", "writing", "schema", "people", "roles"] {
        assert_eq!(check(&found, name).0, "ok", "{found:#}");
    }
    if database.store.dialect().is_postgres() {
        assert_check(&found, "clock", "ok", "of the database's");
        // The test's PostgreSQL may lose committed data, which the doctor notices.
        assert_check(&found, "durability", "warning", "fsync = off");
    } else {
        assert_eq!(check(&found, "disk").0, "ok");
    }
    // For people, the doctor prints a line for each check, and below it what to do.
    let said = Command::new(&["doctor", "--listen", listen]).on(&database).run().done();
    assert!(said.lines().any(|line| line.starts_with("ok       schema")), "{said}");
}

async fn a_schema_of_another_version_is_reported(database: TestDatabase) {
    let run = |sql: &'static str| {
        let store = database.store.clone();
        async move {
            let transaction = store.begin().await.unwrap();
            transaction.execute_unprepared(sql).await.unwrap();
            store.commit(transaction).await.unwrap();
        }
    };
    run("INSERT INTO seaql_migrations (version, applied_at) VALUES ('m9999_later', 0)").await;
    let (found, code) = examined(doctor(&[]).on(&database));
    assert_eq!(code, 1);
    assert_check(&found, "schema", "error", "m9999_later");
    run("DELETE FROM seaql_migrations WHERE version = 'm9999_later'").await;
    run("DELETE FROM seaql_migrations WHERE version LIKE 'm0008%'").await;
    let (found, code) = examined(doctor(&[]).on(&database));
    assert_eq!(code, 0, "{found:#}");
    assert_check(&found, "schema", "warning", "migrations are pending");
    let (found, code) =
        examined(doctor(&[]).on(&database).env("CARILLON_DATABASE__MIGRATE", "false"));
    assert_eq!(code, 1);
    assert_check(&found, "schema", "error", "database.migrate is false");
}

#[test]
fn a_new_world_is_well_and_stays_untouched() {
    let (mut command, folder) = doctor(&[]).into_inner();
    let output = command.output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success(), "{found:#}");
    assert_check(&found, "database", "ok", "does not exist yet");
    assert_check(&found, "data folder", "ok", "can be written");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was created");
}

#[test]
fn the_configuration_behind_a_proxy_is_good() {
    let page = repository("docs/how-to/proxy-with-tls.md");
    let (_, text) = page.split_once("```toml\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    assert!(text.contains("trusted_proxies"), "{text}");
    let (found, code) = examined(doctor(&[]).file("carillon.toml", text));
    assert_eq!(code, 0, "{found:#}");
    assert_check(&found, "configuration", "ok", "");
}

#[test]
fn a_configuration_that_cannot_be_used_is_named() {
    for (text, part) in [
        ("listn = \"127.0.0.1:8080\"", "listn: no such setting"),
        ("[engine]\nlost_after = \"soon\"", "engine.lost_after"),
        ("[node]\nroles = [\"api\"]", "leaves no process to claim what is due"),
    ] {
        let command = Command::new(&["doctor", "--json"]).file("carillon.toml", text);
        let (found, code) = examined(command);
        assert_eq!(code, 1);
        assert_check(&found, "configuration", "error", part);
    }
}

#[tokio::test]
async fn a_port_a_file_and_a_right_that_are_not_to_be_had_are_named() {
    let database = TestDatabase::sqlite().await;
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    // The port belongs to a process that never answers, so it is not a Carillon server.
    let listen = other.local_addr().unwrap().to_string();
    let file = database.url.trim_start_matches("sqlite:").to_owned();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let folder = std::path::Path::new(&file).parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    let text = "[cluster]\nredis_url = \"redis://:s3cret@127.0.0.1:1\"";
    let command = Command::new(&["doctor", "--json", "--listen", &listen])
        .env("CARILLON_DATABASE__URL", &format!("{}?mode=ro", database.url))
        .file("carillon.toml", text);
    let finished = command.run();
    assert!(!finished.out.contains("s3cret") && !finished.err.contains("s3cret"), "{finished:?}");
    let found: Value = serde_json::from_str(&finished.out).unwrap();
    assert_eq!(finished.code, 1);
    assert_check(&found, "port", "error", "taken by another program");
    assert_check(&found, "writing", "error", "readonly");
    assert_check(&found, "permissions", "warning", "may read");
    assert_check(&found, "people", "warning", "no user yet");
    let checks = found["checks"].as_array().unwrap();
    let password = checks
        .iter()
        .find(|check| check["check"] == "configuration" && check["level"] == "warning");
    assert!(password.unwrap()["found"].as_str().unwrap().contains("has a password"), "{found:#}");
    assert!(finished.err.contains("checks found an error"), "{finished:?}");
    let (found, code) = examined(
        doctor(&["--database-url", "sqlite:carillon.toml/x.db"]).file("carillon.toml", ""),
    );
    assert_eq!(code, 1);
    assert_check(&found, "data folder", "error", "is not a folder");
}

#[tokio::test]
async fn servers_that_do_not_answer_and_roles_that_nobody_has_are_named() {
    let url = "postgres://ada:s3cret@127.0.0.1:1/carillon";
    let (found, code) = examined(doctor(&["--database-url", url]));
    assert_eq!(code, 1);
    assert_check(&found, "database", "error", "postgres://ada:***@127.0.0.1:1/carillon");
    let database = TestDatabase::postgres().await;
    let (found, code) = examined(
        doctor(&["--roles", "api", "--otlp-endpoint", "http://127.0.0.1:1"])
            .on(&database)
            .env("CARILLON_CLUSTER__BACKEND", "redis")
            .env("CARILLON_CLUSTER__REDIS_URL", "redis://:s3cret@127.0.0.1:1"),
    );
    assert_eq!(code, 1);
    assert_check(&found, "Redis", "error", "127.0.0.1:1");
    assert_check(&found, "roles", "warning", "scheduler, worker");
    assert_check(&found, "collector", "warning", "cannot be reached");
    assert!(!found.to_string().contains("s3cret"), "{found:#}");
}

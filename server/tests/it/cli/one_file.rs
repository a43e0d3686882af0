//! A SQLite database is one file, used by one server.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    time::Duration,
};

use carillon::clock::Clock;
use serde_json::Value;

use crate::support::{Command, Server, TestDatabase};

fn path(database: &TestDatabase) -> &Path {
    Path::new(database.url.trim_start_matches("sqlite:").split('?').next().unwrap())
}

#[tokio::test]
async fn a_second_server_on_the_same_file_is_refused() {
    let database = TestDatabase::sqlite().await;
    let serve = ["serve", "--listen", "127.0.0.1:0", "--node-name", "second"];
    let server = Server::start(&database);
    let line = Command::new(&serve).on(&database).run().refused(1);
    assert!(line.contains("another server (process ") && line.contains("PostgreSQL"), "{line}");
    // Other commands may run beside the server.
    Command::new(&["user", "list"]).on(&database).run().done();
    Command::new(&["migrate"]).on(&database).run().done();
    // A killed server leaves nothing behind that blocks the next.
    drop(server);
    assert_eq!(Server::start(&database).stop(), 0);
}

#[tokio::test]
async fn a_second_server_by_another_path_is_refused() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    let file = path(&database);
    let (folder, name) = (file.parent().unwrap(), file.file_name().unwrap());
    let beside = tempfile::tempdir().unwrap();
    let (to_file, to_folder) = (beside.path().join("link.db"), beside.path().join("link"));
    std::os::unix::fs::symlink(file, &to_file).unwrap();
    std::os::unix::fs::symlink(folder, &to_folder).unwrap();
    let dotted = folder.join("..").join(folder.file_name().unwrap()).join(name);
    for other in [to_file, to_folder.join(name), dotted] {
        let url = database.url.replace(file.to_str().unwrap(), other.to_str().unwrap());
        let serve = ["serve", "--listen", "127.0.0.1:0", "--node-name", "second"];
        let line = Command::new(&serve).env("CARILLON_DATABASE__URL", &url).run().refused(1);
        assert!(line.contains("another server (process "), "{line}");
    }
    drop(server);
}

#[tokio::test]
async fn a_file_that_others_may_read_is_told_at_the_start() {
    let database = TestDatabase::sqlite().await;
    let said = "other users of this machine may open the database file";
    let file = path(&database);
    fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
    let server = Server::start(&database);
    let log = server.logged(said).await;
    assert!(log.contains("644") && log.contains("chmod o="), "{log}");
    assert_eq!(server.stop(), 0);

    fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
    let server = Server::start(&database);
    let log = server.logged("listening").await;
    assert!(!log.contains(said), "{log}");
    assert_eq!(server.stop(), 0);
}

#[tokio::test]
async fn a_configuration_with_a_secret_that_others_may_read_is_told_at_the_start() {
    let database = TestDatabase::sqlite().await;
    let said = "the configuration file is open to other users";
    let key = "ab".repeat(32);
    let server = Server::start_configured(&database, &format!("secrets.key = \"{key}\""));
    let log = server.logged("listening").await;
    assert!(log.contains(said) && log.contains("secrets.key"), "{log}");
    assert!(log.contains("chmod o=") && !log.contains(&key), "{log}");
    assert_eq!(server.stop(), 0);

    let server = Server::start_configured(&database, "health.missed = 7");
    let log = server.logged("listening").await;
    assert!(!log.contains(said), "{log}");
    assert_eq!(server.stop(), 0);
}

#[tokio::test]
async fn a_file_that_is_moved_under_the_server_is_told_until_it_is_back() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    let said = "was moved, removed or replaced while this server runs";
    let clock = Clock::system();
    let health = async |well: bool| {
        loop {
            let answer = server.get("/healthz").send().await.unwrap();
            let is_well = answer.status().is_success();
            let answer: Value = answer.json().await.unwrap();
            if is_well == well {
                return answer.to_string();
            }
            clock.sleep(Duration::from_millis(50)).await;
        }
    };
    health(true).await;
    let moved = path(&database).with_extension("moved");
    fs::rename(path(&database), &moved).unwrap();
    assert!(health(false).await.contains(said));
    let log = server.logged(said).await;
    assert_eq!(log.matches(said).count(), 1, "{log}");
    fs::rename(&moved, path(&database)).unwrap();
    health(true).await;
    server.logged("the database accepts writes again").await;
    assert_eq!(server.stop(), 0);
}

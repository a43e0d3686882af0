//! A SQLite database is one file, used by one server.

use std::path::Path;

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
    // Programs beside the server are not servers.
    Command::new(&["user", "list"]).on(&database).run().done();
    Command::new(&["migrate"]).on(&database).run().done();
    // A killed server leaves nothing behind that blocks the next.
    drop(server);
    assert_eq!(Server::start(&database).stop(), 0);
}

#[tokio::test]
async fn a_file_that_is_moved_under_the_server_is_told_until_it_is_back() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    let said = "was moved, removed or replaced while this server runs";
    let health = async |well: bool| {
        loop {
            let answer = server.get("/healthz").send().await.unwrap();
            let is_well = answer.status().is_success();
            let answer: Value = answer.json().await.unwrap();
            if is_well == well {
                return answer.to_string();
            }
            tokio::task::yield_now().await;
        }
    };
    health(true).await;
    let moved = path(&database).with_extension("moved");
    std::fs::rename(path(&database), &moved).unwrap();
    assert!(health(false).await.contains(said));
    let log = server.logged(said).await;
    assert_eq!(log.matches(said).count(), 1, "{log}");
    std::fs::rename(&moved, path(&database)).unwrap();
    health(true).await;
    server.logged("what is written is kept again").await;
    assert_eq!(server.stop(), 0);
}

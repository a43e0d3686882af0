use std::{os::unix::net::UnixDatagram, time::Duration};

use crate::support::{Command, Server, TestDatabase, on_both};

on_both!(a_server_that_is_asked_to_stop_ends_well);

async fn a_server_that_is_asked_to_stop_ends_well(database: TestDatabase) {
    let server = Server::start(&database);
    assert_eq!(server.stop(), 0);
    assert_eq!(Server::start(&database).stop(), 0);
}

#[tokio::test]
async fn systemd_is_told_when_the_server_is_ready() {
    let database = TestDatabase::sqlite().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let server = Server::start_under(&database, &[], "NOTIFY_SOCKET", path.to_str().unwrap());
    let mut message = [0; 16];
    let length = socket.recv(&mut message).unwrap();
    assert_eq!(&message[..length], b"READY=1");
    assert_eq!(server.stop(), 0);
}

#[tokio::test]
async fn a_port_in_use_stops_a_second_server_before_it_takes_the_first_ones_place() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    let listen = server.url.trim_start_matches("http://");
    let line = Command::new(&["serve", "--listen", listen]).on(&database).run().refused(1);
    assert!(line.starts_with(&format!("failed to listen on {listen}: ")), "{line}");
    assert!(line.contains("--listen"), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(server.get("/healthz").send().await.unwrap().status().is_success());
}

#[tokio::test]
async fn the_first_administrator_is_made_once() {
    let database = TestDatabase::sqlite().await;
    let first = Server::start_with(&database, &["--init-admin"]);
    drop(first);
    drop(Server::start_with(&database, &["--init-admin"]));
    let users = Command::new(&["user", "list", "--json"]).on(&database).run().done();
    assert_eq!(users.matches("\"admin\"").count(), 2, "one user of that name and role: {users}");
}

#[tokio::test]
async fn a_collector_that_is_away_holds_nothing_up() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start_with(&database, &["--otlp-endpoint", "http://127.0.0.1:1"]);
    assert!(server.get("/healthz").send().await.unwrap().status().is_success());
    assert_eq!(server.stop(), 0);
}

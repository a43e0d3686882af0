use std::io::{Read, Write};

use super::{answer, connect, status};
use crate::support::{Command, Server, TestDatabase};

/// The size that a client tries to send.
const GIGABYTE: usize = 1 << 30;
/// Bytes that may be in transit before one side notices.
const ON_ITS_WAY: usize = 48 << 20;

/// Sends a body until the server stops reading; returns the answer and the number of bytes sent.
fn pour(server: &Server, path: &str, length: &str, piece: &[u8]) -> (String, usize) {
    let mut stream = connect(server);
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut sent = 0;
    while sent < GIGABYTE && stream.write_all(piece).is_ok() {
        sent += piece.len();
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    (String::from_utf8_lossy(&answer).into_owned(), sent)
}

#[tokio::test]
async fn a_body_of_a_gigabyte_is_cut_off() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    let plain = vec![b'x'; 64 << 10];
    let mut chunk = b"10000\r\n".to_vec();
    chunk.extend(&plain);
    chunk.extend(b"\r\n");
    for path in ["/graphql", "/auth/login", "/auth/logout", "/nothing"] {
        for (length, piece) in [
            (format!("Content-Length: {GIGABYTE}"), &plain),
            ("Transfer-Encoding: chunked".to_owned(), &chunk),
        ] {
            let (answer, sent) = pour(&server, path, &length, piece);
            assert!(sent < ON_ITS_WAY, "{path}: {sent} bytes were taken");
            // The server may cut off a client that is still sending before the client can read the
            // refusal.
            assert!(answer.is_empty() || status(&answer) != 200, "{path}: {answer}");
        }
    }
    // The client sends the head of a request, and never ends it.
    let mut stream = connect(&server);
    let begun = stream.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n");
    begun.unwrap();
    let line = [b"X: ".as_slice(), &plain, b"\r\n"].concat();
    let mut sent = 0;
    while sent < GIGABYTE && stream.write_all(&line).is_ok() {
        sent += line.len();
    }
    assert!(sent < ON_ITS_WAY, "{sent} bytes of a head were taken");
    assert!(server.get("/livez").send().await.unwrap().status().is_success());
}

#[tokio::test]
async fn an_announced_gigabyte_is_refused_before_it_is_sent() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "ci", "--role", "admin"];
    let token = Command::new(&create).on(&database).run().done();
    let server = Server::start(&database);
    let known = format!("Authorization: Bearer {}\r\n", token.trim());
    let announce = |path: &str, more: &str, bytes: usize| {
        let head = "Host: x\r\nContent-Type: application/json\r\nConnection: close";
        let length = format!("Content-Length: {bytes}");
        answer(&server, &format!("POST {path} HTTP/1.1\r\n{head}\r\n{length}\r\n{more}\r\n"))
    };
    // No body follows this head. A server that waited for one would give up after half a minute,
    // with another answer.
    let waits = "Expect: 100-continue\r\n";
    for (path, more, bytes, refused) in [
        ("/graphql", known.as_str(), GIGABYTE, 413),
        ("/graphql", "", GIGABYTE, 401),
        ("/auth/login", "", GIGABYTE, 413),
        ("/auth/logout", "", GIGABYTE, 413),
        // A client that asks before sending (`100-continue`) is refused even if its body is only a
        // little too large.
        ("/graphql", waits, 100_000, 401),
        ("/auth/login", waits, 5_000, 413),
        ("/nothing", "", GIGABYTE, 405),
    ] {
        let answer = announce(path, more, bytes);
        assert_eq!(status(&answer), refused, "{path} {more}: {answer}");
        let told = if path == "/graphql" { "{\"errors\":[{" } else { "{\"error\":\"" };
        assert!(answer.contains(told), "{path}: {answer}");
    }
}

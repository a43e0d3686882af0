//! Attacks by unauthenticated callers, and by editors of another namespace. Tests of fields and
//! routes without a session, foreign namespaces, sessions, other sites, endless queries and
//! forbidden addresses are beside the code that they attack.
//!
//! - `paths`: protected routes under other names
//! - `bodies`: bodies that are too large
//! - `slow`: connections that are held and not used
//! - `edge`: connections by the hundred, other protocols, lines in the log
//! - `sockets`: WebSockets that are opened and not used
//! - `saving`: definitions that take long to judge, saved over and over
//! - `injection`: text that looks like SQL, patterns, headers, or unknown fields

mod bodies;
mod edge;
mod injection;
mod paths;
mod saving;
mod slow;
mod sockets;

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use crate::support::Server;

/// A raw connection to a server, without a client that would correct what is sent.
fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// The answer to these bytes.
fn answer(server: &Server, request: &str) -> String {
    let mut stream = connect(server);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // A refused client is cut off, possibly before everything was read.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> u16 {
    let code = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    code.and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("no answer: {answer:?}"))
}

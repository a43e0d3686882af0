//! What strangers try, and what they get. Fields and routes without a session, foreign namespaces,
//! sessions, other sites, queries without end and addresses that must not be reached have their
//! tests beside what they attack.
//!
//! - `paths`: protected routes under other names
//! - `bodies`: more than anybody needs
//! - `slow`: connections that are held and not used
//! - `edge`: connections by the hundred, other protocols, lines in the log
//! - `sockets`: WebSockets that are opened and not used
//! - `injection`: words that would like to be SQL, patterns, headers, or fields that are nobody's

mod bodies;
mod edge;
mod injection;
mod paths;
mod slow;
mod sockets;

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use crate::support::Server;

/// A connection to a server, without a client that would mend what is sent.
fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// What is answered to these bytes.
fn answer(server: &Server, request: &str) -> String {
    let mut stream = connect(server);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // Whoever is refused is cut off, which may come before the last of it was read.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> u16 {
    let code = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    code.and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("no answer: {answer:?}"))
}

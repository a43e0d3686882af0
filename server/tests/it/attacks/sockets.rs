use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::connect;
use crate::support::{Command, Server, Socket, TestDatabase};

const CONFIG: &str = "connections.max = 16\nconnections.per_address = 16\n\
                      connections.sockets_per_address = 12\nconnections.sockets_per_person = 3";

/// A raw socket without a client that would correct what is sent.
fn open_raw(server: &Server) -> TcpStream {
    open_raw_with(server, &[])
}

/// A raw socket whose client sends more bytes along with the request.
fn open_raw_with(server: &Server, along: &[u8]) -> TcpStream {
    let mut stream = connect(server);
    let head = "GET /graphql/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: Y2FyaWxsb24gdGVzdCBrZQ==\r\n\
                Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n";
    stream.write_all(&[head.as_bytes(), along].concat()).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
    stream
}

/// A masked text frame that announces `length` bytes and contains `sent` of them.
fn frame(length: u64, sent: usize) -> Vec<u8> {
    let mut frame = vec![0x81, 0xff];
    frame.extend(length.to_be_bytes());
    frame.extend([0; 4]);
    frame.extend(std::iter::repeat_n(b' ', sent));
    frame
}

/// A masked text frame whose message opens a socket, padded to `length` bytes.
fn init(length: usize) -> Vec<u8> {
    let bare = json!({ "type": "connection_init", "payload": { "x": "" } }).to_string();
    let fill = " ".repeat(length - bare.len());
    text(&json!({ "type": "connection_init", "payload": { "x": fill } }))
}

/// A masked text frame with a message.
fn text(message: &Value) -> Vec<u8> {
    let text = message.to_string();
    let mut frame = vec![0x81, 0xff];
    frame.extend((text.len() as u64).to_be_bytes());
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    frame
}

/// The code and the reason of the close frame that ends an answer.
fn close_frame(answer: &[u8]) -> (u16, String) {
    let at = answer.iter().rposition(|byte| *byte == 0x88);
    let [length, high, low, reason @ ..] = &answer[at.expect("a close frame") + 1..] else {
        panic!("a close frame without a code: {answer:?}");
    };
    assert_eq!(usize::from(*length), reason.len() + 2, "{answer:?}");
    (u16::from_be_bytes([*high, *low]), String::from_utf8(reason.to_vec()).unwrap())
}

/// Everything answered until the server closes the socket.
fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    // The connection may end with a reset.
    let _ = stream.read_to_end(&mut rest);
    rest
}

#[tokio::test]
async fn a_socket_keeps_its_place_until_it_ends() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start_configured(&database, CONFIG);
    // The sockets of one address have reached their limit.
    let mut sockets: Vec<_> = (0..12).map(|_| open_raw(&server)).collect();
    let refused = Socket::request(&server, "/graphql/ws").send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let text = refused.text().await.unwrap();
    assert!(text.contains("connections.sockets_per_address"), "{text}");
    // A socket also holds a place for a connection: a few more connections take the last places.
    let ask = async || {
        let http = reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap();
        http.get(format!("{}/auth/methods", server.url)).send().await.unwrap().status()
    };
    let idle: Vec<_> = (0..4).map(|_| connect(&server)).collect();
    let mut last = ask().await;
    while last == StatusCode::OK {
        // The client that was refused above may still hold one of the places.
        sockets.extend(sockets.len().lt(&16).then(|| connect(&server)));
        last = ask().await;
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    for probe in ["/livez", "/readyz", "/healthz", "/metrics"] {
        assert_eq!(server.get(probe).send().await.unwrap().status(), StatusCode::OK, "{probe}");
    }
    let told = server.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(told.lines().any(|line| line == "carillon_connections 16"), "{told}");
    drop((idle, sockets));
    while ask().await != StatusCode::OK {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_person_has_so_many_sockets() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "ci", "--role", "viewer"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let server = Server::start_configured(&database, CONFIG);
    let mut sockets = Vec::new();
    for _ in 0..3 {
        let mut socket = Socket::open(Socket::request(&server, "/graphql/ws")).await;
        let answer = socket.init(json!({ "token": token })).await.unwrap();
        assert_eq!(answer["type"], "connection_ack");
        sockets.push(socket);
    }
    let admitted = async || {
        let mut socket = Socket::open(Socket::request(&server, "/graphql/ws")).await;
        let answer = socket.init(json!({ "token": token })).await;
        answer.is_some_and(|answer| answer["type"] == "connection_ack")
    };
    assert!(!admitted().await);
    sockets.pop();
    while !admitted().await {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_socket_without_a_sign_in_is_closed() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    let mut stranger = Socket::open(Socket::request(&server, "/graphql/ws")).await;
    let answer = stranger.init(Value::Null).await.unwrap();
    assert_eq!(answer["type"], "connection_ack");
    let mut silent = Socket::open(Socket::request(&server, "/graphql/ws")).await;
    assert_eq!(stranger.closed().await, Some(4401));
    assert_eq!(silent.closed().await, Some(4408));
}

#[tokio::test]
async fn a_stranger_sends_little_over_a_socket() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "ci", "--role", "viewer"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let server = Server::start(&database);
    // The message is unfinished or complete, in one frame or in several.
    for sent in [10_000, 60_000] {
        let mut stream = open_raw(&server);
        stream.write_all(&frame(60_000, sent)).unwrap();
        let answer = rest(stream);
        assert!(!String::from_utf8_lossy(&answer).contains("connection_ack"));
        // Clients retry forever after a close frame without a code.
        assert_eq!(close_frame(&answer), (1009, "more than 4096 bytes before signing in".into()));
    }
    let mut stream = open_raw(&server);
    let init = json!({ "type": "connection_init", "payload": { "x": " ".repeat(1_000) } });
    let init = init.to_string();
    let mut small = vec![0x81, 0xfe];
    small.extend(u16::try_from(init.len()).unwrap().to_be_bytes());
    small.extend([0; 4]);
    small.extend(init.as_bytes());
    for _ in 0..20 {
        // The socket may already be closed.
        let _ = stream.write_all(&small);
    }
    rest(stream);
    // After signing in, a client may send as large a document as by POST.
    let mut socket = Socket::open(Socket::request(&server, "/graphql/ws")).await;
    socket.init(json!({ "token": token })).await.unwrap();
    let query = format!("{{ me {{ name }} }} # {}", " ".repeat(50_000));
    let answer = socket.ask(&query).await;
    assert_eq!(answer["data"]["me"]["name"], "token/ci", "{answer}");
}

#[tokio::test]
async fn what_comes_along_with_the_request_counts_as_well() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    for length in [5_000, 10_000] {
        let answer = rest(open_raw_with(&server, &init(length)));
        assert!(!String::from_utf8_lossy(&answer).contains("connection_ack"), "{length}");
        assert_eq!(close_frame(&answer).0, 1009, "{length}");
    }
    let mut stream = open_raw_with(&server, &init(3_000));
    let mut answer = [0; 25];
    stream.read_exact(&mut answer).unwrap();
    assert!(String::from_utf8_lossy(&answer).contains("connection_ack"), "{answer:?}");
}

#[tokio::test]
async fn too_large_a_message_ends_a_socket_with_a_code() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "ci", "--role", "viewer"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let server = Server::start(&database);
    let mut stream = open_raw(&server);
    let init = json!({ "type": "connection_init", "payload": { "token": token } });
    stream.write_all(&text(&init)).unwrap();
    let mut ack = [0; 25];
    stream.read_exact(&mut ack).unwrap();
    stream.write_all(&frame(1_100_000, 100)).unwrap();
    let (code, reason) = close_frame(&rest(stream));
    assert!(code == 1009 && reason.contains("too long"), "{code} {reason}");
}

/// The memory of the server, in bytes.
pub(super) async fn memory(server: &Server) -> f64 {
    let text = server.get("/metrics").send().await.unwrap().text().await.unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
    line.unwrap_or_else(|| panic!("no memory in {text}")).parse().unwrap()
}

#[tokio::test]
async fn unfinished_messages_of_strangers_hold_no_memory() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    drop(open_raw(&server));
    let before = memory(&server).await;
    let held: Vec<_> = (0..80)
        .map(|_| {
            let mut stream = open_raw(&server);
            stream.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
            // The client announces a megabyte, and sends as much of it as is permitted.
            stream.write_all(&frame(1_000_000, 4_000)).unwrap();
            stream
        })
        .collect();
    let after = memory(&server).await;
    // If the server reserved the announced size, all sockets together would take 136 MB.
    assert!(after - before < 30e6, "{before} to {after}");
    drop(held);
}

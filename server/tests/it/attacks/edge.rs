use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpSocket,
};

use super::{answer, connect, sockets::memory, status};
use crate::support::{Server, TestDatabase};

const GET: &str = "HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn half_sent_requests_of_one_address_keep_nobody_out() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start_configured(&database, "connections.max = 64");
    let held: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = connect(&server);
            stream.write_all(b"GET /liv").unwrap();
            stream
        })
        .collect();
    for probe in ["/livez", "/readyz", "/healthz", "/metrics"] {
        let told = answer(&server, &format!("GET {probe} {GET}"));
        assert_eq!(status(&told), 200, "{probe}: {told}");
    }
    let refused = answer(&server, &format!("GET /auth/methods {GET}"));
    assert_eq!(status(&refused), 429, "{refused}");
    assert!(refused.contains("connections.per_address"), "{refused}");
    // Another address still has free places.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let address: SocketAddr = server.url.trim_start_matches("http://").parse().unwrap();
    let mut other = socket.connect(address).await.unwrap();
    other.write_all(format!("GET /auth/methods {GET}").as_bytes()).await.unwrap();
    let mut told = String::new();
    other.read_to_string(&mut told).await.unwrap();
    assert_eq!(status(&told), 200, "{told}");
    drop(held);
}

#[tokio::test]
async fn unfinished_heads_of_strangers_hold_little_memory() {
    let database = TestDatabase::sqlite().await;
    let limits = "connections.max = 400\nconnections.per_address = 300";
    let server = Server::start_configured(&database, limits);
    let head = format!("GET / HTTP/1.1\r\nHost: x\r\nX: {}", "x".repeat(300_000));
    let before = memory(&server).await;
    let held: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = connect(&server);
            stream.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
            // A client that sends too much is cut off.
            let _ = stream.write_all(head.as_bytes());
            stream
        })
        .collect();
    let after = memory(&server).await;
    // All heads together have 60 MB.
    assert!(after - before < 30e6, "{before} to {after}");
    drop(held);
}

#[tokio::test]
async fn http_2_without_tls_is_not_spoken() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start_configured(&database, "connections.max = 64");
    // The HTTP/2 preface, and empty settings.
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let mut stream = connect(&server);
    stream.write_all(preface).unwrap();
    let mut told = Vec::new();
    let _ = stream.read_to_end(&mut told);
    assert!(told.is_empty() || told.starts_with(b"HTTP/1.1 "), "{told:?}");
    // Clients that hold an incomplete HTTP/2 preface do not delay a probe either.
    let held: Vec<TcpStream> = (0..540)
        .map(|_| {
            let mut stream = connect(&server);
            stream.write_all(&preface[..8]).unwrap();
            stream
        })
        .collect();
    let told = answer(&server, &format!("GET /livez {GET}"));
    assert_eq!(status(&told), 200, "{told}");
    drop(held);
}

#[tokio::test]
async fn what_is_refused_again_and_again_is_logged_once() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    let origin = format!("http://{}.example", "evil".repeat(1_000));
    for _ in 0..200 {
        let head = "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close";
        let told = answer(&server, &format!("{head}\r\nOrigin: {origin}\r\n\r\n"));
        assert_eq!(status(&told), 403, "{told}");
        assert!(told.len() < 2_000, "{told}");
    }
    let log = server.logged("refused requests").await;
    assert!(log.len() < 8_000, "{} bytes", log.len());
    assert_eq!(log.matches("refused requests").count(), 1, "{log}");
}

#[tokio::test]
async fn an_answer_that_ends_its_connection_says_so() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    // The client announces a body and does not send it; the refusal does not wait for the body.
    let head = "POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                Authorization: Bearer none\r\nContent-Length: 100000\r\n\r\n{";
    let told = answer(&server, head);
    assert_eq!(status(&told), 401, "{told}");
    assert!(told.to_lowercase().contains("\r\nconnection: close\r\n"), "{told}");
}

#[tokio::test]
async fn a_listener_for_probes_answers_nothing_else() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start_configured(&database, "watch.listen = \"127.0.0.1:0\"");
    let log = server.logged("listening for probes").await;
    let line = log.lines().find(|line| line.contains("listening for probes")).unwrap();
    let address = line.split("address=").nth(1).unwrap().split_whitespace().next().unwrap();
    let ask = async |path: &str| {
        let answer = server.http.get(format!("http://{address}{path}")).send().await.unwrap();
        answer.status().as_u16()
    };
    for probe in ["/livez", "/readyz", "/healthz", "/metrics"] {
        assert_eq!(ask(probe).await, 200, "{probe}");
        assert_eq!(server.get(probe).send().await.unwrap().status(), 200, "{probe}");
    }
    for path in ["/", "/graphql", "/auth/methods"] {
        assert_eq!(ask(path).await, 404, "{path}");
    }
    // Connections of probes are counted separately.
    let told = server.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(!told.lines().any(|line| line == "carillon_connections_limit 64"), "{told}");
}

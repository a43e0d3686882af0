use std::time::Duration;

use axum::{Router, routing::get};
use carillon::{
    clock::Clock,
    telemetry::Instruments,
    web::{ConnectionLimits, Front},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::CancellationToken;

const HEAD: Duration = Duration::from_millis(400);
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

/// A server with room for two connections, and its shutdown.
async fn server() -> (std::net::SocketAddr, CancellationToken) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
    let limits = ConnectionLimits { head: HEAD, answer: HEAD, connections: 2, per_address: 2 };
    // More bytes than all buffers between client and server hold.
    let large = get(|| async { vec![b'x'; 64 << 20] });
    let router = Router::new().route("/", get(|| async { "hello" })).route("/large", large);
    let clock = Clock::system();
    let front = Front::new(router, limits, clock.clone(), Instruments::unread(clock));
    tokio::spawn(front.until(CancellationToken::new(), stop.clone()).serve(listener));
    (address, stop)
}

/// Sends requests until the server has room for one.
async fn ask(address: std::net::SocketAddr) -> String {
    loop {
        let answer = ask_once(address).await;
        if answer.starts_with("HTTP/1.1 200") {
            return answer;
        }
        assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    }
}

async fn ask_once(address: std::net::SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Sends one byte of a head after the other, at intervals; returns how many were accepted.
async fn drip(mut stream: TcpStream) -> usize {
    let clock = Clock::system();
    let mut rest = [0; 64];
    for (number, byte) in b"GET / HTTP/1.1\r\nX: ".iter().chain([b'x'; 1_000].iter()).enumerate() {
        if stream.write_all(&[*byte]).await.is_err() {
            return number;
        }
        // A head that never ends is answered by closing the connection.
        if clock.timeout(Duration::from_millis(20), stream.read(&mut rest)).await.is_ok() {
            return number;
        }
    }
    usize::MAX
}

#[tokio::test]
async fn who_sends_nothing_or_a_byte_at_a_time_is_cut_off() {
    let (address, stop) = server().await;
    let mut silent = TcpStream::connect(address).await.unwrap();
    let slow = tokio::spawn(drip(TcpStream::connect(address).await.unwrap()));
    // The server has room for two connections, and these clients hold both: a third client is
    // refused until they are gone.
    let answer = tokio::time::timeout(Duration::from_secs(60), ask(address)).await;
    assert!(answer.unwrap().ends_with("hello"));
    assert_eq!(silent.read(&mut [0]).await.unwrap(), 0);
    assert!(slow.await.unwrap() < 500);
    // Quick clients still get answers, and the server stops when asked to.
    assert!(ask(address).await.ends_with("hello"));
    stop.cancel();
    let gone = async {
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), gone).await.unwrap();
}

#[tokio::test]
async fn who_takes_nothing_of_an_answer_is_cut_off() {
    let (address, stop) = server().await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        held.push(stream);
    }
    // Two clients that do not read their answers hold both places.
    let answer = tokio::time::timeout(Duration::from_secs(60), ask(address)).await;
    assert!(answer.unwrap().ends_with("hello"));
    // The server closed one of these connections to make room. The other may also have used up its
    // time by now.
    let mut least = usize::MAX;
    for mut stream in held {
        let mut taken = Vec::new();
        let _ = stream.read_to_end(&mut taken).await;
        least = least.min(taken.len());
    }
    assert!(least < 64 << 20, "{least} bytes came");
    stop.cancel();
}

use std::time::Duration;

use anyhow::Result;
use carillon::clock::Clock;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{camp::Camp, texts};

/// Number of concurrent callers.
const CALLERS: usize = 4;
/// Number of connections that are held open at once.
const HELD: usize = 650;
/// A request that takes longer is abandoned.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of fields with which the search for the largest document begins.
const LARGEST: usize = 1_024;

/// Several callers save the templates one after the other until the time is over.
pub(super) async fn saves(
    camp: &Camp,
    clock: &Clock,
    time: Duration,
    templates: &[String],
    url: &str,
) -> Result<usize> {
    let query = "mutation($input: CreateScheduleInput!) {
        createSchedule(input: $input) { schedule { id } } }";
    let bodies: Vec<String> = templates
        .iter()
        .enumerate()
        .map(|(number, template)| {
            let input = texts::with_template(number, template, url);
            json!({ "query": query, "variables": { "input": input } }).to_string()
        })
        .collect();
    let start = clock.instant();
    let mut answered = 0;
    while start.elapsed() < time {
        for body in &bodies {
            let asked = (0..CALLERS).map(|_| post(camp, clock, Some(&camp.editor), body));
            let all = futures::future::join_all(asked).await;
            answered += all.iter().filter(|answer| answer.is_ok()).count();
        }
    }
    Ok(answered)
}

/// Several callers send the same body repeatedly until the time is over.
pub(super) async fn asks(
    camp: &Camp,
    clock: &Clock,
    time: Duration,
    token: Option<&str>,
    body: &str,
) -> Result<usize> {
    let start = clock.instant();
    let mut answered = 0;
    while start.elapsed() < time {
        let asked = (0..CALLERS).map(|_| post(camp, clock, token, body));
        let all = futures::future::join_all(asked).await;
        answered += all.iter().filter(|answer| answer.is_ok()).count();
    }
    Ok(answered)
}

/// The largest of these documents that the server serves to the viewer. The size is halved until
/// the server accepts it, because a refused document would measure little.
pub(super) async fn largest(
    camp: &Camp,
    clock: &Clock,
    document: fn(usize) -> String,
) -> Result<String> {
    let mut size = LARGEST;
    while size > 0 {
        let body = json!({ "query": document(size) }).to_string();
        let answer = post(camp, clock, Some(&camp.viewer), &body).await?;
        if answer.starts_with(b"HTTP/1.1 200") && !has_errors(&answer) {
            return Ok(body);
        }
        size /= 2;
    }
    anyhow::bail!("the server refuses the smallest: {}", document(1))
}

fn has_errors(answer: &[u8]) -> bool {
    answer.windows(10).any(|some| some == b"\"errors\":[")
}

/// Sends a body and reads the whole answer.
async fn post(camp: &Camp, clock: &Clock, token: Option<&str>, body: &str) -> Result<Vec<u8>> {
    let authorization =
        token.map_or_else(String::new, |token| format!("authorization: Bearer {token}\r\n"));
    let head = format!(
        "POST /graphql HTTP/1.1\r\nhost: {}\r\n{authorization}connection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        camp.address(),
        body.len()
    );
    let exchange = async {
        let mut stream = TcpStream::connect(camp.address()).await?;
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        anyhow::ensure!(!answer.is_empty(), "no answer");
        Ok(answer)
    };
    clock.timeout(PATIENCE, exchange).await.unwrap_or_else(|_| anyhow::bail!("no answer in time"))
}

/// Opens connections that send these bytes and then nothing, and holds them until the time is over.
/// Returns how many it tried to open: the server pays for those that it cuts off as well.
pub(super) async fn hold(
    camp: &Camp,
    clock: &Clock,
    time: Duration,
    bytes: &[u8],
) -> Result<usize> {
    let start = clock.instant();
    let (mut held, mut tried) = (Vec::new(), 0);
    while held.len() < HELD && start.elapsed() < time {
        tried += 1;
        let opened = async {
            let mut stream = TcpStream::connect(camp.address()).await?;
            stream.write_all(bytes).await?;
            Ok::<_, std::io::Error>(stream)
        };
        // A server that accepts no more connections has withstood the attack.
        match clock.timeout(Duration::from_secs(1), opened).await {
            Ok(Ok(stream)) => held.push(stream),
            Ok(Err(_)) => {}
            Err(_) => break,
        }
    }
    clock.sleep(time.saturating_sub(start.elapsed())).await;
    Ok(tried)
}

/// Sends the same request over new connections until the time is over.
pub(super) async fn repeat(
    camp: &Camp,
    clock: &Clock,
    time: Duration,
    request: &[u8],
) -> Result<usize> {
    let start = clock.instant();
    let mut answered = 0;
    while start.elapsed() < time {
        let exchange = async {
            let mut stream = TcpStream::connect(camp.address()).await?;
            stream.write_all(request).await?;
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).await
        };
        if let Ok(Ok(_)) = clock.timeout(PATIENCE, exchange).await {
            answered += 1;
        }
    }
    Ok(answered)
}

/// The head of a request that upgrades to a WebSocket.
pub(super) fn socket_head(camp: &Camp) -> Vec<u8> {
    format!(
        "GET /graphql HTTP/1.1\r\nhost: {}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         sec-websocket-protocol: graphql-transport-ws\r\n\r\n",
        camp.address()
    )
    .into_bytes()
}

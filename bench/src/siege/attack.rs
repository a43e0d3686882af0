use std::time::Duration;

use anyhow::Result;
use carillon::clock::Clock;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{camp::Camp, texts};

/// An attack on the server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Attack {
    /// Nothing: the baseline without an attack.
    Calm,
    /// An editor saves deeply nested templates.
    DeepTemplates,
    /// An editor saves templates that are expensive to check or to render.
    WideTemplates,
    /// Unauthenticated callers request the introspection of the schema.
    Introspection,
    /// A viewer requests hundreds of previews at once.
    Previews,
    /// Unauthenticated callers open WebSockets and send nothing.
    Sockets,
    /// Unauthenticated callers send a large message over a WebSocket.
    LargeMessages,
    /// Connections that begin HTTP/2 and then stop.
    Prefaces,
    /// Requests of which only half the head is sent.
    Heads,
    /// Requests from another site, with a long origin.
    Origins,
}

/// Number of concurrent callers.
const CALLERS: usize = 4;
/// Number of connections that are held open at once.
const HELD: usize = 650;
/// A request that takes longer is abandoned.
const PATIENCE: Duration = Duration::from_secs(60);

impl Attack {
    pub(super) const ALL: [Self; 10] = [
        Self::Calm,
        Self::DeepTemplates,
        Self::WideTemplates,
        Self::Introspection,
        Self::Previews,
        Self::Sockets,
        Self::LargeMessages,
        Self::Prefaces,
        Self::Heads,
        Self::Origins,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::DeepTemplates => "deep templates",
            Self::WideTemplates => "wide templates",
            Self::Introspection => "introspection by strangers",
            Self::Previews => "450 previews in a document",
            Self::Sockets => "silent WebSockets",
            Self::LargeMessages => "large messages over WebSockets",
            Self::Prefaces => "beginnings of HTTP/2",
            Self::Heads => "half-sent heads",
            Self::Origins => "long origins of other sites",
        }
    }

    /// Attacks for this long. Returns the number of requests that were answered.
    pub(super) async fn carry_out(
        self,
        camp: &Camp,
        clock: &Clock,
        time: Duration,
    ) -> Result<usize> {
        let nowhere = "http://127.0.0.1:9/";
        match self {
            Self::Calm => {
                clock.sleep(time).await;
                Ok(0)
            }
            Self::DeepTemplates => {
                saves(camp, clock, time, &texts::deep_templates(), nowhere).await
            }
            Self::WideTemplates => {
                saves(camp, clock, time, &texts::wide_templates(), nowhere).await
            }
            Self::Introspection => {
                let body = json!({ "query": texts::introspection() }).to_string();
                asks(camp, clock, time, (None, &body)).await
            }
            Self::Previews => {
                let body = json!({ "query": texts::previews(450) }).to_string();
                asks(camp, clock, time, (Some(&camp.viewer), &body)).await
            }
            Self::Sockets => hold(camp, clock, time, &socket_head(camp)).await,
            Self::LargeMessages => {
                let mut begun = socket_head(camp);
                // The header of a masked text frame of a megabyte, and half of its content.
                begun.extend([0x81, 0xFF, 0, 0, 0, 0, 0, 0x10, 0, 0, 1, 2, 3, 4]);
                begun.resize(begun.len() + 512 * 1024, b'x');
                hold(camp, clock, time, &begun).await
            }
            Self::Prefaces => hold(camp, clock, time, b"PRI * HT").await,
            Self::Heads => hold(camp, clock, time, b"GET / HTTP/1.1\r\nhost: x\r\n").await,
            Self::Origins => {
                let origin = format!("origin: https://{}.example\r\n", "x".repeat(7_000));
                let head = format!(
                    "POST /graphql HTTP/1.1\r\nhost: {}\r\ncookie: carillon-0=x\r\n{origin}\
                     content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}",
                    camp.address()
                );
                repeat(camp, clock, time, head.as_bytes()).await
            }
        }
    }
}

/// Several callers save the templates one after the other until the time is over.
async fn saves(
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
            let asked = (0..CALLERS).map(|_| post(camp, clock, (Some(&camp.editor), body)));
            let all = futures::future::join_all(asked).await;
            answered += all.iter().filter(|answer| answer.is_ok()).count();
        }
    }
    Ok(answered)
}

/// Several callers send the same body repeatedly until the time is over.
async fn asks(
    camp: &Camp,
    clock: &Clock,
    time: Duration,
    what: (Option<&str>, &str),
) -> Result<usize> {
    let start = clock.instant();
    let mut answered = 0;
    while start.elapsed() < time {
        let asked = (0..CALLERS).map(|_| post(camp, clock, what));
        let all = futures::future::join_all(asked).await;
        answered += all.iter().filter(|answer| answer.is_ok()).count();
    }
    Ok(answered)
}

/// Sends a body and reads the whole answer.
async fn post(camp: &Camp, clock: &Clock, (token, body): (Option<&str>, &str)) -> Result<()> {
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
        Ok(())
    };
    clock.timeout(PATIENCE, exchange).await.unwrap_or_else(|_| anyhow::bail!("no answer in time"))
}

/// Opens connections that send these bytes and then nothing, and holds them until the time is over.
async fn hold(camp: &Camp, clock: &Clock, time: Duration, bytes: &[u8]) -> Result<usize> {
    let start = clock.instant();
    let mut held = Vec::new();
    while held.len() < HELD && start.elapsed() < time {
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
    Ok(held.len())
}

/// Sends the same request over new connections until the time is over.
async fn repeat(camp: &Camp, clock: &Clock, time: Duration, request: &[u8]) -> Result<usize> {
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
fn socket_head(camp: &Camp) -> Vec<u8> {
    format!(
        "GET /graphql HTTP/1.1\r\nhost: {}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         sec-websocket-protocol: graphql-transport-ws\r\n\r\n",
        camp.address()
    )
    .into_bytes()
}

//! A receiver of HTTP requests. It records the requests and their times itself, because the
//! server's account would be no independent evidence.

use std::{
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context, Result, ensure};
use carillon::clock::Clock;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStdin, ChildStdout, Command},
    task::JoinHandle,
};

/// Requests to this path are never answered.
pub(crate) const HANG: &str = "/hang";

/// A receiver in this process. For each request, it records the fire's instant and the arrival.
#[derive(Debug)]
pub(crate) struct Receiver {
    address: std::net::SocketAddr,
    seen: Arc<Mutex<Vec<Arrival>>>,
    task: JoinHandle<()>,
}

/// One request that arrived.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Arrival {
    /// The second at which the fire was due, from its idempotency key.
    pub(crate) due_second: i64,
    pub(crate) at_ms: i64,
}

impl Arrival {
    /// Milliseconds between the due instant and the arrival.
    pub(crate) fn late_ms(&self) -> i64 {
        self.at_ms - self.due_second * 1_000
    }
}

impl Receiver {
    pub(crate) async fn start(clock: &Clock) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listen as the receiver")?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (clock, notes) = (clock.clone(), seen.clone());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(note(stream, clock.clone(), notes.clone()));
            }
        });
        Ok(Self { address, seen, task })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The lateness of each request whose instant is in the range, in milliseconds.
    pub(crate) fn late_ms(&self, from: DateTime<Utc>, until: DateTime<Utc>) -> Vec<i64> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let range = from.timestamp()..until.timestamp();
        let inside = seen.iter().filter(|arrival| range.contains(&arrival.due_second));
        inside.map(Arrival::late_ms).collect()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads requests and answers 204. The idempotency key ends in the due second.
async fn note(stream: TcpStream, clock: Clock, seen: Arc<Mutex<Vec<Arrival>>>) -> Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    loop {
        let (mut length, mut second, mut hangs) = (0, None, false);
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let text = line.trim();
            if text.is_empty() {
                break;
            }
            hangs |= text.split(' ').nth(1) == Some(HANG);
            let Some((name, value)) = text.split_once(':') else { continue };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            } else if name.eq_ignore_ascii_case("idempotency-key") {
                second = value.trim().rsplit('-').next().and_then(|text| text.parse().ok());
            }
        }
        if let Some(due_second) = second {
            let at_ms = clock.now().timestamp_millis();
            let arrival = Arrival { due_second, at_ms };
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(arrival);
        }
        stream.read_exact(&mut vec![0; length]).await?;
        if hangs {
            // Holds the connection until the sender gives up.
            while stream.read(&mut [0; 64]).await? > 0 {}
            return Ok(());
        }
        stream.get_mut().write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await?;
    }
}

/// A receiver in a separate process, so that its CPU is not counted as the sender's.
#[derive(Debug)]
pub(crate) struct ReceiverProcess {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    url: String,
}

impl ReceiverProcess {
    pub(crate) async fn start() -> Result<Self> {
        let program = std::env::current_exe().context("find this program")?;
        let mut child = Command::new(program)
            .arg("receiver")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("start a receiver")?;
        let stdin = child.stdin.take().context("the receiver's input")?;
        let mut lines = BufReader::new(child.stdout.take().context("its output")?).lines();
        let url = lines.next_line().await?.context("the receiver names no address")?;
        Ok(Self { child, stdin, lines, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Stops the receiver, and returns all requests that arrived.
    pub(crate) async fn stop(mut self) -> Result<Vec<Arrival>> {
        drop(self.stdin);
        let notes = self.lines.next_line().await?.context("the receiver says nothing")?;
        ensure!(self.child.wait().await?.success(), "the receiver failed");
        serde_json::from_str(&notes).context("read what the receiver noted")
    }
}

/// The main function of the receiver's process: prints its address, receives until its input ends,
/// and prints the requests.
pub(crate) async fn run() -> Result<()> {
    let receiver = Receiver::start(&Clock::system()).await?;
    println!("{}", receiver.url());
    let input = || std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    tokio::task::spawn_blocking(input).await??;
    let seen = receiver.seen.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{}", serde_json::to_string(&*seen)?);
    Ok(())
}

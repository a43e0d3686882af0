use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use carillon::clock::Clock;
use chrono::{DateTime, Utc};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// The receiver of the witness's requests. It notes which instant each is for, and when it came.
#[derive(Debug)]
pub(super) struct Witness {
    address: std::net::SocketAddr,
    seen: Arc<Mutex<Vec<(i64, i64)>>>,
    task: JoinHandle<()>,
}

impl Witness {
    pub(super) async fn start(clock: &Clock) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listen as the witness")?;
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

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// How late the first request for each instant in the range came, in milliseconds.
    pub(super) fn late_ms(&self, from: DateTime<Utc>, until: DateTime<Utc>) -> Vec<i64> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let range = from.timestamp()..until.timestamp();
        let inside = seen.iter().filter(|(second, _)| range.contains(second));
        inside.map(|(second, arrived_ms)| arrived_ms - second * 1_000).collect()
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads requests and answers 204. The idempotency key ends in the due second.
async fn note(stream: TcpStream, clock: Clock, seen: Arc<Mutex<Vec<(i64, i64)>>>) -> Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    loop {
        let (mut length, mut second) = (0, None);
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let text = line.trim();
            if text.is_empty() {
                break;
            }
            let Some((name, value)) = text.split_once(':') else { continue };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse()?;
            } else if name.eq_ignore_ascii_case("idempotency-key") {
                second = value.trim().rsplit('-').next().and_then(|text| text.parse().ok());
            }
        }
        if let Some(second) = second {
            let now = clock.now().timestamp_millis();
            seen.lock().unwrap_or_else(PoisonError::into_inner).push((second, now));
        }
        stream.read_exact(&mut vec![0; length]).await?;
        stream.get_mut().write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await?;
    }
}

//! A stand-in for SQS: a process of this program that accepts messages by SQS's protocol, counts
//! them, and keeps none. Moto, which the tests use, is too slow for measurements: for each message
//! it walks through everything in the queue.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use anyhow::{Context, Result, ensure};
use carillon::clock::Clock;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

use super::daemon::Daemon;

const COUNT: &str = "ApproximateNumberOfMessages";

/// Arguments of the stand-in's process, which the parent process starts.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// The port to listen on.
    #[arg(long)]
    port: u16,
}

/// Starts a stand-in.
pub(super) async fn start(clock: &Clock) -> Result<(Daemon, Value)> {
    let daemon = Daemon::start(clock, 1, |_, ports| {
        let mut command = std::process::Command::new(std::env::current_exe()?);
        command.args(["queue", "--port", &ports[0].to_string()]);
        Ok(command)
    });
    let daemon = daemon.await?;
    let to = json!({ "sqs": {
        "queue_url": format!("http://{}/123456789012/orders", daemon.server()),
        "region": "eu-central-1",
        "access_key_id": "test",
        "secret_access_key": "sesame",
    } });
    Ok((daemon, to))
}

pub(super) async fn count(daemon: &Daemon) -> Result<u64> {
    let request = "POST / HTTP/1.1\r\nx-amz-target: AmazonSQS.GetQueueAttributes\r\n\
                   content-length: 2\r\n\r\n{}";
    let mut stream = TcpStream::connect(daemon.server()).await?;
    stream.write_all(request.as_bytes()).await?;
    stream.shutdown().await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (_, body) = answer.split_once("\r\n\r\n").context("an answer of the queue")?;
    let found: Value = serde_json::from_str(body)?;
    let number = found["Attributes"][COUNT].as_str().and_then(|number| number.parse().ok());
    number.with_context(|| format!("no count in {found}"))
}

/// The main function of the stand-in's process, which runs until it is killed.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", arguments.port)).await?;
    let count = Arc::new(AtomicU64::new(0));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(serve(stream, count.clone()));
    }
}

async fn serve(stream: TcpStream, count: Arc<AtomicU64>) -> Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some((action, body)) = read(&mut stream).await? {
        let answer = answer(&action, &serde_json::from_slice(&body)?, &count).to_string();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length:";
        let whole = format!("{head} {}\r\n\r\n{answer}", answer.len());
        stream.get_mut().write_all(whole.as_bytes()).await?;
    }
    Ok(())
}

/// The action and the body of the next request; `None` if the caller has disconnected.
async fn read(stream: &mut BufReader<TcpStream>) -> Result<Option<(String, Vec<u8>)>> {
    let (mut action, mut length) = (String::new(), 0);
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        if line.trim().is_empty() {
            break;
        }
        let Some((name, value)) = line.trim().split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse()?;
        } else if name.eq_ignore_ascii_case("x-amz-target") {
            value.trim().trim_start_matches("AmazonSQS.").clone_into(&mut action);
        }
    }
    ensure!(length <= 2 * 1024 * 1024, "a request of {length} bytes");
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some((action, body)))
}

fn answer(action: &str, body: &Value, count: &AtomicU64) -> Value {
    let message = || format!("message-{}", count.fetch_add(1, Ordering::Relaxed));
    match action {
        "SendMessage" => json!({ "MessageId": message() }),
        "SendMessageBatch" => {
            let entries = body["Entries"].as_array().map_or(&[][..], Vec::as_slice);
            let sent = entries.iter().map(|one| json!({ "Id": one["Id"], "MessageId": message() }));
            json!({ "Successful": sent.collect::<Vec<_>>(), "Failed": [] })
        }
        _ => json!({ "Attributes": { COUNT: count.load(Ordering::Relaxed).to_string() } }),
    }
}

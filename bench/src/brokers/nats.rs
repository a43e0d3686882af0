use anyhow::{Context, Result, ensure};
use carillon::clock::Clock;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

use super::daemon::{Daemon, runs, tool};

pub(super) async fn is_installed() -> bool {
    runs("nats-server", &["--version"]).await
}

/// Starts a broker with a stream on its disk.
pub(super) async fn start(clock: &Clock) -> Result<(Daemon, Value)> {
    let daemon = Daemon::start(clock, 1, |folder, ports| {
        let mut command = std::process::Command::new(tool("nats-server"));
        command.args(["-a", "127.0.0.1", "-p", &ports[0].to_string(), "--jetstream"]);
        command.arg("--store_dir").arg(folder);
        Ok(command)
    });
    let daemon = daemon.await?;
    let stream = json!({ "name": "ORDERS", "subjects": ["orders.>"], "storage": "file" });
    let made = ask(&daemon, "$JS.API.STREAM.CREATE.ORDERS", &stream).await?;
    ensure!(made["config"]["name"] == "ORDERS", "the stream is not made: {made}");
    let connection = json!({ "servers": [daemon.server()] });
    let to = json!({ "nats": { "connection": connection, "subject": "orders.new" } });
    Ok((daemon, to))
}

pub(super) async fn count(daemon: &Daemon) -> Result<u64> {
    let info = ask(daemon, "$JS.API.STREAM.INFO.ORDERS", &json!({})).await?;
    info["state"]["messages"].as_u64().with_context(|| format!("no count in {info}"))
}

/// The answer of one of the server's services.
async fn ask(daemon: &Daemon, subject: &str, request: &Value) -> Result<Value> {
    let request = request.to_string();
    let text = format!(
        "CONNECT {{\"verbose\":false}}\r\nSUB answer 1\r\nPUB {subject} answer {}\r\n{request}\r\n",
        request.len()
    );
    let mut stream = TcpStream::connect(daemon.server()).await?;
    stream.write_all(text.as_bytes()).await?;
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = String::new();
        let read = stream.read_line(&mut line).await?;
        ensure!(read > 0 && !line.starts_with("-ERR"), "nats-server answers {line:?}");
        if line.starts_with("MSG answer") {
            let length = line.split_whitespace().last().context("a length")?.parse()?;
            let mut answer = vec![0; length];
            stream.read_exact(&mut answer).await?;
            return Ok(serde_json::from_slice(&answer)?);
        }
    }
}

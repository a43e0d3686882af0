use anyhow::{Context, Result};
use carillon::clock::Clock;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

use super::daemon::{Daemon, runs, tool};

const STREAM: &str = "orders";

pub(super) async fn is_installed() -> bool {
    runs("redis-server", &["--version"]).await
}

/// Starts a broker that keeps acknowledged data on its disk.
pub(super) async fn start(clock: &Clock) -> Result<(Daemon, Value)> {
    let daemon = Daemon::start(clock, 1, |folder, ports| {
        let mut command = std::process::Command::new(tool("redis-server"));
        command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "yes"]);
        command.args(["--appendfsync", "always", "--port", &ports[0].to_string()]);
        command.arg("--dir").arg(folder);
        Ok(command)
    });
    let mut daemon = daemon.await?;
    daemon.until(clock, async |daemon| Ok(ask(daemon, "PING").await? == "+PONG")).await?;
    let connection = json!({ "servers": [daemon.server()] });
    let to = json!({ "redis": { "connection": connection, "stream": STREAM } });
    Ok((daemon, to))
}

pub(super) async fn count(daemon: &Daemon) -> Result<u64> {
    let length = ask(daemon, &format!("XLEN {STREAM}")).await?;
    let number = length.strip_prefix(':').and_then(|number| number.parse().ok());
    number.with_context(|| format!("redis-server answers {length:?}"))
}

/// The first line of Redis's answer to a command.
async fn ask(daemon: &Daemon, command: &str) -> Result<String> {
    let mut stream = BufReader::new(TcpStream::connect(daemon.server()).await?);
    stream.get_mut().write_all(format!("{command}\r\n").as_bytes()).await?;
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    Ok(line.trim_end().to_owned())
}

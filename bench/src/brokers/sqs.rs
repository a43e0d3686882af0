use anyhow::{Context, Result, ensure};
use carillon::clock::Clock;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::daemon::{Daemon, runs, tool};

pub(super) async fn is_installed() -> bool {
    runs("moto_server", &["--help"]).await
}

/// One with a queue.
pub(super) async fn start(clock: &Clock) -> Result<(Daemon, Value)> {
    let daemon = Daemon::start(clock, 1, |_, ports| {
        let mut command = std::process::Command::new(tool("moto_server"));
        command.args(["-H", "127.0.0.1", "-p", &ports[0].to_string()]);
        Ok(command)
    });
    let daemon = daemon.await?;
    ask(&daemon, "CreateQueue", &json!({ "QueueName": "orders" })).await?;
    let to = json!({ "sqs": {
        "queue_url": queue_url(&daemon),
        "region": "eu-central-1",
        "access_key_id": "test",
        "secret_access_key": "sesame",
    } });
    Ok((daemon, to))
}

pub(super) async fn count(daemon: &Daemon) -> Result<u64> {
    let name = "ApproximateNumberOfMessages";
    let request = json!({ "QueueUrl": queue_url(daemon), "AttributeNames": [name] });
    let found = ask(daemon, "GetQueueAttributes", &request).await?;
    let number = found["Attributes"][name].as_str().and_then(|number| number.parse().ok());
    number.with_context(|| format!("no count in {found}"))
}

/// Moto's account has this number.
fn queue_url(daemon: &Daemon) -> String {
    format!("http://{}/123456789012/orders", daemon.server())
}

/// Asks it as a client of its own would.
async fn ask(daemon: &Daemon, action: &str, request: &Value) -> Result<Value> {
    let body = request.to_string();
    let server = daemon.server();
    let request = format!(
        "POST / HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\ncontent-length: {}\r\n\
         content-type: application/x-amz-json-1.0\r\nx-amz-target: AmazonSQS.{action}\r\n\
         authorization: AWS4-HMAC-SHA256 \
         Credential=test/20260101/eu-central-1/sqs/aws4_request, SignedHeaders=host, \
         Signature=0\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(&server).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer of moto_server")?;
    ensure!(head.contains(" 200 "), "moto_server answers {answer:?}");
    serde_json::from_str(body).with_context(|| format!("moto_server answers {body:?}"))
}

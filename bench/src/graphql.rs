//! A cheap caller of the API: one persistent connection, plain HTTP/1.1, and no more of an answer
//! is read than necessary. CPU that the caller uses is not available to the measured server.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Caller {
    stream: BufReader<TcpStream>,
    head: String,
}

impl Caller {
    pub(crate) async fn connect(address: &str, token: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context("reach the server")?;
        stream.set_nodelay(true)?;
        let head = format!(
            "POST /graphql HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: "
        );
        Ok(Self { stream: BufReader::new(stream), head })
    }

    /// Sends a query and returns the answer, which must not have errors.
    pub(crate) async fn ask(&mut self, query: &str, variables: &Value) -> Result<Value> {
        let body = json!({ "query": query, "variables": variables }).to_string();
        let answer = self.send(&body).await?;
        let mut answer: Value = serde_json::from_slice(&answer)?;
        Ok(answer["data"].take())
    }

    /// Sends the body of a request and returns the body of the answer, which must not have errors.
    pub(crate) async fn send(&mut self, body: &str) -> Result<Vec<u8>> {
        let request = format!("{}{}\r\n\r\n{body}", self.head, body.len());
        self.stream.get_mut().write_all(request.as_bytes()).await.context("send a request")?;
        let mut line = String::new();
        self.stream.read_line(&mut line).await.context("read an answer")?;
        ensure!(line.contains(" 200 "), "the server answers {:?}", line.trim());
        let mut length = None;
        loop {
            line.clear();
            ensure!(self.stream.read_line(&mut line).await? > 0, "the server hung up");
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = Some(value.trim().parse().context("read an answer's length")?);
            }
        }
        let mut answer = vec![0; length.context("an answer without a length")?];
        self.stream.read_exact(&mut answer).await.context("read an answer")?;
        if answer.windows(9).take(64).any(|some| some == b"\"errors\":") || has_errors(&answer) {
            bail!("refused: {}", String::from_utf8_lossy(&answer));
        }
        Ok(answer)
    }
}

/// Whether an answer has errors, which the GraphQL library writes last: `..."errors":[...]}`.
fn has_errors(answer: &[u8]) -> bool {
    let tail = &answer[answer.len().saturating_sub(4_096)..];
    tail.windows(10).any(|some| some == b"\"errors\":[")
}

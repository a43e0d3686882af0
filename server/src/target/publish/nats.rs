//! NATS JetStream: a message with a reply subject, on which a stream acknowledges it.
//!
//! The header `Nats-Msg-Id` contains the event's id. Within the stream's window for duplicates, a
//! repetition is acknowledged but not stored again.

use std::{collections::HashMap, fmt::Write, sync::Arc};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    sync::oneshot,
};

use super::{
    definition::{Broker, Nats},
    dial::{Dialer, IoStream, lost},
    event::Message,
    link::{Codec, Link},
    place::HostPort,
    pool::BrokerSession,
    problem::PublishProblem,
};
use crate::random;

/// The first message of the server, which describes it.
#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    tls_required: bool,
    #[serde(default)]
    headers: bool,
    #[serde(default = "usual_payload")]
    max_payload: usize,
}

fn usual_payload() -> usize {
    1024 * 1024
}

/// Maximum length of a line.
const MAX_LINE: usize = 64 * 1024;

/// Connects and signs in.
pub(super) async fn connect(
    dialer: &Dialer,
    place: &HostPort,
    nats: &Nats,
) -> Result<Arc<dyn BrokerSession>, PublishProblem> {
    let refused = |text: String| {
        PublishProblem::broken(format!("{place} refused the sign-in: {}", text.trim()))
    };
    let mut plain = dialer.connect(place).await?;
    // The server's first line is unencrypted. It is read byte by byte, because the following bytes
    // may already be encrypted.
    let mut line = Vec::new();
    while !line.ends_with(b"\n") && line.len() < MAX_LINE {
        line.push(plain.read_u8().await.map_err(|error| lost(&error))?);
    }
    let line = String::from_utf8_lossy(&line).into_owned();
    let info: Info = line
        .strip_prefix("INFO ")
        .and_then(|info| serde_json::from_str(info).ok())
        .ok_or_else(|| refused("it does not speak NATS's protocol".to_owned()))?;
    if !info.headers {
        return Err(refused("it knows no headers; use NATS 2.2 or newer".to_owned()));
    }
    let stream: Box<dyn IoStream> = match (nats.connection.tls, info.tls_required) {
        (true, _) => dialer.encrypt(place, plain).await?,
        (false, true) => return Err(refused("it asks for TLS; set `tls: true`".to_owned())),
        (false, false) => Box::new(plain),
    };
    let mut stream = BufReader::new(stream);
    let inbox = format!("_INBOX.{:032x}", u128::from_le_bytes(random::bytes()));
    let hello = format!(
        "CONNECT {}\r\nSUB {inbox}.* 1\r\nPING\r\n",
        options(&nats.connection.username, nats.connection.password.as_ref().map(|p| p.expose()))
    );
    stream.write_all(hello.as_bytes()).await.map_err(|error| lost(&error))?;
    stream.flush().await.map_err(|error| lost(&error))?;
    loop {
        let mut line = String::new();
        let mut limited = (&mut stream).take(MAX_LINE as u64);
        if limited.read_line(&mut line).await.map_err(|error| lost(&error))? == 0 {
            return Err(refused("it closed the connection".to_owned()));
        }
        match line.split_ascii_whitespace().next() {
            Some("PONG") => break,
            Some("INFO" | "+OK") => {}
            _ => return Err(refused(line)),
        }
    }
    // The server now waits for the client, so no unread bytes are left in the buffer.
    let codec = Protocol { inbox, next: 0, waiting: HashMap::new(), pings: 0 };
    let link = Link::start(stream.into_inner(), codec, dialer.clock.clone());
    Ok(Arc::new(NatsSession { link, max_payload: info.max_payload }))
}

fn options(username: &Option<String>, password: Option<&str>) -> Value {
    let mut options = json!({
        "verbose": false, "pedantic": false, "lang": "rust", "name": "carillon",
        "version": env!("CARGO_PKG_VERSION"), "protocol": 1, "headers": true, "no_responders": true,
    });
    match (username, password) {
        (Some(name), password) => {
            options["user"] = name.clone().into();
            options["pass"] = password.unwrap_or_default().into();
        }
        (None, Some(token)) => options["auth_token"] = token.into(),
        (None, None) => {}
    }
    options
}

struct NatsSession {
    link: Link<NatsRequest>,
    max_payload: usize,
}

#[async_trait]
impl BrokerSession for NatsSession {
    async fn publish(&self, to: &Broker, message: &Message) -> Result<Value, PublishProblem> {
        let Broker::Nats(nats) = to else {
            return Err(PublishProblem::refused("the connection is one to NATS"));
        };
        let headers = headers(nats, message);
        let size = headers.len() + message.body.len();
        if size > self.max_payload {
            let most = self.max_payload;
            let text =
                format!("the event has {size} bytes with its headers; the server accepts {most}");
            return Err(PublishProblem::refused(text));
        }
        let (reply, answer) = oneshot::channel();
        let body = message.body.clone();
        let asked = NatsRequest { subject: nats.subject.clone(), headers, body, reply };
        self.link.send(asked).await?;
        let answer = answer.await.unwrap_or_else(|_| Err(PublishProblem::unsent()))?;
        acknowledged(&answer, &nats.subject)
    }

    fn is_open(&self) -> bool {
        self.link.is_open()
    }

    fn heard(&self) -> u64 {
        self.link.heard()
    }
}

fn headers(nats: &Nats, message: &Message) -> Vec<u8> {
    let mut headers = format!("NATS/1.0\r\nNats-Msg-Id: {}\r\n", one_line(&message.id));
    if let Some(stream) = &nats.stream {
        let _ = write!(headers, "Nats-Expected-Stream: {stream}\r\n");
    }
    let _ = write!(headers, "content-type: {}\r\n", message.content_type);
    for (name, value) in &message.attributes {
        let _ = write!(headers, "ce-{name}: {}\r\n", one_line(value));
    }
    for (name, value) in &message.headers {
        let _ = write!(headers, "{name}: {value}\r\n");
    }
    headers.push_str("\r\n");
    headers.into_bytes()
}

/// Converts a text to one line. Names of schedules are free text and may contain line ends.
fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

/// Parses a stream's acknowledgement.
fn acknowledged(answer: &NatsReply, subject: &str) -> Result<Value, PublishProblem> {
    #[derive(Deserialize)]
    struct Ack {
        error: Option<Error>,
        stream: Option<String>,
        seq: Option<u64>,
        #[serde(default)]
        duplicate: bool,
    }
    #[derive(Deserialize)]
    struct Error {
        #[serde(default)]
        description: String,
    }
    if answer.is_nobody() {
        let text = format!("no stream listens to the subject {subject}");
        return Err(PublishProblem::refused(text));
    }
    let ack: Ack = serde_json::from_slice(&answer.body).map_err(|_| {
        PublishProblem::refused("there was an answer, but not from a JetStream stream")
    })?;
    match (ack.error, ack.stream, ack.seq) {
        (Some(error), ..) => Err(PublishProblem::refused(error.description)),
        (None, Some(stream), Some(seq)) => {
            Ok(json!({ "stream": stream, "sequence": seq, "duplicate": ack.duplicate }))
        }
        (None, ..) => {
            Err(PublishProblem::refused("there was an answer, but not from a JetStream stream"))
        }
    }
}

struct NatsRequest {
    subject: String,
    headers: Vec<u8>,
    body: Vec<u8>,
    reply: Reply,
}

/// A message received on our inbox.
struct NatsReply {
    headers: Vec<u8>,
    body: Vec<u8>,
}

impl NatsReply {
    /// The server's status for "no responders".
    fn is_nobody(&self) -> bool {
        self.headers.starts_with(b"NATS/1.0 503")
    }
}

type Reply = oneshot::Sender<Result<NatsReply, PublishProblem>>;

/// An event that was sent and not answered.
struct UnansweredEvent {
    subject: String,
    reply: Reply,
}

struct Protocol {
    inbox: String,
    next: u64,
    waiting: HashMap<u64, UnansweredEvent>,
    /// The number of unanswered pings.
    pings: u32,
}

impl Codec for Protocol {
    type Request = NatsRequest;

    fn encode(
        &mut self,
        NatsRequest { subject, headers, body, reply }: NatsRequest,
        out: &mut Vec<u8>,
    ) {
        let number = self.next;
        self.next += 1;
        let (before, whole) = (headers.len(), headers.len() + body.len());
        let line = format!("HPUB {subject} {}.{number} {before} {whole}\r\n", self.inbox);
        for part in [line.as_bytes(), &headers, &body, b"\r\n"] {
            out.extend(part);
        }
        // Removes callers that are gone, so that the table does not grow while a server stays
        // silent.
        if self.waiting.len() > 1_024 && number.is_multiple_of(1_024) {
            self.waiting.retain(|_, waiting| !waiting.reply.is_closed());
        }
        self.waiting.insert(number, UnansweredEvent { subject, reply });
    }

    fn decode(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, PublishProblem> {
        let broken = || PublishProblem::broken("the server does not speak NATS's protocol");
        let mut used = 0;
        loop {
            let rest = &input[used..];
            let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") else {
                // What has no end is searched again with each byte that arrives.
                return if rest.len() > MAX_LINE { Err(broken()) } else { Ok(used) };
            };
            let line = String::from_utf8_lossy(&rest[..end]);
            let behind = end + 2;
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("PING") => out.extend(b"PONG\r\n"),
                Some("PONG") => self.pings = 0,
                Some("INFO" | "+OK") | None => {}
                // The server reports a problem with one message, but keeps the connection open.
                Some("-ERR") if line.contains("Permissions Violation") => self.refuse(&line),
                Some("-ERR") => return Err(PublishProblem::broken(line["-ERR".len()..].trim())),
                Some(word @ ("MSG" | "HMSG")) => {
                    let words: Vec<&str> = words.collect();
                    let (Some(subject), Some(size)) = (words.first(), words.last()) else {
                        return Err(broken());
                    };
                    let size: usize = size.parse().map_err(|_| broken())?;
                    let before: usize = match word {
                        "HMSG" => words
                            .len()
                            .checked_sub(2)
                            .and_then(|at| words[at].parse().ok())
                            .filter(|before| *before <= size)
                            .ok_or_else(broken)?,
                        _ => 0,
                    };
                    if size > usual_payload() {
                        return Err(broken());
                    }
                    if rest.len() < behind + size + 2 {
                        return Ok(used);
                    }
                    let (headers, body) = rest[behind..behind + size].split_at(before);
                    let number = subject.rsplit('.').next().and_then(|number| number.parse().ok());
                    if let Some(waiting) =
                        number.and_then(|number: u64| self.waiting.remove(&number))
                    {
                        let answer = NatsReply { headers: headers.to_vec(), body: body.to_vec() };
                        let _ = waiting.reply.send(Ok(answer));
                    }
                    used += size + 2;
                }
                Some(_) => return Err(broken()),
            }
            used += behind;
        }
    }

    fn tick(&mut self, out: &mut Vec<u8>) -> Result<(), PublishProblem> {
        if self.pings >= 3 {
            return Err(PublishProblem::broken("the server no longer answers"));
        }
        self.pings += 1;
        out.extend(b"PING\r\n");
        Ok(())
    }

    fn outstanding(&self) -> usize {
        self.waiting.len()
    }

    fn abandon(&mut self, problem: &PublishProblem) {
        for (_, waiting) in self.waiting.drain() {
            let _ = waiting.reply.send(Err(problem.clone()));
        }
    }
}

impl Protocol {
    /// Refuses the waiting events that the server's error may be about. It names the subject, or
    /// the subject of the answer, but not the message. An error about the subscription concerns all
    /// events: none of them gets an answer.
    fn refuse(&mut self, line: &str) {
        let problem = PublishProblem::refused(line["-ERR".len()..].trim());
        let named = named_in(line).filter(|_| !line.contains("Violation for Subscription"));
        let inbox = self.inbox.as_str();
        let of_answer = named
            .and_then(|named| named.strip_prefix(inbox)?.strip_prefix('.')?.parse::<u64>().ok());
        let is_meant = |number: &u64, waiting: &mut UnansweredEvent| {
            of_answer == Some(*number) || named.is_none_or(|named| named == waiting.subject)
        };
        for (_, waiting) in self.waiting.extract_if(is_meant) {
            let _ = waiting.reply.send(Err(problem.clone()));
        }
    }
}

/// The subject that a server's error names in double quotes.
fn named_in(line: &str) -> Option<&str> {
    let (_, quoted) = line.split_once('"')?;
    quoted.split_once('"').map(|(named, _)| named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protocol() -> Protocol {
        Protocol { inbox: "_INBOX.a".to_owned(), next: 0, waiting: HashMap::new(), pings: 0 }
    }

    #[test]
    fn an_answer_reaches_its_caller() {
        let (mut protocol, mut out) = (protocol(), Vec::new());
        let (reply, mut answer) = oneshot::channel();
        let asked = NatsRequest {
            subject: "a.b".to_owned(),
            headers: b"NATS/1.0\r\n\r\n".to_vec(),
            body: b"{}".to_vec(),
            reply,
        };
        protocol.encode(asked, &mut out);
        assert_eq!(out, b"HPUB a.b _INBOX.a.0 12 14\r\nNATS/1.0\r\n\r\n{}\r\n");
        let input = b"PING\r\nMSG _INBOX.a.0 1 26\r\n{\"stream\":\"s\",\"seq\":7}    \r\nMSG _IN";
        out.clear();
        assert_eq!(protocol.decode(input, &mut out).unwrap(), input.len() - 7);
        assert_eq!(out, b"PONG\r\n");
        let acknowledged = acknowledged(&answer.try_recv().unwrap().unwrap(), "a.b").unwrap();
        assert_eq!(acknowledged, json!({ "stream": "s", "sequence": 7, "duplicate": false }));
    }

    #[test]
    fn a_refused_subject_refuses_no_other_event() {
        let (mut protocol, mut out) = (protocol(), Vec::new());
        let mut answers = ["shop.orders", "shop.secrets", "shop.orders"].map(|subject| {
            let (reply, answer) = oneshot::channel();
            let (subject, headers) = (subject.to_owned(), Vec::new());
            protocol.encode(NatsRequest { subject, headers, body: Vec::new(), reply }, &mut out);
            answer
        });
        let mut refuse = |named: &str| {
            let line = format!("-ERR 'Permissions Violation for Publish {named}'\r\n");
            assert_eq!(protocol.decode(line.as_bytes(), &mut Vec::new()), Ok(line.len()));
            answers.each_mut().map(|answer| answer.try_recv().is_ok_and(|told| told.is_err()))
        };
        assert_eq!(refuse("to \"shop.secrets\""), [false, true, false]);
        assert_eq!(refuse("with Reply of \"_INBOX.a.2\""), [false, false, true]);
        assert_eq!(refuse("without a name"), [true, false, false]);
    }

    #[test]
    fn a_refused_subscription_refuses_all_events() {
        let (mut protocol, mut out) = (protocol(), Vec::new());
        let answers = ["shop.orders", "shop.secrets"].map(|subject| {
            let (reply, answer) = oneshot::channel();
            let (subject, headers) = (subject.to_owned(), Vec::new());
            protocol.encode(NatsRequest { subject, headers, body: Vec::new(), reply }, &mut out);
            answer
        });
        let line = b"-ERR 'Permissions Violation for Subscription to \"_INBOX.a.*\"'\r\n";
        assert_eq!(protocol.decode(line, &mut out), Ok(line.len()));
        for mut answer in answers {
            assert!(answer.try_recv().is_ok_and(|told| told.is_err()));
        }
    }

    #[test]
    fn a_line_without_an_end_is_refused() {
        let (mut protocol, mut out) = (protocol(), Vec::new());
        let line = vec![b'x'; MAX_LINE + 1];
        assert_eq!(protocol.decode(&line[..MAX_LINE], &mut out).unwrap(), 0);
        assert!(protocol.decode(&line, &mut out).is_err());
        let ping = [b"PING\r\n", &line[..MAX_LINE]].concat();
        assert_eq!(protocol.decode(&ping, &mut out).unwrap(), 6);
    }

    #[test]
    fn a_subject_that_no_stream_listens_to_is_named() {
        let headers = b"NATS/1.0 503\r\n\r\n".to_vec();
        let refused = acknowledged(&NatsReply { headers, body: Vec::new() }, "a.b").unwrap_err();
        assert_eq!(refused.to_string(), "no stream listens to the subject a.b");
        let error = br#"{"error":{"code":503,"description":"maximum messages exceeded"}}"#.to_vec();
        let refused =
            acknowledged(&NatsReply { headers: Vec::new(), body: error }, "a").unwrap_err();
        assert_eq!(refused.to_string(), "maximum messages exceeded");
    }
}

//! Redis Streams: `XADD`, whose answer is the entry's id.

use std::{collections::VecDeque, sync::Arc};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{
    definition::{Broker, Redis},
    dial::Dialer,
    event::Message,
    link::{Codec, Link},
    place::HostPort,
    pool::BrokerSession,
    problem::PublishProblem,
};

/// Where an answer begins to repeat the arguments of a command.
const REPEATED: &str = ", with args beginning with";

/// Connects and signs in.
pub(super) async fn connect(
    dialer: &Dialer,
    place: &HostPort,
    redis: &Redis,
) -> Result<Arc<dyn BrokerSession>, PublishProblem> {
    let stream = dialer.dial(place, redis.connection.tls).await?;
    let link = Link::start(stream, Resp::default(), dialer.clock.clone());
    let session = RedisSession { link };
    let entered = async {
        if let Some(password) = &redis.connection.password {
            let name = redis.connection.username.as_deref();
            let words = [Some("AUTH"), name, Some(password.expose())];
            let answer = session.ask(words.into_iter().flatten().map(str::as_bytes)).await;
            // A server that does not know the command repeats the beginning of its arguments.
            answer.map_err(|problem| problem.before(REPEATED).without(password.expose()))?;
        }
        if redis.database != 0 {
            let database = redis.database.to_string();
            session.ask(["SELECT", &database].map(str::as_bytes)).await?;
        }
        session.ask(["PING"].map(str::as_bytes)).await
    };
    match entered.await {
        Ok(_) => Ok(Arc::new(session)),
        Err(problem) => {
            Err(PublishProblem::broken(format!("{place} refused the sign-in: {problem}")))
        }
    }
}

struct RedisSession {
    link: Link<RedisRequest>,
}

impl RedisSession {
    async fn ask<'a>(
        &self,
        words: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<String, PublishProblem> {
        let (reply, answer) = oneshot::channel();
        self.link.send(RedisRequest { command: command(words), reply }).await?;
        // A request that was never encoded is dropped without an answer.
        answer.await.unwrap_or_else(|_| Err(PublishProblem::unsent()))
    }
}

#[async_trait]
impl BrokerSession for RedisSession {
    async fn publish(&self, to: &Broker, message: &Message) -> Result<Value, PublishProblem> {
        let Broker::Redis(redis) = to else {
            return Err(PublishProblem::refused("the connection is one to Redis"));
        };
        let length = redis.max_length.map(|length| length.to_string());
        let mut words: Vec<&[u8]> = vec![b"XADD", redis.stream.as_bytes()];
        if let Some(length) = &length {
            words.extend([b"MAXLEN".as_slice(), b"~", length.as_bytes()]);
        }
        words.push(b"*");
        let named = |name: &str| format!("ce_{}", name.to_ascii_lowercase());
        let attributes: Vec<(String, &String)> =
            message.attributes.iter().map(|(name, value)| (named(name), value)).collect();
        for (name, value) in &attributes {
            words.extend([name.as_bytes(), value.as_bytes()]);
        }
        words.extend([b"content-type".as_slice(), message.content_type.as_bytes()]);
        for (name, value) in &message.headers {
            words.extend([name.as_bytes(), value.as_bytes()]);
        }
        words.extend([b"event".as_slice(), &message.body]);
        let id = self.ask(words).await?;
        Ok(json!({ "stream": redis.stream, "id": id }))
    }

    fn is_open(&self) -> bool {
        self.link.is_open()
    }

    fn heard(&self) -> u64 {
        self.link.heard()
    }
}

/// Encodes a command.
fn command<'a>(words: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let words: Vec<&[u8]> = words.into_iter().collect();
    let mut out = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        out.extend(format!("${}\r\n", word.len()).as_bytes());
        out.extend(word);
        out.extend(b"\r\n");
    }
    out
}

struct RedisRequest {
    command: Vec<u8>,
    reply: oneshot::Sender<Result<String, PublishProblem>>,
}

/// The protocol. Answers come in the order of the commands.
#[derive(Default)]
struct Resp {
    waiting: VecDeque<oneshot::Sender<Result<String, PublishProblem>>>,
}

impl Codec for Resp {
    type Request = RedisRequest;

    fn encode(&mut self, RedisRequest { command, reply }: RedisRequest, out: &mut Vec<u8>) {
        out.extend(command);
        self.waiting.push_back(reply);
    }

    fn decode(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<usize, PublishProblem> {
        let mut used = 0;
        while let Some((answer, length)) = read(&input[used..])? {
            used += length;
            let Some(waiting) = self.waiting.pop_front() else {
                return Err(PublishProblem::broken("the server sent an answer without a request"));
            };
            // A server that lost its role as primary accepts no more entries; another may have
            // taken over.
            let is_over = answer.as_ref().is_err_and(|error| {
                ["READONLY", "LOADING", "MASTERDOWN"].iter().any(|word| error.starts_with(word))
            });
            // Answering fails if the caller is gone.
            let _ = waiting.send(answer.map_err(PublishProblem::refused));
            if is_over {
                return Err(PublishProblem::broken("the server accepts no events now"));
            }
        }
        Ok(used)
    }

    fn tick(&mut self, _: &mut Vec<u8>) -> Result<(), PublishProblem> {
        Ok(())
    }

    fn outstanding(&self) -> usize {
        self.waiting.len()
    }

    fn abandon(&mut self, problem: &PublishProblem) {
        for waiting in self.waiting.drain(..) {
            let _ = waiting.send(Err(problem.clone()));
        }
    }
}

type RedisReply = Result<String, String>;

/// The answer at the beginning of `input`, and its length; `None` while the answer is incomplete.
fn read(input: &[u8]) -> Result<Option<(RedisReply, usize)>, PublishProblem> {
    let broken = || PublishProblem::broken("the server does not speak Redis's protocol");
    let Some(end) = input.windows(2).position(|pair| pair == b"\r\n") else {
        return if input.len() > 64 * 1024 { Err(broken()) } else { Ok(None) };
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let line = &input[1.min(end)..end];
    let behind = end + 2;
    match input[0] {
        b'+' | b':' => Ok(Some((Ok(text(line)), behind))),
        b'-' => Ok(Some((Err(text(line)), behind))),
        b'$' => match text(line).parse::<i64>() {
            Ok(-1) => Ok(Some((Err("the server stored nothing".to_owned()), behind))),
            Ok(length @ 0..=65_536) => {
                let length = usize::try_from(length).map_err(|_| broken())?;
                let whole = behind + length + 2;
                if input.len() < whole {
                    return Ok(None);
                }
                Ok(Some((Ok(text(&input[behind..behind + length])), whole)))
            }
            Ok(_) | Err(_) => Err(broken()),
        },
        _ => Err(broken()),
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, io, net::SocketAddr};

    use rustls::RootCertStore;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;
    use crate::{
        clock::Clock,
        target::{
            egress::{EgressGuard, Resolver},
            tls,
        },
    };

    /// The problem of a client with this password, if the server answers its first command so.
    async fn problem(password: &str, answer: String) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap().to_string();
        let place = HostPort::read(&server, 6379).unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_u8().await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            // Until the client closes the connection.
            let _ = stream.read_to_end(&mut Vec::new()).await;
        });
        let egress = EgressGuard::new(true);
        let resolver =
            Resolver::asking(egress, |_| Box::pin(pending::<io::Result<Vec<SocketAddr>>>()));
        let tls = tls::config(&Arc::new(RootCertStore::empty())).unwrap().with_no_client_auth();
        let dialer = Dialer::new(resolver, egress, tls, Clock::system());
        let connection = json!({ "servers": [server], "password": password });
        let redis = json!({ "connection": connection, "stream": "orders" });
        let redis: Redis = serde_json::from_value(redis).unwrap();
        connect(&dialer, &place, &redis).await.err().unwrap().to_string()
    }

    #[tokio::test]
    async fn a_password_that_the_server_repeats_is_not_shown() {
        let shown = problem("sesame", "-ERR no user has `sesame`\r\n".to_owned()).await;
        assert!(shown.ends_with("ERR no user has `***`"), "{shown}");

        // Redis repeats at most 128 characters.
        let long = "sesame".repeat(40);
        for password in ["sesame", long.as_str()] {
            let repeated = &password[..password.len().min(128)];
            let answer = format!("-ERR unknown command `AUTH`{REPEATED}: `{repeated}`, \r\n");
            let shown = problem(password, answer).await;
            assert!(shown.ends_with("ERR unknown command `AUTH`"), "{shown}");
        }
    }

    #[test]
    fn a_command_is_its_words_with_their_lengths() {
        let made = command(["XADD", "a", "*", "k", "a\r\nb"].map(str::as_bytes));
        let text = "*5\r\n$4\r\nXADD\r\n$1\r\na\r\n$1\r\n*\r\n$1\r\nk\r\n$4\r\na\r\nb\r\n";
        assert_eq!(made, text.as_bytes());
    }

    #[test]
    fn an_answer_is_read_when_it_is_whole() {
        for (input, answer) in [
            ("+OK\r\n+", Some((Ok("OK".to_owned()), 5))),
            ("-ERR no\r\n", Some((Err("ERR no".to_owned()), 9))),
            ("$3\r\n1-0\r\n$", Some((Ok("1-0".to_owned()), 9))),
            ("$3\r\n1-", None),
            ("$", None),
            ("", None),
        ] {
            assert_eq!(read(input.as_bytes()), Ok(answer), "{input:?}");
        }
        for input in ["HTTP/1.1 400 Bad Request\r\n", "$x\r\n", "*1\r\n"] {
            assert!(read(input.as_bytes()).is_err(), "{input:?}");
        }
    }
}

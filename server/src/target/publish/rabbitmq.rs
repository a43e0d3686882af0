//! RabbitMQ by AMQP 0-9-1, with publisher confirms.
//!
//! A message that reaches no queue is returned (`mandatory`), and then counts as refused. All
//! messages are persistent. Each exchange has its own channel: if an exchange is missing, the
//! server closes only its channel, with the messages sent over it. When the server allows no
//! further channel, an idle one serves the next exchange.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::oneshot,
};

use super::{
    amqp::{self, AmqpReader, AmqpWriter, Frame, MethodId},
    big_endian::{Read, Write},
    definition::{Broker, Rabbitmq},
    dial::{Dialer, IoStream, lost},
    event::Message,
    link::{Codec, Link},
    place::HostPort,
    pool::BrokerSession,
    problem::PublishProblem,
};

/// Our heartbeat interval in seconds. The effective interval is the larger one of client and
/// server.
const HEARTBEAT: u16 = 20;
/// Maximum size of our frames, whatever the server accepts.
const MAX_FRAME: u32 = 128 * 1024;
/// Maximum number of events that are sent without a confirmation. A queue confirms its messages
/// together, once no further one waits for it: it would confirm a storm at its end, and server and
/// broker would take turns instead of working at the same time. More channels or connections cost
/// the broker more for each message, and confirm no earlier (docs/decisions/0080).
const PORTION: usize = 96;

/// Connects and signs in.
pub(super) async fn connect(
    dialer: &Dialer,
    place: &HostPort,
    rabbitmq: &Rabbitmq,
) -> Result<Arc<dyn BrokerSession>, PublishProblem> {
    let mut stream = dialer.dial(place, rabbitmq.connection.tls).await?;
    let (frame_max, channel_max) = enter(&mut stream, rabbitmq).await.map_err(|problem| {
        PublishProblem::broken(format!("{place} refused the sign-in: {problem}"))
    })?;
    let codec = Protocol {
        frame_max,
        channel_max,
        channels: HashMap::new(),
        by_exchange: HashMap::new(),
        free: Vec::new(),
        blocked: None,
        silent: 0,
    };
    let link = Link::start(stream, codec, dialer.clock.clone());
    Ok(Arc::new(RabbitmqSession { link }))
}

async fn enter(
    stream: &mut Box<dyn IoStream>,
    to: &Rabbitmq,
) -> Result<(usize, u16), PublishProblem> {
    let connection = &to.connection;
    let name = connection.username.as_deref().unwrap_or("guest");
    let password = connection.password.as_ref().map_or("guest", |password| password.expose());
    send(stream, b"AMQP\0\0\x09\x01").await?;
    expect(stream, MethodId::START).await?;
    let mut start_ok = AmqpWriter::method(MethodId::START_OK);
    start_ok.table(|table| {
        table.text("product", "carillon").text("version", env!("CARGO_PKG_VERSION"));
        table.table("capabilities", |table| {
            table.flag("publisher_confirms").flag("connection.blocked").flag("basic.nack");
            table.flag("authentication_failure_close");
        });
    });
    start_ok.short("PLAIN").long(format!("\0{name}\0{password}").as_bytes()).short("en_US");
    send(stream, &start_ok.frame(0)).await?;
    let tune = expect(stream, MethodId::TUNE).await?;
    let mut tune = AmqpReader::new(&tune.payload[4..]);
    let (channels, frame, heartbeat) = (tune.u16()?, tune.u32()?, tune.u16()?);
    let channels = if channels == 0 { u16::MAX } else { channels };
    let frame = if frame == 0 { MAX_FRAME } else { frame.min(MAX_FRAME) };
    let heartbeat = if heartbeat == 0 { HEARTBEAT } else { heartbeat.min(HEARTBEAT) };
    let mut tune_ok = AmqpWriter::method(MethodId::TUNE_OK);
    tune_ok.u16(channels).u32(frame).u16(heartbeat);
    let mut open = AmqpWriter::method(MethodId::OPEN);
    open.short(&to.vhost).short("").u8(0);
    let both = [tune_ok.frame(0), open.frame(0)].concat();
    send(stream, &both).await?;
    expect(stream, MethodId::OPEN_OK).await?;
    Ok((usize::try_from(frame).unwrap_or(usize::MAX), channels))
}

async fn send(stream: &mut Box<dyn IoStream>, bytes: &[u8]) -> Result<(), PublishProblem> {
    stream.write_all(bytes).await.map_err(|error| lost(&error))?;
    stream.flush().await.map_err(|error| lost(&error))
}

/// Reads frames until this method arrives.
async fn expect(stream: &mut Box<dyn IoStream>, method: MethodId) -> Result<Frame, PublishProblem> {
    let mut input = Vec::new();
    loop {
        // The end of a frame is read byte by byte, because the following bytes belong to the link.
        let want = amqp::missing(&input)?;
        if want > 0 {
            let from = input.len();
            input.resize(from + want, 0);
            stream.read_exact(&mut input[from..]).await.map_err(|error| lost(&error))?;
            continue;
        }
        let (frame, _) = amqp::read(&input)?.ok_or_else(amqp::broken)?;
        match frame.method() {
            Some(found) if found == method => return Ok(frame),
            Some(MethodId::CLOSE) => return Err(closed(&frame)?),
            _ => input.clear(),
        }
    }
}

/// The problem if the server closes the connection or a channel with this frame.
fn closed(frame: &Frame) -> Result<PublishProblem, PublishProblem> {
    let mut reader = AmqpReader::new(&frame.payload[4..]);
    let (code, text) = (reader.u16()?, reader.short()?);
    Ok(PublishProblem::broken(format!("{text} ({code})")))
}

struct RabbitmqSession {
    link: Link<RabbitRequest>,
}

#[async_trait]
impl BrokerSession for RabbitmqSession {
    async fn publish(&self, to: &Broker, message: &Message) -> Result<Value, PublishProblem> {
        let Broker::Rabbitmq(rabbitmq) = to else {
            return Err(PublishProblem::refused("the connection is one to RabbitMQ"));
        };
        if message.id.len() > amqp::MAX_SHORT {
            return Err(PublishProblem::refused("the event's id has more than 255 bytes"));
        }
        let (reply, answer) = oneshot::channel();
        let asked = RabbitRequest {
            exchange: rabbitmq.exchange.clone(),
            routing_key: rabbitmq.routing_key.clone(),
            id: message.id.clone(),
            properties: properties(message),
            body: message.body.clone(),
            reply,
        };
        self.link.send(asked).await?;
        answer.await.unwrap_or_else(|_| Err(PublishProblem::unsent()))?;
        Ok(json!({ "exchange": rabbitmq.exchange, "routing_key": rabbitmq.routing_key }))
    }

    fn is_open(&self) -> bool {
        self.link.is_open()
    }

    fn heard(&self) -> u64 {
        self.link.heard()
    }
}

/// Content type, headers, delivery mode, message id and application id.
fn properties(message: &Message) -> Vec<u8> {
    let mut writer = AmqpWriter::default();
    writer.u16(1 << 15 | 1 << 13 | 1 << 12 | 1 << 7 | 1 << 3);
    writer.short(message.content_type);
    writer.table(|table| {
        for (name, value) in &message.attributes {
            table.text(&format!("cloudEvents:{name}"), value);
        }
        for (name, value) in &message.headers {
            table.text(name, value);
        }
    });
    writer.u8(2).short(&message.id).short("carillon");
    writer.bytes()
}

struct RabbitRequest {
    exchange: String,
    routing_key: String,
    id: String,
    properties: Vec<u8>,
    body: Vec<u8>,
    reply: oneshot::Sender<Result<(), PublishProblem>>,
}

struct UnconfirmedMessage {
    id: String,
    returned: Option<String>,
    reply: oneshot::Sender<Result<(), PublishProblem>>,
}

/// A channel. Its messages are numbered from 1.
struct Channel {
    exchange: String,
    next: u64,
    waiting: BTreeMap<u64, UnconfirmedMessage>,
    /// The reason for which the server returns a message. The message's content follows.
    returning: Option<String>,
}

struct Protocol {
    frame_max: usize,
    channel_max: u16,
    channels: HashMap<u16, Channel>,
    by_exchange: HashMap<String, u16>,
    /// Channel numbers that are free again.
    free: Vec<u16>,
    /// Why the server currently accepts nothing.
    blocked: Option<String>,
    /// Ticks since anything was received.
    silent: u32,
}

impl Codec for Protocol {
    const PORTION: usize = PORTION;

    type Request = RabbitRequest;

    fn encode(&mut self, asked: RabbitRequest, out: &mut Vec<u8>) {
        // The attempt ended while its event waited, so the event is dropped.
        if asked.reply.is_closed() {
            return;
        }
        if let Some(reason) = &self.blocked {
            let text = format!("the broker accepts no events now: {reason}");
            let _ = asked.reply.send(Err(PublishProblem::refused(text)));
            return;
        }
        let Some(number) = self.channel(&asked.exchange, out) else {
            let text = "the connection has no channel left for another exchange";
            let _ = asked.reply.send(Err(PublishProblem::refused(text)));
            return;
        };
        let mut publish = AmqpWriter::method(MethodId::PUBLISH);
        publish.u16(0).short(&asked.exchange).short(&asked.routing_key).u8(1);
        out.extend(publish.frame(number));
        let mut header = AmqpWriter::default();
        header.u16(amqp::BASIC).u16(0).u64(asked.body.len() as u64).raw(&asked.properties);
        out.extend(header.frame_of(amqp::HEADER, number));
        for part in asked.body.chunks(self.frame_max - amqp::FRAME_OVERHEAD) {
            amqp::write(out, amqp::BODY, number, part);
        }
        if let Some(channel) = self.channels.get_mut(&number) {
            let waiting = UnconfirmedMessage { id: asked.id, returned: None, reply: asked.reply };
            channel.waiting.insert(channel.next, waiting);
            channel.next += 1;
        }
    }

    fn decode(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, PublishProblem> {
        self.silent = 0;
        let mut used = 0;
        while let Some((frame, length)) = amqp::read(&input[used..])? {
            used += length;
            self.take(&frame, out)?;
        }
        Ok(used)
    }

    fn tick(&mut self, out: &mut Vec<u8>) -> Result<(), PublishProblem> {
        self.silent += 1;
        // This is called every five seconds.
        if self.silent > 2 * u32::from(HEARTBEAT) / 5 {
            return Err(PublishProblem::broken("the broker no longer answers"));
        }
        out.extend(AmqpWriter::default().frame_of(amqp::HEARTBEAT, 0));
        Ok(())
    }

    fn outstanding(&self) -> usize {
        self.channels.values().map(|channel| channel.waiting.len()).sum()
    }

    fn abandon(&mut self, problem: &PublishProblem) {
        for (_, channel) in self.channels.drain() {
            channel.abandon(problem);
        }
    }
}

impl Protocol {
    /// The channel number for an exchange; opens a channel if there is none. The following frames
    /// need not wait for the channel to open, because the server handles frames in order.
    fn channel(&mut self, exchange: &str, out: &mut Vec<u8>) -> Option<u16> {
        if let Some(number) = self.by_exchange.get(exchange) {
            return Some(*number);
        }
        let fresh = u16::try_from(self.channels.len() + 1).ok();
        let fresh = fresh.filter(|number| *number <= self.channel_max);
        let Some(number) = self.free.pop().or(fresh) else { return self.reuse_channel(exchange) };
        let mut open = AmqpWriter::method(MethodId::CHANNEL_OPEN);
        open.short("");
        out.extend(open.frame(number));
        let mut select = AmqpWriter::method(MethodId::CONFIRM_SELECT);
        select.u8(0);
        out.extend(select.frame(number));
        let (exchange, waiting) = (exchange.to_owned(), BTreeMap::new());
        self.by_exchange.insert(exchange.clone(), number);
        self.channels.insert(number, Channel { exchange, next: 1, waiting, returning: None });
        Some(number)
    }

    /// Gives this exchange the channel of another one whose messages are all confirmed.
    fn reuse_channel(&mut self, exchange: &str) -> Option<u16> {
        let mut channels = self.channels.iter_mut();
        let (number, channel) = channels.find(|(_, channel)| channel.waiting.is_empty())?;
        let earlier = std::mem::replace(&mut channel.exchange, exchange.to_owned());
        self.by_exchange.remove(&earlier);
        self.by_exchange.insert(exchange.to_owned(), *number);
        Some(*number)
    }

    fn take(&mut self, frame: &Frame, out: &mut Vec<u8>) -> Result<(), PublishProblem> {
        if frame.channel == 0 {
            return self.take_of_connection(frame, out);
        }
        let Some(channel) = self.channels.get_mut(&frame.channel) else { return Ok(()) };
        if frame.kind == amqp::HEADER {
            return channel.returned(frame);
        }
        let Some(method) = frame.method() else { return Ok(()) };
        let mut reader = AmqpReader::new(&frame.payload[4..]);
        match method {
            MethodId::ACK => channel.settle(reader.u64()?, reader.u8()? & 1 == 1, None),
            MethodId::NACK => {
                let why = "the broker could not take the event (basic.nack)";
                channel.settle(reader.u64()?, reader.u8()? & 1 == 1, Some(why));
            }
            MethodId::RETURN => {
                let (code, text) = (reader.u16()?, reader.short()?);
                channel.returning = Some(format!("{text} ({code})"));
            }
            MethodId::CHANNEL_CLOSE => {
                out.extend(AmqpWriter::method(MethodId::CHANNEL_CLOSE_OK).frame(frame.channel));
                let why = closed(frame)?;
                if let Some(channel) = self.channels.remove(&frame.channel) {
                    self.by_exchange.remove(&channel.exchange);
                    self.free.push(frame.channel);
                    channel.abandon(&PublishProblem::refused(why.to_string()));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn take_of_connection(
        &mut self,
        frame: &Frame,
        out: &mut Vec<u8>,
    ) -> Result<(), PublishProblem> {
        match frame.method() {
            Some(MethodId::CLOSE) => {
                out.extend(AmqpWriter::method(MethodId::CLOSE_OK).frame(0));
                Err(closed(frame)?)
            }
            Some(MethodId::BLOCKED) => {
                self.blocked = Some(AmqpReader::new(&frame.payload[4..]).short()?);
                Ok(())
            }
            Some(MethodId::UNBLOCKED) => {
                self.blocked = None;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Channel {
    /// Settles the message with this number, or all messages up to it.
    fn settle(&mut self, number: u64, is_for_all: bool, why_not: Option<&str>) {
        let settled = if is_for_all {
            let later = self.waiting.split_off(&number.saturating_add(1));
            std::mem::replace(&mut self.waiting, later)
        } else {
            self.waiting.remove_entry(&number).into_iter().collect()
        };
        for waiting in settled.into_values() {
            let problem = why_not.map(str::to_owned).or(waiting.returned);
            let _ = waiting
                .reply
                .send(problem.map_or(Ok(()), |text| Err(PublishProblem::refused(text))));
        }
    }

    /// Identifies the returned message. Its confirmation follows.
    fn returned(&mut self, header: &Frame) -> Result<(), PublishProblem> {
        let Some(why) = self.returning.take() else { return Ok(()) };
        let id = amqp::message_id(&header.payload)?;
        let is_same = |waiting: &&mut UnconfirmedMessage| waiting.id == id;
        for waiting in self.waiting.values_mut().filter(is_same) {
            waiting.returned = Some(format!("no queue accepts the event: {why}"));
        }
        Ok(())
    }

    fn abandon(self, problem: &PublishProblem) {
        for waiting in self.waiting.into_values() {
            let _ = waiting.reply.send(Err(problem.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(reply: oneshot::Sender<Result<(), PublishProblem>>) -> RabbitRequest {
        RabbitRequest {
            exchange: "shop".to_owned(),
            routing_key: "order.new".to_owned(),
            id: "a-1".to_owned(),
            properties: Vec::new(),
            body: b"{}".to_vec(),
            reply,
        }
    }

    fn protocol(channel_max: u16) -> Protocol {
        Protocol {
            frame_max: 4_096,
            channel_max,
            channels: HashMap::new(),
            by_exchange: HashMap::new(),
            free: Vec::new(),
            blocked: None,
            silent: 0,
        }
    }

    fn confirm(protocol: &mut Protocol, channel: u16, number: u64) {
        let mut ack = AmqpWriter::method(MethodId::ACK);
        ack.u64(number).u8(0);
        let ack = ack.frame(channel);
        assert_eq!(protocol.decode(&ack, &mut Vec::new()), Ok(ack.len()));
    }

    #[test]
    fn an_idle_channel_serves_another_exchange_when_no_further_one_is_allowed() {
        let mut protocol = protocol(2);
        let publish = |protocol: &mut Protocol, exchange: &str| {
            let (reply, answer) = oneshot::channel();
            let asked = RabbitRequest { exchange: exchange.to_owned(), ..request(reply) };
            protocol.encode(asked, &mut Vec::new());
            answer
        };
        let (mut first, mut second) = (publish(&mut protocol, "a"), publish(&mut protocol, "b"));
        let refused = publish(&mut protocol, "c").try_recv().unwrap().unwrap_err().to_string();
        assert!(refused.contains("has no channel left"), "{refused}");

        confirm(&mut protocol, 1, 1);
        assert_eq!(first.try_recv(), Ok(Ok(())));
        let mut third = publish(&mut protocol, "c");
        assert_eq!(protocol.by_exchange.get("c"), Some(&1));
        assert!(!protocol.by_exchange.contains_key("a"));
        // The channel's messages are numbered on.
        confirm(&mut protocol, 1, 2);
        assert_eq!(third.try_recv(), Ok(Ok(())));
        confirm(&mut protocol, 2, 1);
        assert_eq!(second.try_recv(), Ok(Ok(())));
    }

    #[test]
    fn an_event_whose_attempt_has_ended_is_not_sent() {
        let mut protocol = protocol(8);
        let mut out = Vec::new();
        let (reply, answer) = oneshot::channel();
        drop(answer);
        protocol.encode(request(reply), &mut out);
        assert_eq!((out.len(), protocol.outstanding()), (0, 0));

        let (reply, mut answer) = oneshot::channel();
        protocol.encode(request(reply), &mut out);
        assert_eq!(protocol.outstanding(), 1);
        confirm(&mut protocol, 1, 1);
        assert_eq!(answer.try_recv(), Ok(Ok(())));
        assert_eq!(protocol.outstanding(), 0);
    }
}

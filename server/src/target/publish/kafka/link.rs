//! A connection to one broker. Requests are numbered, and answers arrive in the same order.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use super::wire::{KafkaWriter, broken};
use crate::target::publish::{
    big_endian::Write,
    link::{Codec, Link},
    problem::PublishProblem,
};

const CLIENT: &str = "carillon";
/// Maximum size of an answer to a producer.
const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// A request and a channel for its answer.
pub(super) struct KafkaRequest {
    pub(super) key: i16,
    pub(super) version: i16,
    pub(super) body: Vec<u8>,
    pub(super) reply: Reply,
}

/// Sends a request, and waits for the answer.
pub(super) async fn ask(
    link: &Link<KafkaRequest>,
    key: i16,
    version: i16,
    body: KafkaWriter,
) -> Result<Vec<u8>, PublishProblem> {
    let (reply, answer) = oneshot::channel();
    link.send(KafkaRequest { key, version, body: body.0, reply }).await?;
    answer.await.unwrap_or_else(|_| Err(PublishProblem::unsent()))
}

#[derive(Default)]
pub(super) struct KafkaProtocol {
    next: i32,
    waiting: VecDeque<(i32, Reply)>,
}

/// The channel for an answer.
type Reply = oneshot::Sender<Result<Vec<u8>, PublishProblem>>;

impl Codec for KafkaProtocol {
    type Request = KafkaRequest;

    fn encode(&mut self, asked: KafkaRequest, out: &mut Vec<u8>) {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let mut head = KafkaWriter::default();
        head.i16(asked.key).i16(asked.version).i32(number).string(CLIENT);
        let mut whole = KafkaWriter::default();
        whole.length(head.0.len() + asked.body.len()).raw(&head.0).raw(&asked.body);
        out.extend(whole.0);
        self.waiting.push_back((number, asked.reply));
    }

    fn decode(&mut self, input: &[u8], _: &mut Vec<u8>) -> Result<usize, PublishProblem> {
        let mut used = 0;
        while let Some((length, rest)) = input[used..].split_first_chunk::<4>() {
            let length = usize::try_from(i32::from_be_bytes(*length)).map_err(|_| broken())?;
            if !(4..=MAX_ANSWER).contains(&length) {
                return Err(broken());
            }
            let Some(answer) = rest.get(..length) else { break };
            used += 4 + length;
            let (number, body) = answer.split_first_chunk::<4>().ok_or_else(broken)?;
            let (waiting, reply) = self.waiting.pop_front().ok_or_else(broken)?;
            if i32::from_be_bytes(*number) != waiting {
                return Err(broken());
            }
            // Replying fails if the caller is gone.
            let _ = reply.send(Ok(body.to_vec()));
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
        for (_, reply) in self.waiting.drain(..) {
            let _ = reply.send(Err(problem.clone()));
        }
    }
}

//! Amazon SQS by its JSON protocol, with signed requests.
//!
//! - `entry`: an event in the form of a queue's message
//! - `lanes`: sends the events that wait for one queue together
//! - `call`: one signed request
//! - `sign`: the signature

mod call;
mod entry;
mod lanes;
mod sign;

use std::sync::Arc;

use reqwest::Client;
use serde_json::Value;
use tokio::sync::oneshot;

use super::{definition::Sqs, event::Message, problem::PublishProblem};
use crate::clock::Clock;
use call::Queue;
use entry::BatchEntry;
use lanes::Lanes;

/// Sends to queues, over the connections of HTTP requests.
#[derive(Debug)]
pub(super) struct Queues {
    lanes: Arc<Lanes>,
}

impl Queues {
    pub(super) fn new(client: Client, clock: Clock) -> Self {
        Self { lanes: Arc::new(Lanes::new(client, clock)) }
    }

    /// Sends an event. In a FIFO queue, events of a `group` stay in order.
    pub(super) async fn send(
        &self,
        sqs: &Sqs,
        message: &Message,
        group: &str,
    ) -> Result<Value, PublishProblem> {
        let queue = Queue::of(sqs)?;
        let (reply, answer) = oneshot::channel();
        self.lanes.give(Arc::new(queue), (BatchEntry::of(sqs, message, group), reply));
        answer.await.unwrap_or_else(|_| Err(PublishProblem::broken("the event was not sent")))
    }
}

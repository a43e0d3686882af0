//! Amazon SQS by its JSON protocol, with signed requests.
//!
//! - `entry`: an event in the form of a queue's message
//! - `lanes`: sends the events that wait for one queue together
//! - `call`: one signed request
//! - `servers`: which servers could be reached
//! - `sign`: the signature

mod call;
mod entry;
mod lanes;
mod servers;
mod sign;

use std::{sync::Arc, time::Instant};

use reqwest::Client;
use serde_json::Value;
use tokio::sync::oneshot;

use super::{
    definition::Sqs,
    event::Message,
    problem::PublishProblem,
    report::{BrokerReport, LinkEvents},
};
use crate::clock::Clock;
use call::Queue;
use entry::BatchEntry;
use lanes::{Lanes, SqsJob};

/// Sends to queues, over the connections of HTTP requests.
#[derive(Debug)]
pub(super) struct SqsQueues {
    lanes: Arc<Lanes>,
}

impl SqsQueues {
    pub(super) fn new(client: Client, clock: Clock) -> Self {
        Self { lanes: Arc::new(Lanes::new(client, clock)) }
    }

    /// The state of the servers.
    pub(super) fn reports(&self) -> Vec<BrokerReport> {
        self.lanes.reports()
    }

    /// The events that are sent to the server of a queue.
    pub(super) fn events(&self, sqs: &Sqs) -> Result<Arc<LinkEvents>, PublishProblem> {
        Ok(self.lanes.servers().events(&Queue::of(sqs)?.server()))
    }

    /// Records that an event that was given at `since` was not acknowledged within its time limit.
    pub(super) fn note_late(&self, sqs: &Sqs, since: Instant) {
        if let Ok(queue) = Queue::of(sqs) {
            let why = format!("{} did not acknowledge an event", queue.place);
            self.lanes.servers().record_late(&queue.server(), since, why);
        }
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
        let entry = BatchEntry::of(sqs, message, group);
        self.lanes.give(&Arc::new(queue), SqsJob { entry, reply });
        let answer = answer.await;
        answer.unwrap_or_else(|_| Err(PublishProblem::broken("the event was not sent")))
    }
}

#[cfg(test)]
mod tests {
    use std::{io, net::SocketAddr};

    use rustls::RootCertStore;
    use serde_json::json;
    use tokio::sync::mpsc;
    use uuid::Uuid;

    use super::*;
    use crate::target::{
        egress::{EgressGuard, Resolver, for_namespace, namespace},
        tls,
    };

    #[tokio::test]
    async fn names_are_looked_up_for_the_namespace_of_the_attempt() {
        let (tell, mut told) = mpsc::unbounded_channel();
        let resolver = Resolver::asking(EgressGuard::new(false), move |_| {
            let _ = tell.send(namespace());
            let found: io::Result<Vec<SocketAddr>> = Err(io::Error::other("nobody answers"));
            Box::pin(std::future::ready(found))
        });
        let tls = tls::config(&Arc::new(RootCertStore::empty())).unwrap().with_no_client_auth();
        let client = Client::builder().tls_backend_preconfigured(tls).no_proxy();
        let client = client.dns_resolver(Arc::new(resolver)).build().unwrap();
        let queues = SqsQueues::new(client, Clock::system());
        let sqs = json!({
            "queue_url": "https://sqs.test/1/orders", "region": "eu-central-1",
            "access_key_id": "test", "secret_access_key": "sesame",
        });
        let sqs: Sqs = serde_json::from_value(sqs).unwrap();
        let message = Message {
            id: "nightly-1".to_owned(),
            content_type: "application/json",
            attributes: vec![],
            headers: vec![],
            body: b"{}".to_vec(),
        };
        for owner in [7, 8].map(Uuid::from_u128) {
            let sent = for_namespace(owner, queues.send(&sqs, &message, "nightly")).await;
            assert!(sent.is_err(), "{sent:?}");
            assert_eq!(told.recv().await, Some(Some(owner)));
        }
    }
}

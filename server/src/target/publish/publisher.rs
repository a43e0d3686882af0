//! Carries out an attempt to publish an event, within its time limit.

use std::sync::Arc;

use reqwest::Client;
use rustls::RootCertStore;
use serde_json::{Value, json};

use super::{
    check::check,
    definition::{Broker, Publish, Sqs},
    dial::Dialer,
    event::{Message, compose},
    pool::{BrokerPool, PooledConnection},
    problem::PublishProblem,
    report::BrokerReport,
};
use crate::{
    clock::Clock,
    target::{
        AttemptOutcome, Invocation, Policy, TargetError,
        egress::{EgressGuard, Resolver},
        log::AttemptLog,
        text::{SecondsText, millis},
        time_limit::TimeLimit,
        tls,
    },
    telemetry::BrokerCounts,
};

#[cfg(not(feature = "sqs"))]
use super::missing::SqsQueues;
#[cfg(feature = "sqs")]
use super::sqs::SqsQueues;

/// Maximum size of an event, even if a broker accepts more.
const MAX_BYTES: usize = 1024 * 1024;

/// Publishes events.
#[derive(Debug)]
pub(in crate::target) struct Publisher {
    pool: BrokerPool,
    queues: SqsQueues,
    clock: Clock,
}

/// Why an attempt has not succeeded.
enum Failure {
    Step(String),
    TimeLimit(String),
}

impl Publisher {
    /// A publisher for `policy`, with `client` for its requests, that trusts `roots`.
    pub(in crate::target) fn new(
        policy: &Policy,
        client: Client,
        roots: &Arc<RootCertStore>,
        clock: Clock,
    ) -> Result<Self, TargetError> {
        let egress = EgressGuard::new(policy.private_addresses);
        let tls = tls::config(roots)?.with_no_client_auth();
        let dialer = Dialer::new(Resolver::new(egress), egress, tls, clock.clone());
        Ok(Self {
            pool: BrokerPool::new(Arc::new(dialer)),
            queues: SqsQueues::new(client, clock.clone()),
            clock,
        })
    }

    /// Fails if `definition` cannot be carried out.
    pub(in crate::target) fn check(&self, definition: &Publish) -> Result<(), TargetError> {
        check(definition, self.pool.dialer().egress())
    }

    /// The state of the connections.
    pub(in crate::target) fn reports(&self) -> Vec<BrokerReport> {
        let mut reports = self.pool.reports();
        reports.extend(self.queues.reports());
        reports
    }

    /// Counts of published events since the start.
    pub(in crate::target) fn counts(&self) -> Vec<BrokerCounts> {
        self.pool.counted().all(&self.reports())
    }

    /// Publishes the event and waits until the broker has acknowledged it.
    pub(in crate::target) async fn execute(
        &self,
        definition: &Publish,
        invocation: &Invocation,
        log: &AttemptLog<'_>,
    ) -> AttemptOutcome {
        let limit = TimeLimit::start(&self.clock, invocation.timeout);
        let published = self.publish(definition, invocation, &limit).await;
        let took = limit.elapsed();
        let broker = definition.to.name();
        self.pool.counted().published(broker, published.is_ok());
        match published {
            Ok(mut output) => {
                log.system(format!("{broker} acknowledged the event in {}", SecondsText(took)))
                    .await;
                if let Some(output) = output.as_object_mut() {
                    output.insert("broker".to_owned(), broker.into());
                    output.insert("event_id".to_owned(), invocation.idempotency_key.clone().into());
                    output.insert("duration_ms".to_owned(), millis(took).into());
                }
                AttemptOutcome::Succeeded { output }
            }
            Err(failure) => {
                let output = json!({ "broker": broker, "duration_ms": millis(took) });
                match failure {
                    Failure::Step(message) => AttemptOutcome::Failed { message, output },
                    Failure::TimeLimit(message) => AttemptOutcome::TimedOut { message, output },
                }
            }
        }
    }

    async fn publish(
        &self,
        definition: &Publish,
        invocation: &Invocation,
        limit: &TimeLimit<'_>,
    ) -> Result<Value, Failure> {
        let step = |error: TargetError| Failure::Step(error.to_string());
        self.check(definition).map_err(step)?;
        let message = compose(&definition.event, invocation, self.clock.now());
        if message.body.len() > MAX_BYTES {
            let bytes = message.body.len();
            let text = format!("the event has {bytes} bytes; at most {MAX_BYTES} are published");
            return Err(Failure::Step(text));
        }
        if let Broker::Sqs(sqs) = &definition.to {
            let group = invocation.schedule.as_deref().unwrap_or("carillon");
            let events = self.queues.events(sqs).map_err(|problem| failed(&problem))?;
            let event = events.begin();
            let sent = self.send(sqs, &message, group, limit).await;
            event.published(sent.is_ok());
            return sent;
        }
        let link = self.pool.link(&definition.to).map_err(|problem| failed(&problem))?;
        let event = link.events().begin();
        let published = self.over_any(&link, &definition.to, &message, limit).await;
        event.published(published.is_ok());
        published
    }

    /// Sends to a queue of SQS.
    async fn send(
        &self,
        sqs: &Sqs,
        message: &Message,
        group: &str,
        limit: &TimeLimit<'_>,
    ) -> Result<Value, Failure> {
        let since = self.clock.instant();
        let what = || "sqs did not acknowledge the event".to_owned();
        let sent = in_time(limit, self.queues.send(sqs, message, group), what).await;
        // A cancelled run ends here without a result, and says nothing about the server.
        if sent.is_err() {
            self.queues.note_late(sqs, since);
        }
        sent?.map_err(|problem| failed(&problem))
    }

    /// Publishes over the open connection, or over a new one if the open one turns out to be lost.
    async fn over_any(
        &self,
        link: &Arc<PooledConnection>,
        broker: &Broker,
        message: &Message,
        limit: &TimeLimit<'_>,
    ) -> Result<Value, Failure> {
        // A connection that has just broken is noticed only when it is used, so nothing was sent
        // over it.
        match self.over(link, broker, message, limit).await? {
            Err(problem) if problem.is_unsent() => {
                let again = self.over(link, broker, message, limit).await?;
                again.map_err(|problem| failed(&problem))
            }
            published => published.map_err(|problem| failed(&problem)),
        }
    }

    async fn over(
        &self,
        link: &Arc<PooledConnection>,
        broker: &Broker,
        message: &Message,
        limit: &TimeLimit<'_>,
    ) -> Result<Result<Value, PublishProblem>, Failure> {
        let what = || format!("could not connect to {}", link.place());
        let session = match in_time(limit, self.pool.session(link, broker), what).await? {
            Ok(session) => session,
            Err(problem) => return Ok(Err(problem)),
        };
        let heard = session.heard();
        let what = || format!("{} did not acknowledge the event", link.place());
        let published = in_time(limit, session.publish(broker, message), what).await;
        // If the connection was silent the whole time, the next attempts on it would also wait for
        // nothing.
        let lost = match &published {
            Ok(Err(problem)) if problem.is_broken() => Some(problem.to_string()),
            Ok(Ok(_) | Err(_)) => None,
            Err(_) => Some(format!("{} did not acknowledge an event", link.place())),
        };
        if let Some(why) = lost {
            self.pool.note_break(link, why);
            if session.heard() == heard {
                link.give_up(&session);
            }
        }
        published
    }
}

fn failed(problem: &PublishProblem) -> Failure {
    Failure::Step(problem.to_string())
}

/// Waits for `future` within the remaining time. If the time runs out, fails with the message that
/// `what` was not done.
async fn in_time<F: Future>(
    limit: &TimeLimit<'_>,
    future: F,
    what: impl FnOnce() -> String,
) -> Result<F::Output, Failure> {
    let kept = limit.keep(future).await;
    kept.map_err(|within| Failure::TimeLimit(format!("{} {within}", what())))
}

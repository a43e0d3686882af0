//! The faults with which every broker is tested: it is down, slow, or restarted under load.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use carillon::{
    clock::Clock,
    target::{AttemptOutcome, BrokerReport, Executor, Invocation, Target},
};
use futures::{StreamExt, stream};
use serde_json::Value;
use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::support::Broker;

use super::super::support::{executor, failed, invocation, open, succeeded, target};

/// One attempt to publish the event with that id.
pub(super) async fn attempt(
    executor: &Executor,
    target: &Target,
    id: &str,
    number: i32,
    timeout: Duration,
) -> AttemptOutcome {
    let invocation =
        Invocation { idempotency_key: id.to_owned(), attempt: number, timeout, ..invocation() };
    let (lines, mut received) = mpsc::channel(100);
    let outcome = executor.execute(target, &invocation, lines, CancellationToken::new()).await;
    received.close();
    outcome
}

/// Publishes one event; returns the attempt's output.
pub(super) async fn published(definition: Value) -> Value {
    succeeded(once(definition).await)
}

/// The error of an attempt to publish an event that must fail.
pub(super) async fn refused(definition: Value) -> String {
    failed(once(definition).await).0
}

async fn once(definition: Value) -> AttemptOutcome {
    let (executor, target) = (executor(open()), target(definition));
    attempt(&executor, &target, "nightly-1700000000", 2, Duration::from_secs(20)).await
}

/// The number of events of a load.
pub(super) const EVENTS: usize = 400;

/// Events that are published while a test does something to the broker: some at a time, each until
/// an attempt succeeds.
pub(super) struct Load {
    settled: mpsc::UnboundedReceiver<()>,
    count: usize,
    publishing: JoinHandle<BTreeMap<String, i32>>,
}

impl Load {
    /// Begins to publish, with a time limit for each attempt.
    pub(super) fn start(definition: Value, limit: Duration) -> Self {
        let (executor, target) = (Arc::new(executor(open())), Arc::new(target(definition)));
        let (settle, settled) = mpsc::unbounded_channel();
        let publishing = tokio::spawn(
            stream::iter(0..EVENTS)
                .map(move |index| {
                    let (executor, target) = (executor.clone(), target.clone());
                    let settle = settle.clone();
                    async move {
                        let (id, clock) = (format!("event-{index}"), Clock::system());
                        for number in 1.. {
                            let outcome = attempt(&executor, &target, &id, number, limit).await;
                            if let AttemptOutcome::Succeeded { .. } = outcome {
                                let _ = settle.send(());
                                return (id, number);
                            }
                            // The delay of a retry policy.
                            clock.sleep(Duration::from_millis(50)).await;
                        }
                        unreachable!("it goes on until it has succeeded")
                    }
                })
                .buffer_unordered(20)
                .collect::<BTreeMap<String, i32>>(),
        );
        Self { settled, count: 0, publishing }
    }

    /// Waits until this many events are published.
    pub(super) async fn reach(&mut self, count: usize) {
        while self.count < count {
            self.settled.recv().await.unwrap();
            self.count += 1;
        }
    }

    /// The number of events that are published by now.
    pub(super) fn count(&mut self) -> usize {
        while self.settled.try_recv().is_ok() {
            self.count += 1;
        }
        self.count
    }

    /// Waits until all events are published; returns the number of attempts of each.
    pub(super) async fn finish(self) -> BTreeMap<String, i32> {
        self.publishing.await.unwrap()
    }
}

/// Publishes events while the broker is restarted; returns the number of attempts of each.
pub(super) async fn through_a_restart(
    broker: &mut Broker,
    definition: Value,
) -> BTreeMap<String, i32> {
    let mut load = Load::start(definition, Duration::from_secs(5));
    load.reach(EVENTS / 4).await;
    broker.kill();
    broker.go_on().await;
    load.finish().await
}

/// Checks that no event is lost, and that none is stored more often than it was attempted.
#[track_caller]
pub(super) fn assert_nothing_lost(attempts: &BTreeMap<String, i32>, stored: &[String]) {
    assert_eq!(attempts.len(), EVENTS);
    for (id, attempts) in attempts {
        let count = stored.iter().filter(|stored| *stored == id).count();
        let most = usize::try_from(*attempts).unwrap();
        assert!((1..=most).contains(&count), "{id}: there {count} times after {attempts} attempts");
    }
    assert!(attempts.values().any(|attempts| *attempts > 1), "no fault was noticed");
}

/// If the broker is down, an attempt fails at once with a message that names the broker. When the
/// broker is back, the next attempt succeeds, and nothing has to be restarted.
pub(super) async fn is_found_again(broker: &mut Broker, definition: Value) {
    let (executor, target) = (executor(open()), target(definition));
    let limit = Duration::from_secs(20);
    succeeded(attempt(&executor, &target, "a-1", 1, limit).await);
    let report = &executor.broker_reports()[0];
    assert!(report.is_open && report.since.is_some() && report.last_error.is_none(), "{report:?}");
    assert_eq!((report.acknowledged, report.failed, report.waiting), (1, 0, 0));
    broker.kill();
    // The first attempt may discover that the connection is gone.
    let mut message = String::new();
    for number in 1..=2 {
        message = failed(attempt(&executor, &target, "a-2", number, limit).await).0;
    }
    let place = broker.server();
    assert!(message.starts_with(&format!("could not connect to {place}: ")), "{message}");
    let report = &executor.broker_reports()[0];
    assert!(!report.is_open && report.failing.is_some(), "{report:?}");
    assert_eq!((report.acknowledged, report.failed, report.waiting), (1, 2, 0));
    assert!(report.since.is_some(), "{report:?}");
    let last = report.last_error.as_ref().unwrap();
    assert!(last.1.starts_with(&format!("could not connect to {place}: ")), "{report:?}");
    broker.go_on().await;
    succeeded(attempt(&executor, &target, "a-2", 3, limit).await);
    let report = &executor.broker_reports()[0];
    assert!(report.is_open && report.failing.is_none(), "{report:?}");
    assert_eq!((report.acknowledged, report.failed, report.waiting), (2, 2, 0));
    // What was wrong can still be read.
    assert!(report.since.is_some() && report.last_error.is_some(), "{report:?}");
    let name = report.broker;
    let counts = executor.broker_counts();
    let counts = counts.iter().find(|counts| counts.broker == name).unwrap();
    assert_eq!((counts.acknowledged, counts.failed, counts.connected), (2, 2, 2));
    assert_eq!((counts.open, counts.unreachable), (1, 0));
}

/// If a broker does not answer, an attempt takes its timeout and no longer. When the broker
/// continues, the same program reaches it again. Returns the report after the timeout.
pub(super) async fn is_waited_for_within_the_timeout(
    broker: &Broker,
    definition: Value,
) -> BrokerReport {
    let (executor, target) = (executor(open()), target(definition));
    succeeded(attempt(&executor, &target, "a-1", 1, Duration::from_secs(20)).await);
    broker.freeze();
    let outcome = attempt(&executor, &target, "a-2", 1, Duration::from_millis(300)).await;
    let AttemptOutcome::TimedOut { message, .. } = outcome else { panic!("{outcome:?}") };
    assert!(message.ends_with("did not acknowledge the event within 0.3 s"), "{message}");
    let silent = executor.broker_reports().remove(0);
    assert_eq!((silent.acknowledged, silent.failed, silent.waiting), (1, 1, 0));
    assert!(silent.last_error.is_some(), "{silent:?}");
    broker.thaw();
    succeeded(attempt(&executor, &target, "a-2", 2, Duration::from_secs(20)).await);
    let back = &executor.broker_reports()[0];
    assert!(back.is_open && back.failing.is_none(), "{back:?}");
    silent
}

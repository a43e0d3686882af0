//! Stands in for brokers that this build leaves out. A definition with such a broker is refused
//! before it gets here.

use std::{sync::Arc, time::Instant};

use reqwest::Client;
use serde_json::Value;

use super::{
    definition::Sqs,
    dial::Dialer,
    event::Message,
    place::HostPort,
    pool::BrokerSession,
    problem::PublishProblem,
    report::{BrokerReport, LinkEvents},
};
use crate::clock::Clock;

fn missing() -> PublishProblem {
    PublishProblem::refused("this build of Carillon cannot publish to that broker")
}

pub(super) async fn connect<T>(
    _: &Arc<Dialer>,
    _: &HostPort,
    _: &T,
) -> Result<Arc<dyn BrokerSession>, PublishProblem> {
    Err(missing())
}

#[derive(Debug)]
pub(super) struct SqsQueues;

impl SqsQueues {
    pub(super) fn new(_: Client, _: Clock) -> Self {
        Self
    }

    pub(super) fn reports(&self) -> Vec<BrokerReport> {
        Vec::new()
    }

    pub(super) fn events(&self, _: &Sqs) -> Result<Arc<LinkEvents>, PublishProblem> {
        Err(missing())
    }

    pub(super) fn note_late(&self, _: &Sqs, _: Instant) {}

    pub(super) async fn send(
        &self,
        _: &Sqs,
        _: &Message,
        _: &str,
    ) -> Result<Value, PublishProblem> {
        Err(missing())
    }
}

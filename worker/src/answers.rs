//! The server's answers to a worker.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::Error;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Registered {
    pub(crate) worker_id: String,
    pub(crate) heartbeat_seconds: f64,
    pub(crate) max_wait_seconds: u64,
}

impl Registered {
    pub(crate) fn heartbeat(&self) -> Duration {
        Duration::try_from_secs_f64(self.heartbeat_seconds).unwrap_or(Duration::from_secs(10))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Polled {
    pub(crate) jobs: Vec<Value>,
    pub(crate) stop: Vec<String>,
    pub(crate) lost: Vec<String>,
    pub(crate) drain: bool,
}

/// Parses the answer to a poll or a heartbeat.
pub(crate) fn read(answer: Value) -> Result<Polled, Error> {
    serde_json::from_value(answer).map_err(|error| Error::Unreadable(error.to_string()))
}

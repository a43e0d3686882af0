use serde::Deserialize;

use crate::time::Moment;

/// The worker programs of a namespace, and their queues.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pulling {
    pub(crate) worker_queues: Vec<WorkerQueue>,
    pub(crate) workers: Vec<WorkerProgram>,
}

/// A queue, with its waiting and held jobs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkerQueue {
    pub(crate) name: String,
    pub(crate) workers: i64,
    pub(crate) free: i64,
    pub(crate) waiting: i64,
    pub(crate) waiting_since: Option<Moment>,
    pub(crate) held: i64,
    pub(crate) max_jobs: Option<i64>,
}

impl WorkerQueue {
    /// Whether jobs wait in the queue although no worker serves it.
    pub(crate) fn is_unserved(&self) -> bool {
        self.waiting > 0 && self.workers == 0
    }
}

/// A worker program.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkerProgram {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) queues: Vec<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) jobs: i64,
    pub(crate) capacity: i64,
    pub(crate) draining: bool,
    pub(crate) version: String,
    pub(crate) client: String,
    pub(crate) registered_at: Moment,
    pub(crate) heartbeat_at: Moment,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_unserved_while_something_waits_and_nobody_pulls() {
        let queue = |waiting, workers| WorkerQueue {
            name: "emails".to_owned(),
            workers,
            free: 0,
            waiting,
            waiting_since: None,
            held: 0,
            max_jobs: None,
        };
        assert!(queue(1, 0).is_unserved());
        assert!(!queue(0, 0).is_unserved() && !queue(1, 1).is_unserved());
    }
}

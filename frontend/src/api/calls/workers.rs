//! Workers, the queues that they pull jobs from, and brokers.

use crate::{
    api::{Ask, operations::workers::*},
    model::{BrokerStatus, Named, Pulling},
};

pub(crate) fn workers(namespace: String) -> Ask<Pulling> {
    Ask::new::<Workers>(workers::Variables { namespace })
}

/// The brokers to which the answering node publishes events.
pub(crate) fn brokers() -> Ask<Vec<BrokerStatus>> {
    Ask::new::<Brokers>(brokers::Variables)
}

/// The names of a namespace's queues.
pub(crate) fn queue_names(namespace: String) -> Ask<Vec<Named>> {
    Ask::new::<QueueNames>(queue_names::Variables { namespace })
}

/// Sets the queue's limit, or removes it without a number.
pub(crate) fn limit_queue(namespace: String, name: String, max_jobs: Option<i64>) -> Ask<String> {
    Ask::new::<LimitWorkerQueue>(limit_worker_queue::Variables { namespace, name, max_jobs })
}

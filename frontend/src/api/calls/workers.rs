//! Workers, and the queues that they pull jobs from.

use crate::{
    api::{Ask, operations::workers::*},
    model::Pulling,
};

pub(crate) fn workers(namespace: String) -> Ask<Pulling> {
    Ask::new::<Workers>(workers::Variables { namespace })
}

/// Sets the maximum number of jobs of a queue; `None` removes the limit.
pub(crate) fn limit_queue(namespace: String, name: String, max_jobs: Option<i64>) -> Ask<String> {
    Ask::new::<LimitWorkerQueue>(limit_worker_queue::Variables { namespace, name, max_jobs })
}

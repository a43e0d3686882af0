//! The operations about workers and their queues.

use graphql_client::GraphQLQuery;

use super::{DateTime, Long, Operation};
use crate::model::{Named, Pulling};

operations! {
    Workers = "graphql/workers.graphql", "" => Pulling;
    QueueNames = "graphql/queue_names.graphql", "/workerQueues" => Vec<Named>;
    LimitWorkerQueue = "graphql/limit_worker_queue.graphql", "/limitWorkerQueue/queue/name" => String;
}

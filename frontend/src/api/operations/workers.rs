//! The operations about workers, their queues, and brokers.

use graphql_client::GraphQLQuery;

use super::{DateTime, Long, Operation};
use crate::model::{BrokerState, BrokerStatus, Named, Pulling};

operations! {
    Workers = "graphql/workers.graphql", "" => Pulling;
    Brokers = "graphql/brokers.graphql", "/brokers" => Vec<BrokerStatus>;
    QueueNames = "graphql/queue_names.graphql", "/workerQueues" => Vec<Named>;
    LimitWorkerQueue = "graphql/limit_worker_queue.graphql", "/limitWorkerQueue/queue/name" => String;
}

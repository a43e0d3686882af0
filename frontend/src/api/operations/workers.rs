//! The operations about workers and their queues.

use graphql_client::GraphQLQuery;

use super::{DateTime, Long, Operation};
use crate::model::Pulling;

operations! {
    Workers = "graphql/workers.graphql", "" => Pulling;
    LimitWorkerQueue = "graphql/limit_worker_queue.graphql", "/limitWorkerQueue/queue/name" => String;
}

//! Events to real brokers, which each test starts for itself.

mod faults;
mod kafka;
mod kafka_duplicates;
mod nats;
mod rabbitmq;
mod redis;
mod sqs;
mod sqs_batches;

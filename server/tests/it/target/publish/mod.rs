//! Events to real brokers, which each test starts for itself.

mod faults;
mod kafka;
mod kafka_duplicates;
mod kafka_leaders;
mod kafka_sasl;
mod nats;
mod rabbitmq;
mod redis;
mod sqs;
mod sqs_batches;

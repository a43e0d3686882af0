//! Events to real brokers, which each test starts for itself.

mod certificate;
mod faults;
mod kafka;
mod kafka_duplicates;
mod kafka_leaders;
mod kafka_lookups;
mod kafka_mock;
mod kafka_sasl;
mod kafka_tls;
mod nats;
mod rabbitmq;
mod redis;
mod sqs;
mod sqs_batches;

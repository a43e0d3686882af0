//! Converts an event to the API's input, for each operation that takes one; see `input`.

use crate::{
    api::{create_schedule, test_call_input, update_schedule},
    model::Pair,
    pages::task_form::{AddressAction, BrokerAction, EventAction, PublishAction},
};

macro_rules! publish_inputs {
    ($($operation:ident),+) => {$(
        impl From<PublishAction> for $operation::PublishTargetInput {
            fn from(publish: PublishAction) -> Self {
                let PublishAction { to, event } = publish;
                Self { to: to.into(), event: Some(event.into()) }
            }
        }

        impl From<EventAction> for $operation::CloudEventInput {
            fn from(event: EventAction) -> Self {
                use $operation::{CloudEventMode, HeaderInput};
                let headers = event.headers.into_iter();
                Self {
                    mode: match event.mode.as_str() {
                        "BINARY" => CloudEventMode::BINARY,
                        _ => CloudEventMode::STRUCTURED,
                    },
                    type_: event.kind,
                    source: event.source,
                    subject: event.subject,
                    payload: event.payload,
                    headers: Some(
                        headers.map(|Pair { name, value }| HeaderInput { name, value }).collect(),
                    ),
                }
            }
        }

        impl From<AddressAction> for $operation::BrokerAddressInput {
            fn from(address: AddressAction) -> Self {
                let AddressAction { servers, tls, username, password } = address;
                Self { servers, tls, username, password }
            }
        }

        impl From<BrokerAction> for $operation::BrokerInput {
            fn from(broker: BrokerAction) -> Self {
                use $operation::{
                    KafkaTopicInput, NatsSubjectInput, RabbitmqExchangeInput, RedisStreamInput,
                    Sasl, SqsQueueInput,
                };
                match broker {
                    BrokerAction::Kafka(kafka) => Self::Kafka(KafkaTopicInput {
                        connection: kafka.connection.into(),
                        sasl: match kafka.sasl.as_str() {
                            "SCRAM_SHA_256" => Sasl::SCRAM_SHA_256,
                            "SCRAM_SHA_512" => Sasl::SCRAM_SHA_512,
                            _ => Sasl::PLAIN,
                        },
                        topic: kafka.topic,
                        key: kafka.key,
                        partition: kafka.partition,
                    }),
                    BrokerAction::Nats(nats) => Self::Nats(NatsSubjectInput {
                        connection: nats.connection.into(),
                        subject: nats.subject,
                        stream: nats.stream,
                    }),
                    BrokerAction::Rabbitmq(rabbitmq) => Self::Rabbitmq(RabbitmqExchangeInput {
                        connection: rabbitmq.connection.into(),
                        vhost: rabbitmq.vhost,
                        exchange: rabbitmq.exchange,
                        routing_key: rabbitmq.routing_key,
                    }),
                    BrokerAction::Redis(redis) => Self::Redis(RedisStreamInput {
                        connection: redis.connection.into(),
                        database: redis.database,
                        stream: redis.stream,
                        max_length: redis.max_length,
                    }),
                    BrokerAction::Sqs(sqs) => Self::Sqs(SqsQueueInput {
                        queue_url: sqs.queue_url,
                        region: sqs.region,
                        access_key_id: sqs.access_key_id,
                        secret_access_key: sqs.secret_access_key,
                        session_token: sqs.session_token,
                        group: sqs.group,
                    }),
                }
            }
        }
    )+};
}

publish_inputs!(create_schedule, update_schedule, test_call_input);

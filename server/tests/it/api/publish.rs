//! Targets that publish, over the API: shown without their secrets, kept by their masks, refused
//! with the name of the field.

use entity::workflow_version;
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_password_is_never_shown_and_stays_with_its_servers,
    an_invalid_publish_target_is_refused_by_its_field,
);

const SHOWN: &str = "query($id: UUID!) { schedule(id: $id) { workflow { tasks { target {
    ... on PublishTarget {
        to { __typename ... on KafkaTopic {
            connection { servers tls username password } sasl topic key partition
        } }
        event { mode type source subject payload headers { name value } }
    }
} } } } }";
const UPDATE: &str =
    "mutation($input: UpdateScheduleInput!) { updateSchedule(input: $input) { schedule { id } } }";

fn publish(to: &Value, event: &Value) -> Value {
    json!({
        "name": "events", "timing": { "expressions": ["@daily"] },
        "task": { "target": { "publish": { "to": to, "event": event } } },
    })
}

fn kafka(server: &str, password: &str) -> Value {
    json!({ "kafka": {
        "connection": {
            "servers": [server], "tls": true, "username": "carillon", "password": password,
        },
        "sasl": "SCRAM_SHA_512", "topic": "reports", "key": "{{ context.customer }}",
    } })
}

async fn a_password_is_never_shown_and_stays_with_its_servers(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let event = json!({
        "mode": "BINARY", "type": "org.example.due", "payload": { "rows": [1] },
        "headers": [{ "name": "x-key", "value": "hunter2" }],
    });
    let input = publish(&kafka("kafka.example.org", "hunter2{{ secrets.more }}"), &event);
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let id = &made["createSchedule"]["schedule"]["id"];
    let shown = desk.ask(SHOWN, json!({ "id": id })).await;
    let target = &shown["schedule"]["workflow"]["tasks"][0]["target"];
    assert_eq!(
        target["to"],
        json!({
            "__typename": "KafkaTopic",
            "connection": {
                "servers": ["kafka.example.org"], "tls": true, "username": "carillon",
                "password": "***",
            },
            "sasl": "SCRAM_SHA_512", "topic": "reports", "key": "{{ context.customer }}",
            "partition": null,
        })
    );
    assert_eq!(
        target["event"],
        json!({
            "mode": "BINARY", "type": "org.example.due", "source": null, "subject": null,
            "payload": "{\"rows\":[1]}", "headers": [{ "name": "x-key", "value": "***" }],
        })
    );

    let edit = |version: i32, server: &str| {
        let target = json!({ "publish": { "to": kafka(server, "***"), "event": event } });
        json!({ "input": { "id": id, "expectedVersion": version, "task": { "target": target } } })
    };
    let moved = desk.refused(UPDATE, edit(1, "evil.example.org")).await.to_string();
    assert!(moved.contains("task.target.publish.to.kafka.connection.password"), "{moved}");
    desk.ask(UPDATE, edit(1, "kafka.example.org")).await;
    let stored = workflow_version::Entity::find().all(desk.database.store.read()).await.unwrap();
    assert!(stored.iter().all(|row| row.definition.to_string().matches("hunter2").count() == 2));
}

async fn an_invalid_publish_target_is_refused_by_its_field(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let server = json!({ "servers": ["broker.example.org"] });
    for (to, event, field) in [
        (
            json!({ "kafka": { "connection": server, "topic": "a b" } }),
            json!({}),
            "task.target.publish.to.kafka.topic",
        ),
        (
            json!({ "rabbitmq": { "connection": server, "routingKey": "" } }),
            json!({}),
            "task.target.publish.to.rabbitmq.routingKey",
        ),
        (
            json!({ "redis": { "connection": server, "stream": "a", "maxLength": 0 } }),
            json!({}),
            "task.target.publish.to.redis.maxLength",
        ),
        (
            json!({ "nats": { "connection": server, "subject": "a" } }),
            json!({ "payload": "x".repeat(300_000) }),
            "task.target.publish.event.payload",
        ),
        (
            json!({ "nats": { "connection": server, "subject": "{{ context.a | nothing }}" } }),
            json!({}),
            "task.target.publish.to.nats.subject",
        ),
        (json!({ "pigeon": { "loft": "a" } }), json!({}), "task.target.publish.to.pigeon"),
        (
            json!({
                "nats": { "connection": server, "subject": "a" },
                "redis": { "connection": server, "stream": "a" },
            }),
            json!({}),
            "task.target.publish.to",
        ),
        (kafka("10.0.0.1", "x"), json!({}), "task.target.publish.to.kafka.connection.servers[0]"),
        (kafka("kafka", "***"), json!({}), "task.target.publish.to.kafka.connection.password"),
    ] {
        let refused = desk.refused(CREATE, json!({ "input": publish(&to, &event) })).await;
        assert_eq!(refused["extensions"]["field"], field, "{refused}");
    }
}

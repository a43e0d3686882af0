//! Runs that publish to a real broker: the broker's acknowledgement settles them, and every attempt
//! is a row with the same event id.

use std::time::Duration;

use carillon::{
    model::{Condition, Task},
    target::Target,
};
use entity::{run, task_run};
use serde_json::{Value, json};

use super::{
    secrets::{keep_value, vault},
    world::{World, task},
};
use crate::support::{Redis, TestDatabase, on_both};

on_both!(an_acknowledged_event_settles_its_run, attempts_at_a_broker_that_is_away_are_recorded);

const PASSWORD: &str = "open-sesame-417";

fn publishing(redis: &Redis) -> Task {
    let target = json!({ "publish": {
        "to": { "redis": {
            "connection": {
                "servers": [format!("127.0.0.1:{}", redis.port)],
                "password": "{{ secrets.redis }}",
            },
            "stream": "{{ context.region }}",
        } },
        "event": { "payload": { "run": "{{ run_id }}" } },
    } });
    task(serde_json::from_value::<Target>(target).unwrap())
}

/// The events of a stream, in order.
fn events(redis: &Redis, stream: &str) -> Vec<Value> {
    let lines = redis.all(&format!("XRANGE {stream} - +"));
    lines
        .iter()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(Value::is_object)
        .collect()
}

async fn an_acknowledged_event_settles_its_run(database: TestDatabase) {
    let redis = Redis::with_password(PASSWORD).await;
    let mut world = World::new(database).await;
    world.settings.vault = vault("ab");
    keep_value(&world, &world.settings.vault.clone(), "redis", PASSWORD).await;
    let schedule =
        world.due_now(publishing(&redis), |row| row.context = json!({ "region": "eu" })).await;
    let engine = world.engine().await;
    let done = world.settled_run(schedule.id).await;
    assert_eq!((done.state, done.error), (run::State::Succeeded, None));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();

    let events = events(&redis, "eu");
    assert_eq!(events.len(), 1);
    let due = world.ledger(schedule.id).await[0].scheduled_at.utc();
    let id = events[0]["id"].as_str().unwrap();
    assert!(id.starts_with(&format!("{}-{}", schedule.id, due.timestamp())), "{id}");
    assert_eq!(events[0]["data"]["payload"]["run"], json!(done.id));
    assert_eq!(events[0]["data"]["schedule_id"], json!(schedule.id));
    let output = world.attempts(done.id).await[0].output.clone().unwrap();
    assert_eq!((&output["broker"], &output["event_id"]), (&json!("redis"), &json!(id)));
    assert!(!world.database.dump().await.contains(PASSWORD));
}

async fn attempts_at_a_broker_that_is_away_are_recorded(database: TestDatabase) {
    let mut redis = Redis::with_password(PASSWORD).await;
    redis.kill();
    let mut world = World::new(database).await;
    world.settings.vault = vault("ab");
    keep_value(&world, &world.settings.vault.clone(), "redis", PASSWORD).await;
    let mut again = publishing(&redis);
    again.retry.max_attempts = 100;
    again.retry.initial_ms = 50;
    again.retry.max_ms = 50;
    again.retry_on = vec!["error".parse::<Condition>().unwrap()];
    let schedule = world.due_now(again, |row| row.context = json!({ "region": "eu" })).await;
    let engine = world.engine().await;
    let run = world
        .until("an attempt has failed", || async {
            let run = world.runs(schedule.id).await.into_iter().next()?;
            let attempts = world.attempts(run.id).await;
            attempts.iter().any(|row| row.state == task_run::State::Failed).then_some(run)
        })
        .await;
    redis.go_on().await;
    let done = world.run_is(run.id, run::State::Succeeded).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();

    let attempts = world.attempts(done.id).await;
    let (last, before) = attempts.split_last().unwrap();
    assert_eq!(last.state, task_run::State::Succeeded);
    let place = format!("could not connect to 127.0.0.1:{}", redis.port);
    for attempt in before {
        let error = attempt.error.as_deref().unwrap();
        assert!(error.starts_with(&place), "{error}");
    }
    let events = events(&redis, "eu");
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["data"]["attempt"], json!(attempts.len()));
}

use reqwest::StatusCode;
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};

use crate::support::{Command, Server, TestDatabase, on_both};

on_both!(a_server_that_runs_is_healthy, missed_fires_make_it_unhealthy);

async fn a_server_that_runs_is_healthy(database: TestDatabase) {
    let server = Server::start(&database);
    for path in ["/livez", "/readyz", "/healthz?namespace=default&tag=none"] {
        assert_eq!(server.get(path).send().await.unwrap().status(), StatusCode::OK, "{path}");
    }
    let health = server.get("/healthz").send().await.unwrap();
    assert_eq!(health.status(), StatusCode::OK);
    let health: Value = health.json().await.unwrap();
    assert_eq!((&health["status"], &health["issues"]), (&json!("healthy"), &json!([])));
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(health["database"], database.store.dialect().name());
    assert_eq!(health["zone_data"]["version"], timetable::zone_data().version.as_str());
    assert_eq!(health["checks"]["missed"]["limit"], "10");
    let asked = Command::new(&["healthcheck", "--server", &server.url]).run();
    assert_eq!(asked.done(), "healthy\n");
}

async fn missed_fires_make_it_unhealthy(database: TestDatabase) {
    let server = Server::start(&database);
    let now = chrono_millis();
    let blob = |byte: u8| {
        let hex = format!("{byte:02x}").repeat(16);
        if database.store.dialect().is_postgres() {
            format!("'{hex}'")
        } else {
            format!("x'{hex}'")
        }
    };
    let insert = format!(
        "INSERT INTO fire (id, namespace_id, schedule_id, schedule_version, scheduled_at, due_at, \
         last_scheduled_at, count, kind, verdict, reason, claimed_at, decided_at, \
         recovery_attempts) VALUES ({}, {}, {}, 1, {now}, {now}, {now}, 11, 'normal', 'missed', \
         'outage', {now}, {now}, 0)",
        blob(1),
        blob(2),
        blob(3),
    );
    let transaction = database.store.begin().await.unwrap();
    transaction.execute_unprepared(&insert).await.unwrap();
    database.store.commit(transaction).await.unwrap();

    let health = server.get("/healthz").send().await.unwrap();
    assert_eq!(health.status(), StatusCode::SERVICE_UNAVAILABLE);
    let health: Value = health.json().await.unwrap();
    assert_eq!(health["status"], "unhealthy");
    assert_eq!(health["checks"]["missed"]["value"], "11");
    let asked = Command::new(&["healthcheck", "--server", &server.url]).run().refused(1);
    assert!(asked.contains("11 fires were missed"), "{asked}");
    // They are of no schedule with that tag.
    let narrowed = server.get("/healthz?tag=billing").send().await.unwrap();
    assert_eq!(narrowed.status(), StatusCode::OK);
}

fn chrono_millis() -> i64 {
    carillon::clock::Clock::system().now().timestamp_millis()
}

#[tokio::test]
async fn what_does_not_exist_is_not_healthy() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    let answer = server.get("/healthz?namespace=nowhere").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    let answer = server.get("/healthz?tags=typo").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    let asked = Command::new(&["healthcheck", "--server", "http://127.0.0.1:1"]).run().refused(1);
    assert!(asked.contains("reach the server at http://127.0.0.1:1"), "{asked}");
}

#[tokio::test]
async fn the_instruments_are_scraped() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    server.sign_in("nobody", "wrong horse battery").await;
    let scraped = server.get("/metrics").send().await.unwrap();
    assert!(scraped.headers()["content-type"].to_str().unwrap().starts_with("text/plain"));
    let text = scraped.text().await.unwrap();
    for line in [
        "carillon_total_schedules 0",
        "carillon_active_schedules 0",
        "carillon_queue_depth 0",
        "carillon_executions_per_minute 0",
        "carillon_average_execution_time_seconds 0",
        "carillon_failed_executions_rate 0",
        "carillon_sign_ins_total{outcome=\"refused\"} 1",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line} is not in:\n{text}");
    }
}

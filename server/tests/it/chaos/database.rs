use std::time::Duration;

use rand::Rng;
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};

use super::{field::Field, postgres::Postgres, short_or_long};

const LEASE: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_is_stopped_hard_and_started_again() {
    let (schedules, times) = short_or_long((50, 2), (300, 10));
    let mut postgres = Postgres::start(&[]).await;
    let length = 8 * times + 4;
    let mut field =
        Field::new("PostgreSQL stopped", &postgres.url(), LEASE, schedules, length).await;
    let mut nodes = field.nodes(["one", "two"]).await;
    field.begins().await;
    for _ in 0..times {
        field.pass(Duration::from_secs(3)).await;
        let down = Duration::from_millis(rand::rng().random_range(0..3_000));
        let clock = field.clock.clone();
        let fault = async {
            postgres.stop_hard();
            clock.sleep(down).await;
            postgres.go_on().await;
        };
        field.while_hit(fault).await;
        field.pass(Duration::from_secs(3)).await;
    }
    field.ends(&mut nodes).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backends_are_terminated_at_random() {
    let (schedules, times) = short_or_long((50, 16), (300, 400));
    let postgres = Postgres::start(&[]).await;
    let length = i64::from(times) * 6 / 10 + 6;
    let mut field = Field::new("backends", &postgres.url(), LEASE, schedules, length).await;
    let mut nodes = field.nodes(["one", "two"]).await;
    let admin = connect(&postgres.url()).await;
    let mut terminated = 0;
    field.begins().await;
    for _ in 0..times {
        let pause = rand::rng().random_range(0..1_000);
        field.pass(Duration::from_millis(pause)).await;
        let some = rand::rng().random_range(1..4);
        terminated += terminate(&admin, some).await;
        field.hit();
    }
    field.ends(&mut nodes).await;
    println!("chaos backends: {terminated} backends were terminated");
    assert!(terminated > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_taken_by_others() {
    let (schedules, times) = short_or_long((50, 1), (200, 10));
    let settings = ["max_connections=20", "superuser_reserved_connections=0"];
    let postgres = Postgres::start(&settings).await;
    let length = 11 * i64::from(times) + 6;
    let mut field = Field::new("connections", &postgres.url(), LEASE, schedules, length).await;
    let small = [("CARILLON_DATABASE__CONNECTIONS", "2")];
    let url = postgres.url();
    let mut nodes = [field.node_by("one", &url, &small), field.node_by("two", &url, &small)];
    for node in &mut nodes {
        node.is_ready().await;
    }
    let admin = connect(&url).await;
    field.begins().await;
    for _ in 0..times {
        field.pass(Duration::from_secs(3)).await;
        let clock = field.clock.clone();
        let fault = async {
            let mut taken = fill(&url).await;
            // The nodes lose their connections. Whichever node reconnects first takes the free
            // ones.
            terminate(&admin, 20).await;
            for _ in 0..20 {
                taken.extend(fill(&url).await);
                clock.sleep(Duration::from_millis(250)).await;
            }
            for connection in taken {
                let _ = connection.close().await;
            }
        };
        field.while_hit(fault).await;
        field.pass(Duration::from_secs(2)).await;
    }
    field.ends(&mut nodes).await;
}

/// The test's own connection, which terminates others.
async fn connect(url: &str) -> DatabaseConnection {
    Database::connect(options(url, Duration::from_secs(30))).await.unwrap()
}

fn options(url: &str, patience: Duration) -> sea_orm::ConnectOptions {
    let mut options = sea_orm::ConnectOptions::new(format!("{url}?application_name=chaos"));
    options.max_connections(1).acquire_timeout(patience).sqlx_logging(false);
    options
}

/// Takes every connection that the server still accepts.
async fn fill(url: &str) -> Vec<DatabaseConnection> {
    let mut taken = Vec::new();
    let patience = Duration::from_millis(200);
    while let Ok(connection) = Database::connect(options(url, patience)).await {
        taken.push(connection);
    }
    taken
}

/// Terminates up to `some` backends that serve the nodes; returns how many there were.
async fn terminate(admin: &DatabaseConnection, some: u32) -> usize {
    let sql = format!(
        "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity \
         WHERE backend_type = 'client backend' AND application_name <> 'chaos' \
         ORDER BY random() LIMIT {some}) AS victim"
    );
    let statement = Statement::from_string(DbBackend::Postgres, sql);
    admin.query_all_raw(statement).await.unwrap().len()
}

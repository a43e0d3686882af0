use std::time::Duration;

use rand::Rng;
use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};

use super::{field::Field, postgres::Postgres, short_or_long};
use crate::support::free_port;

const LEASE: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_synchronous_standby_is_promoted() {
    let (schedules, times) = short_or_long((50, 1), (300, 6));
    let mut primary = Postgres::start(&[]).await;
    let mut standby = primary.standby(free_port()).await;
    let length = 16 * times + 4;
    let mut field = Field::new("promotion", &primary.url(), LEASE, schedules, length).await;
    let (one, other) = (primary.port, standby.port);
    let both = format!("postgres://postgres@127.0.0.1:{one},127.0.0.1:{other}/postgres");
    let mut nodes = [field.node_by("one", &both, &[]), field.node_by("two", &both, &[])];
    for node in &mut nodes {
        node.is_ready().await;
    }
    field.begins().await;
    for time in 0..times {
        wait_for_synchrony(&field, &primary).await;
        field.pass(Duration::from_secs(3)).await;
        let pause = Duration::from_millis(rand::rng().random_range(0..1_500));
        let clock = field.clock.clone();
        let fault = async {
            primary.stop_hard();
            clock.sleep(pause).await;
            let next = connect(&standby).await;
            next.execute_unprepared("SELECT pg_promote()").await.unwrap();
            next.close().await.unwrap();
        };
        field.while_hit(fault).await;
        field.pass(Duration::from_secs(5)).await;
        field.url = standby.url();
        if time + 1 < times {
            // The new standby listens on the port of the dead server.
            let port = primary.port;
            primary = standby;
            standby = primary.standby(port).await;
        }
    }
    field.ends(&mut nodes).await;
}

/// Waits until the standby is synchronous: from then on, the primary acknowledges only commits that
/// the standby has.
async fn wait_for_synchrony(field: &Field, primary: &Postgres) {
    let connection = connect(primary).await;
    for sql in ["ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"] {
        connection.execute_unprepared(sql).await.unwrap();
    }
    let sql = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
    for _ in 0..6_000 {
        let statement = Statement::from_string(DbBackend::Postgres, sql);
        if connection.query_one_raw(statement).await.unwrap().is_some() {
            connection.close().await.unwrap();
            return;
        }
        field.pass(Duration::from_millis(10)).await;
    }
    panic!("the standby did not follow within 30 s");
}

async fn connect(server: &Postgres) -> DatabaseConnection {
    Database::connect(server.url()).await.unwrap()
}

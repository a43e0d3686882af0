use std::time::Duration;

use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};

use super::{field::Field, node::Node, postgres::Postgres, short_or_long};

/// The log line of a node that learns that it was declared dead.
const NEW_LIFE: &str = "it starts a new life";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_frozen_inside_a_transaction_for_three_lease_terms() {
    let (schedules, lease, times) =
        short_or_long((50, Duration::from_secs(3), 1), (300, Duration::from_secs(5), 8));
    let postgres = Postgres::start(&[]).await;
    let length = (lease * 6 * times + lease).as_secs().cast_signed();
    let mut field = Field::new("SIGSTOP", &postgres.url(), lease, schedules, length).await;
    let mut nodes = field.nodes(["one", "two"]).await;
    let watcher = Database::connect(postgres.url()).await.unwrap();
    field.begins().await;
    for _ in 0..times {
        field.pass(lease).await;
        let victim = freeze_within_a_transaction(&mut field, &watcher, &mut nodes).await;
        // The frozen node's work is overdue from now on, and the other node must do it.
        field.hit();
        let lives = nodes[victim].said(NEW_LIFE);
        field.pass(lease * 3).await;
        nodes[victim].thaw();
        nodes[victim].says(NEW_LIFE, lives + 1).await;
    }
    let verdict = field.ends(&mut nodes).await;
    assert!(verdict.further_attempts > 0, "the frozen node had nothing to do");
}

/// Freezes a node that has an open transaction with writes and is executing something; returns its
/// index.
async fn freeze_within_a_transaction(
    field: &mut Field,
    watcher: &DatabaseConnection,
    nodes: &mut [Node],
) -> usize {
    for _ in 0..10_000 {
        for (number, node) in nodes.iter_mut().enumerate() {
            if !is_within_a_transaction(watcher, &node.name).await {
                continue;
            }
            node.freeze();
            // After a short wait, the database has processed everything that the node had sent.
            field.pass(Duration::from_millis(20)).await;
            if is_within_a_transaction(watcher, &node.name).await
                && works(watcher, &node.name).await
            {
                return number;
            }
            node.thaw();
        }
        field.pass(Duration::from_millis(1)).await;
    }
    panic!("no node was found inside a transaction");
}

async fn is_within_a_transaction(watcher: &DatabaseConnection, node: &str) -> bool {
    let sql = "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 \
               AND state = 'idle in transaction' AND backend_xid IS NOT NULL";
    exists(watcher, sql, node).await
}

async fn works(watcher: &DatabaseConnection, node: &str) -> bool {
    let sql = "SELECT 1 FROM run JOIN node ON node.id = run.node_id \
               WHERE run.state = 'running' AND node.name = $1 AND node.state = 'alive'";
    exists(watcher, sql, node).await
}

async fn exists(watcher: &DatabaseConnection, sql: &str, node: &str) -> bool {
    let statement = Statement::from_sql_and_values(DbBackend::Postgres, sql, [node.into()]);
    watcher.query_one_raw(statement).await.unwrap().is_some()
}

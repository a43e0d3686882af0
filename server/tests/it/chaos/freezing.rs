use std::time::Duration;

use super::{field::Field, postgres::Postgres, short_or_long};

/// What the log has when a node hears that it was declared dead.
const NEW_LIFE: &str = "it starts a new life";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_frozen_for_three_lease_terms() {
    let (schedules, lease, times) =
        short_or_long((50, Duration::from_secs(3), 1), (300, Duration::from_secs(5), 8));
    let postgres = Postgres::start(&[]).await;
    let length = ((lease * 3 + lease * 2) * times + lease).as_secs().cast_signed();
    let mut field = Field::new("SIGSTOP", &postgres.url(), lease, (schedules, length)).await;
    let mut nodes = field.nodes(["one", "two"]).await;
    field.begins().await;
    for time in 0..times as usize {
        field.pass(lease).await;
        let victim = time % nodes.len();
        nodes[victim].freeze();
        // What it held is overdue from now on, and the other's business.
        field.hit();
        field.pass(lease * 3).await;
        nodes[victim].thaw();
        nodes[victim].says(NEW_LIFE, time / nodes.len() + 1).await;
        field.pass(lease).await;
    }
    field.ends(&mut nodes).await;
    let refused: usize = nodes.iter().map(|node| node.said("its outcome is not recorded")).sum();
    println!("chaos SIGSTOP: {refused} stale writes were refused in batches");
}

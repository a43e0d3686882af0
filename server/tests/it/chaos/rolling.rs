use std::time::Duration;

use super::{field::Field, node::Node, postgres::Postgres, short_or_long};

/// Much longer than any step of this test, even on a slow machine. If a node waited for the expiry
/// of a node that has shut down, the test would notice.
const LEASE: Duration = Duration::from_secs(60);

/// The size of the test: how many restarts, and for how many schedules.
struct Form {
    schedules: usize,
    rounds: u32,
    every: Duration,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_are_restarted_in_turn_and_nothing_is_done_again() {
    let form = short_or_long(
        Form { schedules: 100, rounds: 1, every: Duration::from_secs(7) },
        Form { schedules: 500, rounds: 8, every: Duration::from_secs(12) },
    );
    let postgres = Postgres::start(&[]).await;
    let length = (form.every * 3 * form.rounds).as_secs().cast_signed() + 2;
    let mut field =
        Field::new("rolling restart", &postgres.url(), LEASE, form.schedules, length).await;
    let mut nodes = field.nodes(["one", "two", "three"]).await;
    field.begins().await;
    for number in 0..form.rounds as usize * nodes.len() {
        let (begun, turn) = (field.clock.instant(), number % nodes.len());
        field.pass(form.every / 3).await;
        // From now on the other nodes own the shards of this node; it only finishes its work.
        field.hit();
        nodes[turn].stop();
        restart(&mut nodes[turn]).await;
        let passed = field.clock.instant().duration_since(begun);
        field.pass(form.every.saturating_sub(passed)).await;
    }
    let verdict = field.ends(&mut nodes).await;
    assert_eq!(verdict.further_attempts, 0, "who drains hands nothing over that it has begun");
    assert_eq!(verdict.doubled, 0);
    let slowest = verdict.slowest();
    assert!(slowest < LEASE, "a start waited for {slowest:?}, as if a node had died");
    for node in &nodes {
        assert_eq!(node.said("they are released"), 0, "{} did not end its runs", node.name);
    }
}

/// Restarts a node under its name, and waits until it is ready.
async fn restart(node: &mut Node) {
    const READY: &str = "Carillon is ready at ";
    let lives = node.said(READY);
    node.start_again();
    node.says(READY, lives + 1).await;
}

use std::time::Duration;

use rand::Rng;

use super::{field::Field, postgres::Postgres, short_or_long};

/// The size of the test: how many schedules, how many kills, and the time between them.
struct Form {
    schedules: usize,
    lease: Duration,
    kills: u32,
    every: Duration,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_three_nodes_is_killed_again_and_again() {
    let form = short_or_long(
        Form {
            schedules: 100,
            lease: Duration::from_secs(3),
            kills: 4,
            every: Duration::from_millis(4_500),
        },
        Form {
            schedules: 500,
            lease: Duration::from_secs(5),
            kills: 30,
            every: Duration::from_secs(10),
        },
    );
    let postgres = Postgres::start(&[]).await;
    let length = (form.every * form.kills + form.lease).as_secs().cast_signed();
    let mut field =
        Field::new("kill -9", &postgres.url(), form.lease, form.schedules, length).await;
    let mut nodes = field.nodes(["one", "two", "three"]).await;
    field.begins().await;
    for _ in 0..form.kills {
        field.pass(form.every / 8).await;
        let victim = rand::rng().random_range(0..nodes.len());
        nodes[victim].kill();
        field.hit();
        // Sometimes the next process of the dead node cleans up after it, sometimes the others
        // must.
        let away = form.every.mul_f64(rand::rng().random_range(0.0..0.75));
        field.pass(away).await;
        nodes[victim].start_again();
        field.pass(form.every * 7 / 8 - away).await;
    }
    let verdict = field.ends(&mut nodes).await;
    assert!(verdict.further_attempts > 0, "no kill hit anything");
}

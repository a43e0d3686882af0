use std::time::Duration;

use super::{
    field::Field,
    postgres::Postgres,
    proxy::{Proxy, Way},
    short_or_long,
};

const LEASE: Duration = Duration::from_secs(5);

/// The ways from the two nodes to the database, for longer than the lease each; the short form has the
/// first.
const WEATHER: [(Way, Way); 6] = [
    (Way::Cut, Way::Slow(Duration::from_millis(150))),
    (Way::Dead, Way::Open),
    (Way::Dead, Way::Deaf),
    (Way::Cut, Way::Cut),
    (Way::Slow(Duration::from_millis(300)), Way::Slow(Duration::from_millis(600))),
    (Way::Open, Way::Deaf),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_network_to_the_database_is_cut_delayed_and_half_opened() {
    let (schedules, weathers) = short_or_long((50, 3), (200, 10 * WEATHER.len()));
    let postgres = Postgres::start(&[]).await;
    let length = i64::try_from(weathers).unwrap() * (2 * 3 + 4) + 4;
    let mut field = Field::new("network", &postgres.url(), LEASE, (schedules, length)).await;
    let ways = [Proxy::to(postgres.port).await, Proxy::to(postgres.port).await];
    let mut nodes =
        [field.node_by("one", &ways[0].url(), &[]), field.node_by("two", &ways[1].url(), &[])];
    for node in &mut nodes {
        node.is_ready().await;
    }
    field.begins().await;
    for (one, two) in WEATHER.into_iter().cycle().take(weathers) {
        field.pass(Duration::from_secs(2)).await;
        let clock = field.clock.clone();
        let fault = async {
            ways[0].becomes(one);
            ways[1].becomes(two);
            clock.sleep(LEASE * 5 / 4).await;
            for way in &ways {
                way.becomes(Way::Open);
            }
        };
        field.while_hit(fault).await;
        field.pass(Duration::from_secs(2)).await;
    }
    field.ends(&mut nodes).await;
}

use std::time::Duration;

use super::{
    field::Field,
    postgres::Postgres,
    proxy::{Proxy, Way},
    short_or_long,
};

const LEASE: Duration = Duration::from_secs(3);

/// The ways from the two nodes to the database, for so many lease terms each.
const WEATHER: [(Way, Way); 6] = [
    (Way::Cut, Way::Cut),
    (Way::Dead, Way::Open),
    (Way::Slow(Duration::from_millis(150)), Way::Slow(Duration::from_millis(400))),
    (Way::Open, Way::Deaf),
    (Way::Cut, Way::Open),
    (Way::Dead, Way::Dead),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_network_to_the_database_is_cut_delayed_and_half_opened() {
    let (schedules, times) = short_or_long((50, 1), (200, 10));
    let postgres = Postgres::start(&[]).await;
    let weathers = WEATHER.len() * times;
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
            clock.sleep(LEASE * 2).await;
            for way in &ways {
                way.becomes(Way::Open);
            }
        };
        field.while_hit(fault).await;
        field.pass(Duration::from_secs(2)).await;
    }
    field.ends(&mut nodes).await;
}

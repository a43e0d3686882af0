use std::time::Duration;

use super::{
    field::Field,
    postgres::Postgres,
    proxy::{Proxy, Way},
    short_or_long,
};

const LEASE: Duration = Duration::from_secs(5);

/// How long the network works before each fault.
const BEFORE: Duration = Duration::from_secs(2);
/// A fault lasts longer than the lease.
const FAULT: Duration = Duration::from_millis(6_250);
/// How long the network works after each fault: the lease and five seconds, within which all
/// delayed work must be done, and two seconds more, so that a late fire is attributed to this fault
/// and not to the next.
const AFTER: Duration = Duration::from_secs(5 + 5 + 2);

/// The states of the paths from the two nodes to the database; the short form breaks only the first
/// path.
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
    let short = (50, 3, Duration::from_secs(2));
    let (schedules, weathers, after) = short_or_long(short, (200, 6 * WEATHER.len(), AFTER));
    let postgres = Postgres::start(&[]).await;
    let faults = (BEFORE + FAULT + after) * u32::try_from(weathers).unwrap();
    let length = faults.as_secs().cast_signed() + 4;
    let mut field = Field::new("network", &postgres.url(), LEASE, schedules, length).await;
    let ways = [Proxy::to(postgres.port).await, Proxy::to(postgres.port).await];
    let mut nodes =
        [field.node_by("one", &ways[0].url(), &[]), field.node_by("two", &ways[1].url(), &[])];
    for node in &mut nodes {
        node.is_ready().await;
    }
    field.begins().await;
    for (one, two) in WEATHER.into_iter().cycle().take(weathers) {
        field.pass(BEFORE).await;
        let clock = field.clock.clone();
        let fault = async {
            ways[0].becomes(one);
            ways[1].becomes(two);
            clock.sleep(FAULT).await;
            for way in &ways {
                way.becomes(Way::Open);
            }
        };
        field.while_hit(fault).await;
        field.pass(after).await;
    }
    field.ends(&mut nodes).await;
}

use std::time::Duration;

use super::{
    field::Field,
    postgres::Postgres,
    proxy::{Proxy, Way},
};

const LEASE: Duration = Duration::from_secs(3);

/// How long after its grace a node must have exited, whatever the database does.
const AFTER_GRACE: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_stops_in_time_while_its_database_is_away() {
    let postgres = Postgres::start(&[]).await;
    let grace = Duration::from_secs(1);
    let short_grace = [("CARILLON_SHUTDOWN_GRACE", "1s")];
    let mut field = Field::new("stopping", &postgres.url(), LEASE, 50, 26).await;
    let way = Proxy::to(postgres.port).await;
    let mut nodes = [field.node_by("one", &way.url(), &short_grace)];
    nodes[0].is_ready().await;
    field.begins().await;
    for outage in [Way::Cut, Way::Dead] {
        field.pass(Duration::from_secs(3)).await;
        let clock = field.clock.clone();
        let fault = async {
            way.becomes(outage);
            clock.sleep(Duration::from_secs(1)).await;
            let asked = clock.instant();
            // It panics unless the exit code is 0.
            nodes[0].stop();
            let took = asked.elapsed();
            way.becomes(Way::Open);
            took
        };
        let took = field.while_hit(fault).await;
        assert!(took < grace + AFTER_GRACE, "{outage:?}: {took:?}: {}", nodes[0].log());
        nodes[0].start_again();
    }
    field.ends(&mut nodes).await;
}

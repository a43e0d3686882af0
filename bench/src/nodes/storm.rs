use std::time::Duration;

use anyhow::{Result, ensure};
use carillon::{
    clock::Clock,
    store::{Options, Store},
};
use chrono::{SubsecRound, TimeDelta, Timelike};

use super::Arguments;
use crate::{
    database::Kind,
    seed::{self, Timing},
    server::Server,
    storm::{tally, watch},
};

/// Time before the storm with all nodes running. The nodes poll only once a minute, and nothing
/// wakes them meanwhile.
const CALM: TimeDelta = TimeDelta::seconds(6);
/// A storm that takes longer is a failure.
const LIMIT: Duration = Duration::from_secs(180);
/// The interval between two polls of the database, because the commits of other processes cannot be
/// observed here. It is long enough to cost little.
const POLL: Duration = Duration::from_millis(25);

/// Performs one storm, in which nothing may be lost or duplicated; returns the number of fires per
/// second.
#[expect(clippy::cast_precision_loss, reason = "a count of schedules")]
pub(super) async fn run(arguments: &Arguments, clock: &Clock, nodes: usize) -> Result<f64> {
    let count = arguments.schedules;
    let fresh = arguments.place.fresh(Kind::Postgres).await?;
    let store = Store::open(&Options::new(&fresh.url)).await?;
    let writing = TimeDelta::milliseconds(i64::try_from(count)? / 5 + 2_000 * 3) + CALM;
    let due = (clock.now() + writing).trunc_subsecs(0) + TimeDelta::seconds(1);
    // The schedules fire daily after that, so that the claim has to compute a next fire.
    let expression = &format!("{} {} {} * * *", due.second(), due.minute(), due.hour());
    seed::schedules(&store, count, Timing { expression, due }, clock.now()).await?;
    let mut servers = Vec::new();
    for node in 0..nodes {
        servers.push(Server::start(clock, &fresh.url, &format!("node-{node}")).await?);
    }
    ensure!(clock.now() + TimeDelta::seconds(3) < due, "the machine is too busy for {nodes} nodes");
    clock.sleep_until(due).await;
    let began = clock.instant();
    while watch::is_outstanding(&store, due.into()).await? {
        ensure!(began.elapsed() < LIMIT, "the storm is not over after {LIMIT:?}");
        clock.sleep(POLL).await;
    }
    let ended = tally::last_record(&store).await?;
    tally::check(&store, count).await?;
    for server in servers {
        server.kill().await?;
    }
    store.close().await?;
    fresh.drop().await?;
    let seconds = (ended - due).as_seconds_f64();
    Ok(count as f64 / seconds)
}

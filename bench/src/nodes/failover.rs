use anyhow::{Context, Result};
use carillon::{
    clock::Clock,
    store::{Options, Store},
};
use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use sea_orm::ConnectionTrait;

use super::Arguments;
use crate::{
    database::Kind,
    seed::{self, Timing},
    server::Server,
};

/// What one kill cost, in seconds after the due instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The latest claim.
    pub(super) claim_s: f64,
    /// The latest start of a run.
    pub(super) start_s: f64,
}

/// After the start of all nodes, and after a kill: what is due until then is looked at.
const WHILE: TimeDelta = TimeDelta::seconds(10);

/// Kills one node after the other, and starts another for each.
pub(super) async fn run(arguments: &Arguments, clock: &Clock) -> Result<Vec<Found>> {
    let fresh = arguments.place.fresh(Kind::Postgres).await?;
    let store = Store::open(&Options::new(&fresh.url)).await?;
    let due = (clock.now() + TimeDelta::seconds(5)).trunc_subsecs(0);
    let timing = Timing { expression: "* * * * * *", due };
    seed::schedules(&store, arguments.ticking, timing, clock.now()).await?;
    let mut servers = Vec::new();
    for node in 0..arguments.nodes {
        servers.push(Server::start(clock, &fresh.url, &name(node)).await?);
    }
    let mut found = Vec::new();
    for kill in 0..arguments.kills {
        clock.sleep_until(clock.now() + WHILE).await;
        servers.remove(0).kill().await?;
        let killed = clock.now();
        clock.sleep_until(killed + WHILE).await;
        found.push(look(&store, killed).await?);
        eprintln!("kill {}/{}: {:.2} s", kill + 1, arguments.kills, found[kill].claim_s);
        // Its name is taken until its heartbeat has expired.
        let next = name(arguments.nodes + kill);
        servers.push(Server::start(clock, &fresh.url, &next).await?);
    }
    for server in servers {
        server.kill().await?;
    }
    store.close().await?;
    fresh.drop().await?;
    Ok(found)
}

fn name(node: usize) -> String {
    format!("node-{node}")
}

/// Of the fires due after the kill: how late the latest was claimed and started. What is not
/// claimed by the end of the look counts as claimed then; it is in the fires of schedules that
/// stand still.
async fn look(store: &Store, killed: DateTime<Utc>) -> Result<Found> {
    let (from, to) = (killed.timestamp_millis(), (killed + WHILE).timestamp_millis());
    let statement = store.dialect().statement(
        "SELECT coalesce(max(claimed_at - due_at), 0) AS claim FROM ( \
           SELECT claimed_at, due_at FROM fire WHERE due_at >= $1 AND due_at < $2 \
           UNION ALL \
           SELECT $2, next_fire_at FROM schedule WHERE enabled AND next_fire_at < $2 \
         ) late",
        [from.into(), to.into()],
    );
    let row = store.read().query_one_raw(statement).await?.context("a maximum is a row")?;
    let claim: i64 = row.try_get_by_index(0)?;
    let statement = store.dialect().statement(
        "SELECT coalesce(max(started_at - due_at), 0) FROM run WHERE due_at >= $1 AND due_at < $2",
        [from.into(), to.into()],
    );
    let row = store.read().query_one_raw(statement).await?.context("a maximum is a row")?;
    let start: i64 = row.try_get_by_index(0)?;
    let seconds = |ms: i64| TimeDelta::milliseconds(ms).as_seconds_f64();
    Ok(Found { claim_s: seconds(claim), start_s: seconds(start) })
}

use anyhow::{Context, Result, ensure};
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
    storm::tally,
};

/// The effect of one kill, in seconds after the due instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The latest claim.
    pub(super) claim_s: f64,
    /// The latest start of a run.
    pub(super) start_s: f64,
}

/// Time after the start of all nodes, and after a kill, in which due fires are examined.
const WHILE: TimeDelta = TimeDelta::seconds(10);

/// Kills one node after the other, and starts a new one for each.
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
        // The instant is taken before the node dies, because the other nodes must also take over
        // the fires that become due while it dies.
        let killed = clock.now();
        servers.remove(0).kill().await?;
        clock.sleep_until(killed + WHILE).await;
        found.push(look(&store, killed).await?);
        eprintln!("kill {}/{}: {:.2} s", kill + 1, arguments.kills, found[kill].claim_s);
        // The name of the killed node stays taken until its heartbeat has expired.
        let next = name(arguments.nodes + kill);
        servers.push(Server::start(clock, &fresh.url, &next).await?);
    }
    for server in servers {
        server.kill().await?;
    }
    check(&store, arguments.ticking, due).await?;
    store.close().await?;
    fresh.drop().await?;
    Ok(found)
}

fn name(node: usize) -> String {
    format!("node-{node}")
}

/// Checks that each instant of each schedule from `due` until its last one has exactly one row.
/// Work in progress may have been repeated, which the ledger records as a further attempt.
async fn check(store: &Store, ticking: usize, due: DateTime<Utc>) -> Result<()> {
    let due = due.timestamp_millis();
    let expected = format!("(max(last_scheduled_at) - {due}) / 1000 + 1");
    let of_each = format!(
        "SELECT schedule_id, {expected} - sum(count) AS missing FROM fire GROUP BY schedule_id"
    );
    let kept = tally::number(store, &format!("SELECT count(*) FROM ({of_each}) each")).await?;
    ensure!(usize::try_from(kept)? == ticking, "{kept} of {ticking} schedules have fired");
    for (what, sql) in [
        ("lost", "SELECT CAST(coalesce(sum(missing), 0) AS bigint) FROM each WHERE missing > 0"),
        (
            "doubled",
            "SELECT CAST(coalesce(-sum(missing), 0) AS bigint) FROM each WHERE missing < 0",
        ),
    ] {
        let count = tally::number(store, &format!("WITH each AS ({of_each}) {sql}")).await?;
        ensure!(count == 0, "{count} fires {what}");
    }
    Ok(())
}

/// How late the latest fire that was due after the kill was claimed and started. A fire that is not
/// claimed or not started by the end of the examined period counts as claimed or started then. This
/// includes the fires of schedules that no longer advance.
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
        "SELECT coalesce(max(coalesce(started_at, $2) - due_at), 0) FROM ( \
           SELECT started_at, due_at FROM run WHERE due_at >= $1 AND due_at < $2 \
           UNION ALL \
           SELECT NULL, due_at FROM fire \
             WHERE verdict = 'pending' AND due_at >= $1 AND due_at < $2 \
           UNION ALL \
           SELECT NULL, next_fire_at FROM schedule WHERE enabled AND next_fire_at < $2 \
         ) late",
        [from.into(), to.into()],
    );
    let row = store.read().query_one_raw(statement).await?.context("a maximum is a row")?;
    let start: i64 = row.try_get_by_index(0)?;
    let seconds = |ms: i64| TimeDelta::milliseconds(ms).as_seconds_f64();
    Ok(Found { claim_s: seconds(claim), start_s: seconds(start) })
}

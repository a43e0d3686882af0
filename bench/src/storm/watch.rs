use std::time::Duration;

use anyhow::{Result, ensure};
use carillon::{clock::Clock, store::Store};
use entity::Timestamp;
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::process::{Cpu, Meter};

/// The moment of a commit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) at: std::time::Instant,
    pub(super) cpu: Cpu,
    /// Commits of this process so far.
    pub(super) commits: u64,
}

const HOUR_MS: i64 = 60 * 60 * 1_000;

/// A storm that takes longer is a failure.
const LIMIT: Duration = Duration::from_secs(180);

/// The maximum interval between two checks when there are no commits.
const POLL: Duration = Duration::from_millis(250);

/// Waits until everything that was due at `due` has a recorded end, checked through `aside` after
/// each commit of `store`. Returns the moment of the commit that recorded the last end.
pub(super) async fn until_recorded(
    store: &Store,
    aside: &Store,
    clock: &Clock,
    meter: &Meter,
    due: Timestamp,
) -> Result<Moment> {
    let start = clock.instant();
    // This notices each commit that may have ended a run, once the commit is durable.
    let mut commits = store.changes().follow();
    let mut last = moment(clock, meter, *commits.borrow_and_update())?;
    while is_outstanding(aside, due).await? {
        ensure!(start.elapsed() < LIMIT, "the storm is not over after {LIMIT:?}");
        if matches!(clock.timeout(POLL, commits.changed()).await, Ok(Ok(()))) {
            last = moment(clock, meter, *commits.borrow_and_update())?;
        }
    }
    Ok(last)
}

pub(super) fn moment(clock: &Clock, meter: &Meter, commits: u64) -> Result<Moment> {
    Ok(Moment { at: clock.instant(), cpu: meter.read()?, commits })
}

/// Whether a schedule waits to be claimed, a fire to be handed over or a run to end. Each step to
/// the next is one transaction, so a single snapshot misses none. Each step also has its own index,
/// so the query costs little during the storm. If the ledger is partitioned, its days are named as
/// constants, because planning over all partitions would cost a sixth of the storm. On SQLite the
/// days are left out: its planner would prefer them to the better index, and read everything that
/// has ended.
pub(crate) async fn is_outstanding(store: &Store, due: Timestamp) -> Result<bool> {
    let (fires, runs) = if store.dialect().is_postgres() {
        let [first, last] = [due.0 - HOUR_MS, due.0 + HOUR_MS].map(key_made_at);
        (format!("AND scheduled_at = {}", due.0), format!("AND id >= '{first}' AND id < '{last}'"))
    } else {
        (String::new(), String::new())
    };
    let sql = format!(
        "SELECT EXISTS (SELECT 1 FROM schedule \
             WHERE enabled AND next_fire_at IS NOT NULL AND next_fire_at <= $1) \
           OR EXISTS (SELECT 1 FROM fire \
             WHERE verdict = 'pending' AND claimed_by IS NOT NULL {fires}) \
           OR EXISTS (SELECT 1 FROM fire \
             WHERE verdict = 'pending' AND claimed_by IS NULL AND queue_position IS NULL {fires}) \
           OR EXISTS (SELECT 1 FROM run WHERE state IN ('queued', 'running', 'retrying') {runs})"
    );
    let statement = store.dialect().statement(sql, [due.0.into()]);
    let row = store.read().query_one_raw(statement).await?;
    Ok(row.map(|row| row.try_get_by_index::<bool>(0)).transpose()?.unwrap_or(true))
}

/// The smallest key of an instant.
fn key_made_at(ms: i64) -> Uuid {
    Uuid::from_u128(u128::from(ms.unsigned_abs()) << 80)
}

//! Retention: removes old history, and everything that is no longer needed with it.
//!
//! A row that can still change is never removed, however old it is:
//! its age counts from the time when it was settled. Only one node at a time removes history.
//! If two did, one of them would find nothing left to remove.
//!
//! On PostgreSQL, partitions for the coming days are created here, and a whole day is dropped when
//! the longest retention period has passed. History with a shorter period is deleted before that,
//! in chunks. On SQLite, everything is deleted in chunks.
//! A chunk occupies the writer for at most 50 ms, and other writers go first between two chunks.
//!
//! - `pace`: decides how large a chunk is; no IO
//! - `days`: decides which daily partitions to create and to drop; no IO
//! - `round`: deletes in chunks, under the lease
//! - `preview`: shows which rows a round would remove
//! - `keeper`: repeats rounds, on one node at a time

mod days;
mod keeper;
mod pace;
mod preview;
mod round;

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;
use uuid::Uuid;

pub(in crate::engine) use keeper::Keeper;
pub use keeper::LEASE;
pub use preview::{RemovalPreview, preview};

use self::{pace::DeletionPaces, round::RetentionRound};
use crate::{
    clock::Clock,
    engine::{EngineError, cluster::LeaseTerm, core::Core, jobs},
    model::Retention,
    store::{
        Store,
        days::{DAY_MS, first_key},
        retention::{Leftover, TableFamily},
    },
    telemetry::Instruments,
};

/// The results of a retention round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionReport {
    /// Number of fires removed.
    pub fires: u64,
    /// Number of runs removed.
    pub runs: u64,
    /// Number of attempts removed.
    pub attempts: u64,
    /// Number of log lines removed.
    pub lines: u64,
    /// Number of sessions, stored answers of idempotent
    /// calls, schedules, workflows and nodes removed.
    pub leftovers: u64,
    /// Number of partitions created.
    pub made: usize,
    /// Number of partitions dropped.
    pub dropped: usize,
    /// Number of changes of partitions that were refused. They are retried soon.
    pub postponed: usize,
    /// Number of transactions that deleted rows.
    pub chunks: usize,
    /// The duration of the longest of these transactions.
    pub longest_chunk: Duration,
    /// Whether the round removed nothing because the clock cannot be trusted.
    pub is_clock_ahead: bool,
}

/// How a round is run.
#[derive(Clone, Debug, Default)]
pub struct RoundOptions {
    /// The lease term of the node that runs the round for the whole cluster, and the length of a
    /// term; `None` if an operator runs the round by hand.
    lease: Option<(LeaseTerm, Duration)>,
    /// The pause between two chunks.
    /// A writer in another process retries only every 100 ms, so it needs a gap to write in.
    pause: Duration,
    /// Number of rows removed so far.
    removed: Arc<AtomicU64>,
}

impl RoundOptions {
    /// The options of a round that an operator runs by hand, with this pause between two chunks.
    /// The round counts in `removed` the rows that it has removed.
    pub fn by_hand(pause: Duration, removed: Arc<AtomicU64>) -> Self {
        Self { lease: None, pause, removed }
    }
}

/// Settled history that exceeds a namespace's quota of rows.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct HistoryExcess {
    /// The namespace whose history is cut.
    pub(in crate::engine) namespace: Uuid,
    /// The start of the oldest period.
    pub(in crate::engine) oldest: Timestamp,
    /// The instant before which settled rows are removed.
    pub(in crate::engine) until: Timestamp,
    /// Runs with stamps above this one are kept, because not every reader has read them.
    pub(in crate::engine) read: i64,
}

/// A clock that is further ahead of the database's than this
/// is wrong and would remove history too early.
const MAX_AHEAD: TimeDelta = TimeDelta::hours(1);

/// Removes all history whose retention has passed at `now`.
pub async fn run_once(
    settings: &Retention,
    store: &Store,
    clock: &Clock,
    metrics: &Instruments,
    now: DateTime<Utc>,
    manner: RoundOptions,
) -> Result<RetentionReport, EngineError> {
    let ahead = now - store.lease_time().await?.utc();
    if ahead > MAX_AHEAD {
        tracing::error!(
            ahead_s = ahead.num_seconds(),
            "nothing is removed: the clock here is ahead of the database's; set it right"
        );
        return Ok(RetentionReport { is_clock_ahead: true, ..RetentionReport::default() });
    }
    let policies = store.retention_policies(settings.days, None, None).await?;
    let mut round = RetentionRound {
        settings,
        store,
        clock,
        metrics,
        now,
        manner,
        renewed: clock.instant(),
        is_over: false,
        rule: store.retention_rule(policies, settings.days, now.into()),
        is_cut: false,
        first: Uuid::nil(),
        paces: DeletionPaces::new(!store.dialect().is_postgres()),
        report: RetentionReport::default(),
    };
    if store.dialect().is_postgres() {
        for family in TableFamily::ALL {
            round.make_days(family, policies.longest).await?;
            round.drop_days(family).await?;
        }
    }
    round.end_namespaces().await?;
    round.sweep_runs().await?;
    round.sweep_fires().await?;
    for what in Leftover::ALL {
        round.purge(what).await?;
    }
    jobs::forget(store, clock).await?;
    Ok(round.report)
}

/// Removes history that exceeds a quota, and records the cut.
/// Returns `None` if another node has taken the lease: the next round removes the rest.
pub(in crate::engine) async fn cut(
    core: &Core,
    lease: LeaseTerm,
    term: Duration,
    excess: HistoryExcess,
    now: DateTime<Utc>,
) -> Result<Option<RetentionReport>, EngineError> {
    let HistoryExcess { namespace, oldest, until, read } = excess;
    let settings = core.settings.retention.unwrap_or_default();
    let mut round = RetentionRound {
        settings: &settings,
        store: &core.store,
        clock: &core.clock,
        metrics: &core.metrics,
        now,
        manner: RoundOptions { lease: Some((lease, term)), ..RoundOptions::default() },
        renewed: core.clock.instant(),
        is_over: false,
        rule: core.store.rule_of_cut(namespace, until, read, now.into()),
        is_cut: true,
        // Start a day earlier: rows may take up to a day to be counted.
        // Retention removes anything older.
        first: first_key(oldest.0 - DAY_MS),
        paces: DeletionPaces::new(!core.store.dialect().is_postgres()),
        report: RetentionReport::default(),
    };
    round.sweep_runs().await?;
    round.sweep_fires().await?;
    if !round.goes_on().await? {
        return Ok(None);
    }
    let left = core.store.log_bytes_left(namespace, round.first, until).await?;
    let Some(tx) = round.begin().await? else { return Ok(None) };
    core.store.record_cut(&tx, namespace, until, &left, now.into()).await?;
    core.store.commit_unseen(tx).await?;
    Ok(Some(round.report))
}

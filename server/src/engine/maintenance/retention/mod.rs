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
//! - `preview`: shows which rows a round would remove
//! - `keeper`: repeats rounds, on one node at a time

mod days;
mod keeper;
mod pace;
mod preview;

use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;
use uuid::Uuid;

pub(in crate::engine) use keeper::Keeper;
pub use keeper::LEASE;
pub use preview::{RemovalPreview, preview};

use self::pace::{Done, Paces, fitting};
use crate::{
    clock::Clock,
    engine::{EngineError, cluster::LeaseTerm, core::Core, jobs},
    model::Retention,
    store::{
        DatabaseTransaction, Store,
        days::{DAY_MS, first_key},
        leases::{Fence, LeaseState},
        retention::{Dropped, Family, FireKey, Leftover, PartKey, RetentionRule, RunPart},
    },
    telemetry::Metrics,
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
    tenure: Option<(LeaseTerm, Duration)>,
    /// The pause between two chunks.
    /// A writer in another process retries only every 100 ms, so it needs a gap to write in.
    pause: Duration,
}

impl RoundOptions {
    /// The options of a round that an operator runs by hand, with this pause between two chunks.
    pub fn by_hand(pause: Duration) -> Self {
        Self { tenure: None, pause }
    }
}

/// The inputs and state of one round.
#[derive(Debug)]
struct RetentionRound<'a> {
    settings: &'a Retention,
    store: &'a Store,
    clock: &'a Clock,
    metrics: &'a Metrics,
    now: DateTime<Utc>,
    manner: RoundOptions,
    /// When the lease was last taken.
    renewed: Instant,
    /// Whether another node has taken the lease.
    is_over: bool,
    rule: RetentionRule,
    /// Whether the round cuts history to a quota: then its rule does not change during the round.
    is_cut: bool,
    /// The key after which the search for old rows begins.
    first: Uuid,
    paces: Paces,
    report: RetentionReport,
}

/// Settled history that exceeds a namespace's quota of rows.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Excess {
    /// The namespace whose history is cut.
    pub(in crate::engine) namespace: Uuid,
    /// The start of the oldest period.
    pub(in crate::engine) oldest: Timestamp,
    /// The instant before which settled rows are removed.
    pub(in crate::engine) until: Timestamp,
    /// Runs with stamps above this one are kept, because not every reader has read them.
    pub(in crate::engine) read: i64,
}

/// How often the lease is renewed in a round.
const RENEWAL: Duration = Duration::from_secs(10);
/// A clock that is further ahead of the database's than this
/// is wrong and would remove history too early.
const MAX_AHEAD: TimeDelta = TimeDelta::hours(1);

/// The rows that one transaction deletes.
#[derive(Clone, Copy, Debug)]
enum DeletionChunk<'a> {
    Parts(RunPart, &'a [PartKey]),
    Runs(&'a [Uuid]),
    /// Fires, and the stamp of runs at which they were found.
    Fires(&'a [FireKey], i64),
    Leftovers(Leftover, u64),
    Definitions(Leftover, &'a [Uuid]),
}

/// Removes all history whose retention has passed at `now`.
pub async fn run_once(
    settings: &Retention,
    store: &Store,
    clock: &Clock,
    metrics: &Metrics,
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
        paces: Paces::new(!store.dialect().is_postgres()),
        report: RetentionReport::default(),
    };
    if store.dialect().is_postgres() {
        for family in Family::ALL {
            round.make_days(family, policies.longest).await?;
            round.drop_days(family).await?;
        }
    }
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
    (tenure, term): (LeaseTerm, Duration),
    excess: Excess,
    now: DateTime<Utc>,
) -> Result<Option<RetentionReport>, EngineError> {
    let Excess { namespace, oldest, until, read } = excess;
    let settings = core.settings.retention.unwrap_or_default();
    let mut round = RetentionRound {
        settings: &settings,
        store: &core.store,
        clock: &core.clock,
        metrics: &core.metrics,
        now,
        manner: RoundOptions { tenure: Some((tenure, term)), ..RoundOptions::default() },
        renewed: core.clock.instant(),
        is_over: false,
        rule: core.store.rule_of_cut(namespace, until, read, now.into()),
        is_cut: true,
        // Start a day earlier: rows may take up to a day to be counted.
        // Retention removes anything older.
        first: first_key(oldest.0 - DAY_MS),
        paces: Paces::new(!core.store.dialect().is_postgres()),
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

impl RetentionRound<'_> {
    /// Whether this node still has the lease. Also reads the retention rules again: a namespace
    /// that extends its retention must take effect before the round ends.
    async fn goes_on(&mut self) -> Result<bool, EngineError> {
        if let Some((tenure, term)) = &mut self.manner.tenure
            && self.clock.instant().saturating_duration_since(self.renewed) >= RENEWAL
        {
            self.renewed = self.clock.instant();
            let Fence { name, holder, epoch } = tenure.fence;
            match self.store.hold_lease_if_free(name, holder, *term).await? {
                LeaseState::Held(now) if now == epoch => {
                    *tenure = LeaseTerm::new(tenure.fence.clone(), self.renewed, *term);
                }
                LeaseState::Held(_) | LeaseState::Elsewhere => self.is_over = true,
            }
        }
        if !self.is_cut {
            let policies = self.store.retention_policies(self.settings.days, None, None).await?;
            let rule = self.store.retention_rule(policies, self.settings.days, self.now.into());
            self.rule = rule.with_days_of(&self.rule);
        }
        Ok(!self.is_over)
    }

    async fn make_days(&mut self, family: Family, longest: i32) -> Result<(), EngineError> {
        if !self.goes_on().await? {
            return Ok(());
        }
        let fence = self.manner.tenure.as_ref().map(|(tenure, _)| tenure.fence.clone());
        let layout = self.store.partitions(self.store.read(), family).await?;
        for new in days::to_make(&layout, self.now.into(), longest) {
            if !self.store.add_stretch(family, new.stretch, new.seal, fence.as_ref()).await? {
                self.report.postponed += 1;
                return Ok(());
            }
            self.report.made += 1;
            self.metrics.partitions("made", 1);
        }
        Ok(())
    }

    async fn drop_days(&mut self, family: Family) -> Result<(), EngineError> {
        while self.goes_on().await? {
            let layout = self.store.partitions(self.store.read(), family).await?;
            let kept = days::kept_from(&layout, self.rule.last());
            self.rule = self.rule.keeping(family, kept);
            let Some(stretch) = days::to_drop(&layout, self.rule.last()).first().copied() else {
                return Ok(());
            };
            let fence = self.manner.tenure.as_ref().map(|(tenure, _)| &tenure.fence);
            match self.store.drop_stretch(family, stretch, &self.rule, fence).await? {
                Dropped::Gone(rows) => {
                    self.report.dropped += 1;
                    self.metrics.partitions("dropped", 1);
                    for (table, rows) in family.tables().iter().zip(rows) {
                        self.removed(table, rows);
                    }
                }
                // Dropping the next partition would leave a gap, so old rows are deleted in chunks.
                Dropped::Needed => return Ok(()),
                Dropped::Postponed => {
                    self.rule = self.rule.keeping(family, stretch.from);
                    self.report.postponed += 1;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    async fn sweep_runs(&mut self) -> Result<(), EngineError> {
        let mut after = self.first;
        while self.goes_on().await? {
            let mut old = self.store.old_runs(&self.rule, after, self.paces.rows("run")).await?;
            old.truncate(fitting(old.iter().map(|run| run.bytes)));
            let Some(last) = old.last() else { return Ok(()) };
            after = last.id;
            let runs: Vec<Uuid> = old.iter().map(|run| run.id).collect();
            // A run can have more lines than one chunk takes.
            // The run's row is deleted last, so that the next chunk finds the rest of the lines.
            for part in [RunPart::Lines, RunPart::Attempts] {
                loop {
                    let limit = self.paces.rows(part.table());
                    let mut keys = self.store.parts_of(part, &runs, limit).await?;
                    keys.truncate(fitting(keys.iter().map(|key| key.bytes)));
                    if keys.is_empty() || self.is_over {
                        break;
                    }
                    self.chunk(DeletionChunk::Parts(part, &keys)).await?;
                }
            }
            self.chunk(DeletionChunk::Runs(&runs)).await?;
        }
        Ok(())
    }

    async fn sweep_fires(&mut self) -> Result<(), EngineError> {
        let mut after = self.first;
        while self.goes_on().await? {
            let limit = self.paces.rows("fire");
            let (fires, since) = self.store.old_fires(&self.rule, after, limit).await?;
            let Some(last) = fires.last() else { return Ok(()) };
            after = last.id;
            self.chunk(DeletionChunk::Fires(&fires, since)).await?;
        }
        Ok(())
    }

    async fn purge(&mut self, what: Leftover) -> Result<(), EngineError> {
        while self.goes_on().await? {
            let limit = self.paces.rows(what.table());
            let deleted = if what.is_looked_for_before() {
                let old = self.store.old_definitions(what, &self.rule, limit).await?;
                self.chunk(DeletionChunk::Definitions(what, &old)).await?
            } else {
                let (rule, answers) = (&self.rule, self.settings.answers);
                match self.store.leftovers(what, rule, answers, limit).await? {
                    0 => return Ok(()),
                    found => self.chunk(DeletionChunk::Leftovers(what, found)).await?,
                }
            };
            if deleted < limit {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Begins a transaction; `None` if the lease term is over.
    async fn begin(&self) -> Result<Option<DatabaseTransaction>, EngineError> {
        Ok(match &self.manner.tenure {
            None => Some(self.store.begin().await?),
            Some((tenure, _)) => tenure.begin(self.store, self.clock).await?,
        })
    }

    /// Deletes one chunk in a transaction. The duration of that transaction, from when it has the
    /// writer until it is committed, determines the size of the next chunk.
    async fn chunk(&mut self, chunk: DeletionChunk<'_>) -> Result<u64, EngineError> {
        let store = self.store;
        let Some(tx) = self.begin().await? else {
            self.is_over = true;
            return Ok(0);
        };
        let start = self.clock.instant();
        let (table, deleted) = match chunk {
            DeletionChunk::Parts(part, keys) => {
                (part.table(), store.delete_parts(&tx, part, keys).await?)
            }
            DeletionChunk::Runs(runs) => ("run", store.delete_settled_runs(&tx, runs).await?),
            DeletionChunk::Fires(fires, since) => {
                ("fire", store.delete_fires_if_old(&tx, &self.rule, fires, since).await?)
            }
            DeletionChunk::Definitions(what, old) => {
                (what.table(), store.delete_definitions(&tx, what, old).await?)
            }
            DeletionChunk::Leftovers(what, limit) => {
                let (rule, answers) = (&self.rule, self.settings.answers);
                let deleted = store.delete_leftovers(&tx, what, rule, answers, limit).await?;
                (what.table(), deleted)
            }
        };
        let worked = start.elapsed();
        store.commit_unseen(tx).await?;
        let took = start.elapsed();
        if deleted > 0 {
            self.paces.learn(table, Done { rows: deleted, worked, took });
            self.report.chunks += 1;
            self.report.longest_chunk = self.report.longest_chunk.max(took);
            self.metrics.retention_chunk(took);
            self.removed(table, deleted);
            store.settle_log().await?;
        }
        if self.manner.pause.is_zero() {
            // A waiting writer comes before the next chunk in the queue.
            tokio::task::yield_now().await;
        } else {
            self.clock.sleep(self.manner.pause).await;
        }
        Ok(deleted)
    }

    fn removed(&mut self, table: &'static str, rows: u64) {
        let report = &mut self.report;
        let count = match table {
            "fire" => &mut report.fires,
            "run" => &mut report.runs,
            "task_run" => &mut report.attempts,
            "task_log" => &mut report.lines,
            _ => &mut report.leftovers,
        };
        *count += rows;
        self.metrics.retention_rows(table, rows);
    }
}

//! One round: it deletes in chunks, and stops when another node has taken the lease.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{
    RetentionReport, RoundOptions, days,
    pace::{DeletionPaces, FinishedChunk, fitting},
};
use crate::{
    clock::Clock,
    engine::{EngineError, cluster::LeaseTerm},
    model::Retention,
    store::{
        DatabaseTransaction, Store, deleted_namespaces,
        leases::{Fence, LeaseState},
        retention::{
            FireKey, Leftover, PartKey, PartitionDrop, RetentionRule, RunPart, TableFamily,
        },
    },
    telemetry::Instruments,
};

/// The inputs and state of one round.
#[derive(Debug)]
pub(super) struct RetentionRound<'a> {
    pub(super) settings: &'a Retention,
    pub(super) store: &'a Store,
    pub(super) clock: &'a Clock,
    pub(super) metrics: &'a Instruments,
    pub(super) now: DateTime<Utc>,
    pub(super) manner: RoundOptions,
    /// When the lease was last taken.
    pub(super) renewed: Instant,
    /// Whether another node has taken the lease.
    pub(super) is_over: bool,
    pub(super) rule: RetentionRule,
    /// Whether the round cuts history to a quota: then its rule does not change during the round.
    pub(super) is_cut: bool,
    /// The key after which the search for old rows begins.
    pub(super) first: Uuid,
    pub(super) paces: DeletionPaces,
    pub(super) report: RetentionReport,
}

/// Maximum number of rows of a deleted namespace, outside the ledger, that one transaction removes.
const PIECE: u64 = 500;
/// How often the lease is renewed in a round.
const RENEWAL: Duration = Duration::from_secs(10);

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

impl RetentionRound<'_> {
    /// Whether this node still has the lease. Also reads the retention rules again: a namespace
    /// that extends its retention must take effect before the round ends.
    pub(super) async fn goes_on(&mut self) -> Result<bool, EngineError> {
        if let Some((lease, term)) = &mut self.manner.lease
            && self.clock.instant().saturating_duration_since(self.renewed) >= RENEWAL
        {
            self.renewed = self.clock.instant();
            let Fence { name, holder, epoch } = lease.fence;
            match self.store.hold_lease_if_free(name, holder, *term).await? {
                LeaseState::Held(now) if now == epoch => {
                    *lease = LeaseTerm::new(lease.fence.clone(), self.renewed, *term);
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

    pub(super) async fn make_days(
        &mut self,
        family: TableFamily,
        longest: i32,
    ) -> Result<(), EngineError> {
        if !self.goes_on().await? {
            return Ok(());
        }
        let fence = self.manner.lease.as_ref().map(|(lease, _)| lease.fence.clone());
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

    pub(super) async fn drop_days(&mut self, family: TableFamily) -> Result<(), EngineError> {
        while self.goes_on().await? {
            let layout = self.store.partitions(self.store.read(), family).await?;
            let kept = days::kept_from(&layout, self.rule.last());
            self.rule = self.rule.keeping(family, kept);
            let Some(stretch) = days::to_drop(&layout, self.rule.last()).first().copied() else {
                return Ok(());
            };
            let fence = self.manner.lease.as_ref().map(|(lease, _)| &lease.fence);
            match self.store.drop_stretch(family, stretch, &self.rule, fence).await? {
                PartitionDrop::Gone(rows) => {
                    self.report.dropped += 1;
                    self.metrics.partitions("dropped", 1);
                    for (table, rows) in family.tables().iter().zip(rows) {
                        self.removed(table, rows);
                    }
                }
                // Dropping the next partition would leave a gap, so old rows are deleted in chunks.
                PartitionDrop::Needed => return Ok(()),
                PartitionDrop::Postponed => {
                    self.rule = self.rule.keeping(family, stretch.from);
                    self.report.postponed += 1;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    pub(super) async fn sweep_runs(&mut self) -> Result<(), EngineError> {
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

    pub(super) async fn sweep_fires(&mut self) -> Result<(), EngineError> {
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

    pub(super) async fn purge(&mut self, what: Leftover) -> Result<(), EngineError> {
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

    /// Advances the removal of namespaces that were deleted a week ago. Their history and schedules
    /// are then removed like those that are too old.
    pub(super) async fn end_namespaces(&mut self) -> Result<(), EngineError> {
        if deleted_namespaces::hidden(self.store.read()).await?.is_empty() {
            return Ok(());
        }
        let Some(tx) = self.begin().await? else {
            self.is_over = true;
            return Ok(());
        };
        self.store.end_namespaces(&tx, self.now.into()).await?;
        self.store.commit(tx).await?;
        while self.goes_on().await? {
            let Some(tx) = self.begin().await? else {
                self.is_over = true;
                return Ok(());
            };
            let removed = self.store.remove_of_namespaces(&tx, self.now.into(), PIECE).await?;
            self.store.commit_unseen(tx).await?;
            self.report.leftovers += removed;
            self.manner.removed.fetch_add(removed, Ordering::Relaxed);
            if removed == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Begins a transaction; `None` if the lease term is over.
    pub(super) async fn begin(&self) -> Result<Option<DatabaseTransaction>, EngineError> {
        Ok(match &self.manner.lease {
            None => Some(self.store.begin().await?),
            Some((lease, _)) => lease.begin(self.store, self.clock).await?,
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
            self.paces.learn(table, FinishedChunk { rows: deleted, worked, took });
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
        self.manner.removed.fetch_add(rows, Ordering::Relaxed);
        self.metrics.retention_rows(table, rows);
    }
}

//! Reads failures by cursors, for the rules that report them.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use entity::alert::{Kind, Model};
use uuid::Uuid;

use super::{
    judge::{self, AlertPlan, FailureFacts},
    rule::ActiveRule,
    scope::{RuleScopes, by_namespace},
};
use crate::{
    engine::{EngineError, cluster::LeaseTerm, core::Core},
    store::{
        Cursor,
        alerts::{
            feeds::{self, BadRun, Feed, LostFire, LostNode},
            notes, standing,
        },
    },
};

/// Maximum number of rows read per transaction.
const BATCH: u64 = 500;

/// The maximum time between a verdict's timestamp and its commit: no transaction stays open longer.
const LOOK_BACK: TimeDelta = TimeDelta::minutes(10);

/// Maximum number of batches that a round reads from one feed.
/// Even after a storm of failures, the round continues with the other feeds and with sending.
const MAX_BATCHES: usize = 20;

/// Maximum number of rows written per transaction, however many rules match a batch.
pub(super) const MAX_WRITTEN: usize = 2_000;

/// Where a pass starts to read the fires that were not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScanStart {
    /// The pass starts where the last one ended.
    Cursor,
    /// The pass starts early enough to include every
    /// transaction that was open during the last pass.
    Before,
    /// The pass starts early enough to include every transaction that was open when the last pass
    /// ended. The node that made that pass may have stopped before its next one.
    LongBefore,
    /// The pass continues where the last one was interrupted.
    At(Cursor),
}

impl ScanStart {
    fn start(self, cursor: Cursor, now: DateTime<Utc>) -> Cursor {
        let before =
            |at: i64| Cursor { changed: at - LOOK_BACK.num_milliseconds(), id: Uuid::nil() };
        match self {
            Self::Cursor => cursor,
            Self::Before => cursor.min(before(now.timestamp_millis())),
            Self::LongBefore => before(cursor.changed.min(now.timestamp_millis())),
            Self::At(place) => place,
        }
    }
}

/// The pass over all failures in one round of the service.
pub(super) struct FailurePass<'a> {
    pub(super) core: &'a Core,
    pub(super) lease: &'a LeaseTerm,
    pub(super) rules: &'a [ActiveRule],
    pub(super) now: DateTime<Utc>,
    /// Number of alerts opened in this pass.
    pub(super) noted: usize,
}

impl FailurePass<'_> {
    /// Creates missing cursors of feeds, in case the creation of a rule did not.
    pub(super) async fn begin(&self) -> Result<(), EngineError> {
        let store = &self.core.store;
        for feed in Feed::ALL {
            if feeds::cursor(store, feed).await?.is_some() {
                continue;
            }
            let ends = feeds::ends(store, self.now.into()).await?;
            let Some(tx) = self.lease.begin(store, &self.core.clock).await? else { break };
            feeds::begin(&tx, &ends).await?;
            store.commit(tx).await?;
        }
        Ok(())
    }

    /// Records runs that failed.
    pub(super) async fn at_failures(&mut self) -> Result<(), EngineError> {
        let store = &self.core.store;
        for _ in 0..MAX_BATCHES {
            let Some(from) = feeds::cursor(store, Feed::Failures).await? else { return Ok(()) };
            let mut runs = feeds::failures(store, from, BATCH).await?;
            if runs.is_empty() {
                return Ok(());
            }
            let mut is_more = is_full(&runs);
            let scopes = self.scopes(runs.iter().map(|r| (r.namespace_id, r.schedule_id))).await?;
            let mut schedules: Vec<Uuid> = runs.iter().map(|run| run.schedule_id).collect();
            schedules.sort_unstable();
            schedules.dedup();
            let streaks = self.streaks(&schedules, &runs).await?;
            let open = notes::open_of(store, &schedules, &[Kind::Failed, Kind::Losing]).await?;
            let facts = FailureFacts {
                rules: self.rules,
                scopes: &scopes,
                streaks: &streaks,
                open: &open,
                now: self.now,
            };
            let plan =
                bounded(&mut runs, &mut is_more, |runs: &[BadRun]| judge::failures(runs, &facts));
            let Some(last) = runs.last().map(BadRun::cursor) else { return Ok(()) };
            if !self.write(plan, Some((Feed::Failures, from, last))).await? || !is_more {
                return Ok(());
            }
        }
        Ok(())
    }

    /// How many runs of each schedule have failed in a row. A streak that a success has ended is
    /// counted up to its last failure among `runs`, which no earlier round has recorded.
    async fn streaks(
        &self,
        schedules: &[Uuid],
        runs: &[BadRun],
    ) -> Result<HashMap<Uuid, i64>, EngineError> {
        let store = &self.core.store;
        let now: Vec<(Uuid, Uuid)> =
            schedules.iter().map(|schedule| (*schedule, Uuid::max())).collect();
        let mut streaks: HashMap<Uuid, i64> =
            standing::streaks(store, &now).await?.into_iter().collect();
        let mut over: HashMap<Uuid, Uuid> = HashMap::new();
        for run in runs.iter().filter(|run| streaks.get(&run.schedule_id) == Some(&0)) {
            let last = over.entry(run.schedule_id).or_insert(run.id);
            *last = run.id.max(*last);
        }
        let over: Vec<(Uuid, Uuid)> = over.into_iter().collect();
        streaks.extend(standing::streaks(store, &over).await?);
        Ok(streaks)
    }

    /// Records runs that started late.
    pub(super) async fn at_late(&mut self) -> Result<(), EngineError> {
        let store = &self.core.store;
        for _ in 0..MAX_BATCHES {
            let Some(from) = feeds::cursor(store, Feed::Late).await? else { return Ok(()) };
            let mut runs = feeds::late(store, from, BATCH).await?;
            if runs.is_empty() {
                return Ok(());
            }
            let mut is_more = is_full(&runs);
            let scopes = self.scopes(runs.iter().map(|r| (r.namespace_id, r.schedule_id))).await?;
            let (rules, now) = (self.rules, self.now);
            let judge = |runs: &[BadRun]| only_new(judge::late(runs, rules, &scopes, now));
            let plan = bounded(&mut runs, &mut is_more, judge);
            let Some(last) = runs.last().map(BadRun::cursor) else { return Ok(()) };
            if !self.write(plan, Some((Feed::Late, from, last))).await? || !is_more {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Records fires that were not run. Starts where the last pass ended or some time before, and
    /// returns where to continue if rows are left.
    pub(super) async fn at_missed(
        &mut self,
        from: ScanStart,
    ) -> Result<Option<Cursor>, EngineError> {
        let store = &self.core.store;
        let Some(mut cursor) = feeds::cursor(store, Feed::Missed).await? else { return Ok(None) };
        let mut after = from.start(cursor, self.now);
        for _ in 0..MAX_BATCHES {
            let begin = after;
            let mut fires = feeds::missed(store, after, BATCH).await?;
            let mut is_more = is_full(&fires);
            let scopes = self.scopes(fires.iter().map(|f| (f.namespace_id, f.schedule_id))).await?;
            let (rules, now) = (self.rules, self.now);
            let judge = |fires: &[LostFire]| only_new(judge::missed(fires, rules, &scopes, now));
            let mut plan = bounded(&mut fires, &mut is_more, judge);
            let Some(last) = fires.last() else { return Ok(None) };
            after = Cursor { changed: last.decided_at.0, id: last.id };
            let moved = (after > cursor).then_some((Feed::Missed, cursor, after));
            cursor = cursor.max(after);
            // Rows that are read a second time are usually
            // recorded already, and need no transaction.
            let known = notes::known(store, &plan.new).await?;
            plan.new.retain(|new| !known.contains(&(new.rule_id, new.occurrence.clone())));
            if !self.write(plan, moved).await? {
                return Ok(Some(begin));
            }
            if !is_more {
                return Ok(None);
            }
        }
        Ok(Some(after))
    }

    /// Records nodes that were lost.
    pub(super) async fn at_nodes(&mut self) -> Result<(), EngineError> {
        let store = &self.core.store;
        let Some(from) = feeds::cursor(store, Feed::Nodes).await? else { return Ok(()) };
        let mut nodes = feeds::nodes(store, from, BATCH).await?;
        let (rules, now) = (self.rules, self.now);
        let judge = |nodes: &[LostNode]| only_new(judge::nodes(nodes, rules, now));
        // The next round reads the rows that `bounded` leaves out.
        let plan = bounded(&mut nodes, &mut false, judge);
        let Some(last) = nodes.last() else { return Ok(()) };
        let to = Cursor { changed: last.changed, id: last.id };
        self.write(plan, Some((Feed::Nodes, from, to))).await?;
        Ok(())
    }

    pub(super) async fn scopes(
        &self,
        schedules: impl Iterator<Item = (Uuid, Uuid)>,
    ) -> Result<RuleScopes, EngineError> {
        let by = by_namespace(schedules);
        Ok(RuleScopes::read(&self.core.store, self.rules, &by, self.now.into()).await?)
    }

    /// Writes the alerts and the new cursor in one transaction.
    /// Returns false if the pass must stop: the term is over, or another node has moved the cursor.
    pub(super) async fn write(
        &mut self,
        plan: AlertPlan,
        moved: Option<(Feed, Cursor, Cursor)>,
    ) -> Result<bool, EngineError> {
        let store = &self.core.store;
        if plan.is_empty() && moved.is_none() {
            return Ok(true);
        }
        let Some(tx) = self.lease.begin(store, &self.core.clock).await? else { return Ok(false) };
        if let Some((feed, from, to)) = moved
            && !feeds::move_if_at(&tx, feed, from, to).await?
        {
            tx.rollback().await?;
            return Ok(false);
        }
        let noted = plan.new.len();
        notes::add_new(store, &tx, plan.new).await?;
        notes::go_on(store, &tx, &plan.going).await?;
        store.commit(tx).await?;
        self.noted += noted;
        Ok(true)
    }

    /// Writes new alerts, in transactions of at most `MAX_WRITTEN`.
    pub(super) async fn write_new(&mut self, mut new: Vec<Model>) -> Result<(), EngineError> {
        while !new.is_empty() {
            let rest = new.split_off(new.len().min(MAX_WRITTEN));
            self.write(AlertPlan { new, ..AlertPlan::default() }, None).await?;
            new = rest;
        }
        Ok(())
    }
}

/// Judges only as many of the first rows as one transaction may write.
/// The others are removed from `rows`, and a later round reads them again.
fn bounded<T>(
    rows: &mut Vec<T>,
    is_more: &mut bool,
    judge: impl Fn(&[T]) -> AlertPlan,
) -> AlertPlan {
    loop {
        let plan = judge(rows);
        if plan.new.len() + plan.going.len() <= MAX_WRITTEN || rows.len() <= 1 {
            return plan;
        }
        rows.truncate(rows.len() / 2);
        *is_more = true;
    }
}

fn is_full<T>(rows: &[T]) -> bool {
    u64::try_from(rows.len()).is_ok_and(|count| count >= BATCH)
}

fn only_new(new: Vec<Model>) -> AlertPlan {
    AlertPlan { new, ..AlertPlan::default() }
}

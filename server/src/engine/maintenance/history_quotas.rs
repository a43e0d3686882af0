//! Keeps the history of each namespace within its quota of rows.
//! The oldest settled history is removed first, before its retention has passed.
//!
//! Only counts are read to find a namespace that is over its quota.
//! Its real rows are counted before any of them is removed, because the counts can be too high
//! (`store::recount`). Each count covers ten minutes, so a cut is accurate to ten minutes.
//! A cut also frees some extra room, so that not every round has to cut again.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;
use uuid::Uuid;

use super::{
    read_history::ReadHistory,
    retention::{self, HistoryExcess},
};
use crate::{
    engine::{
        EngineError,
        cluster::{LeaseTerm, lead},
        core::Core,
        service::Service,
    },
    model::OwnQuotas,
    store::{
        history::{PeriodRows, period_of},
        namespaces,
        recount::days_to_recount,
    },
};

/// The name of the lease of the node that cuts.
const LEASE: &str = HistoryQuotas::NAME;
/// The length of a term of that lease.
const TERM: Duration = Duration::from_secs(180);
/// The extra room that a cut frees: the quota divided by this.
const ROOM: i64 = 20;

/// The service that cuts histories that are over their quota.
#[derive(Debug)]
pub(in crate::engine) struct HistoryQuotas {
    core: Arc<Core>,
}

/// A namespace that has a quota of rows.
#[derive(Clone, Debug)]
struct LimitedNamespace {
    id: Uuid,
    name: String,
    limit: i64,
}

/// The results of a round of cuts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryQuotasReport {
    /// Number of namespaces whose history was cut.
    pub cut: usize,
    /// Number of rows that were removed: fires, runs and attempts.
    pub rows: u64,
}

impl HistoryQuotas {
    pub(in crate::engine) fn new(core: Arc<Core>) -> Self {
        Self { core }
    }

    /// The namespaces that have a quota of rows.
    async fn limited(&self) -> Result<Vec<LimitedNamespace>, EngineError> {
        let (store, usual) = (&self.core.store, self.core.settings.quotas);
        let rows: Vec<_> = if usual.history_rows.is_some() {
            let all = namespaces::all(store.read()).await?;
            all.into_iter().map(|row| (row.id, row.name, row.quotas)).collect()
        } else {
            let own = store.own_quotas().await?;
            own.into_iter().map(|row| (row.id, row.name, row.quotas)).collect()
        };
        let limited = rows.into_iter().filter_map(|(id, name, quotas)| {
            let limit = OwnQuotas::of_column(quotas.as_ref()).over(usual).history_rows?;
            Some(LimitedNamespace { id, name, limit })
        });
        Ok(limited.collect())
    }

    /// The namespaces whose counts are over their quota.
    async fn over(&self, now: DateTime<Utc>) -> Result<Vec<LimitedNamespace>, EngineError> {
        let mut limited = self.limited().await?;
        // Only the node that cuts compares the counts.
        // If no namespace has a quota, no node needs to.
        if limited.is_empty() || lead(&self.core, LEASE, TERM).await?.is_none() {
            return Ok(Vec::new());
        }
        let ids: Vec<Uuid> = limited.iter().map(|one| one.id).collect();
        let days = self.core.settings.history_days();
        let rows = self.core.store.history_rows(&ids, days, now).await?;
        limited.retain(|one| rows.get(&one.id).is_some_and(|count| *count > one.limit));
        Ok(limited)
    }

    /// The part of a namespace's history that is over its quota, according to the counts.
    async fn excess(
        &self,
        one: &LimitedNamespace,
        now: DateTime<Utc>,
    ) -> Result<Option<HistoryExcess>, EngineError> {
        let store = &self.core.store;
        let days = self.core.settings.history_days();
        let periods = store.history_periods(one.id, days, now).await?;
        let Some(read) = ReadHistory::at(store, now).await? else { return Ok(None) };
        let bounds = bounds(&periods, one.limit, read.until);
        Ok(bounds.map(|(oldest, until)| HistoryExcess {
            namespace: one.id,
            oldest,
            until,
            read: read.changed,
        }))
    }

    /// Corrects the counts of a namespace by its real rows, from the period `oldest` on.
    /// Reads a day at a time, and renews the lease after each day.
    /// Returns the term; `None` if it is over, or if nothing was ever counted.
    async fn recount(
        &self,
        mut lease: LeaseTerm,
        namespace: Uuid,
        oldest: Timestamp,
        now: DateTime<Utc>,
    ) -> Result<Option<LeaseTerm>, EngineError> {
        let store = &self.core.store;
        let Some(counted) = store.counted_history(namespace).await? else { return Ok(None) };
        let mut real = BTreeMap::new();
        for (from, to) in days_to_recount(oldest, now.into()) {
            store.recount_history(&counted, from, to, &mut real).await?;
            let Some(renewed) = lead(&self.core, LEASE, TERM).await? else { return Ok(None) };
            // Another node held the lease in between, and may have corrected the same counts.
            if renewed.fence != lease.fence {
                return Ok(None);
            }
            lease = renewed;
        }
        let changes = counted.corrections(&real, oldest);
        if !changes.is_empty() {
            let Some(tx) = lease.begin(store, &self.core.clock).await? else { return Ok(None) };
            store.add_history(&tx, &changes).await?;
            store.commit_unseen(tx).await?;
        }
        Ok(Some(lease))
    }

    async fn cut(
        &self,
        lease: LeaseTerm,
        one: &LimitedNamespace,
        excess: HistoryExcess,
        now: DateTime<Utc>,
    ) -> Result<HistoryQuotasReport, EngineError> {
        let core = &self.core;
        let Some(done) = retention::cut(core, lease, TERM, excess, now).await? else {
            return Ok(HistoryQuotasReport::default());
        };
        for (table, rows) in [
            ("fire", done.fires),
            ("run", done.runs),
            ("task_run", done.attempts),
            ("task_log", done.lines),
        ] {
            core.metrics.history_cut(table, rows);
        }
        let rows = done.fires + done.runs + done.attempts;
        tracing::warn!(
            namespace = one.name,
            limit = one.limit,
            rows,
            until = %excess.until.utc().to_rfc3339(),
            "history beyond the namespace's quota of rows was removed before its retention"
        );
        Ok(HistoryQuotasReport { cut: 1, rows })
    }
}

impl Service for HistoryQuotas {
    type Report = HistoryQuotasReport;
    const NAME: &'static str = "history_quotas";

    async fn run_once(&mut self, now: DateTime<Utc>) -> Result<HistoryQuotasReport, EngineError> {
        let mut report = HistoryQuotasReport::default();
        for one in self.over(now).await? {
            let Some(HistoryExcess { oldest, .. }) = self.excess(&one, now).await? else {
                continue;
            };
            // The lease is renewed for each namespace, because a cut takes time.
            let Some(lease) = lead(&self.core, LEASE, TERM).await? else { return Ok(report) };
            let Some(lease) = self.recount(lease, one.id, oldest, now).await? else {
                return Ok(report);
            };
            let Some(excess) = self.excess(&one, now).await? else { continue };
            let done = self.cut(lease, &one, excess, now).await?;
            report.cut += done.cut;
            report.rows += done.rows;
        }
        Ok(report)
    }

    fn next_round(&mut self, now: DateTime<Utc>) -> DateTime<Utc> {
        now + TimeDelta::from_std(self.core.settings.history_interval).unwrap_or_default()
    }

    fn is_notable(report: &HistoryQuotasReport) -> bool {
        *report != HistoryQuotasReport::default()
    }
}

/// The start of the oldest of these periods, and the instant before which periods must be removed
/// so that the rest fits into the quota with some room; `None` if all periods fit.
/// The newest period stays because it is still being counted.
/// Periods that `read` does not cover to their end stay, too.
fn bounds(periods: &[PeriodRows], limit: i64, read: Timestamp) -> Option<(Timestamp, Timestamp)> {
    let mut rows: BTreeMap<Timestamp, i64> = BTreeMap::new();
    for period in periods {
        *rows.entry(period.period).or_default() += period.row_count;
    }
    if rows.values().sum::<i64>() <= limit {
        return None;
    }
    let oldest = *rows.first_key_value()?.0;
    let (mut until, mut kept) = (*rows.last_key_value()?.0, 0_i64);
    for (period, count) in rows.iter().rev() {
        kept = kept.saturating_add(*count);
        if kept > limit - limit / ROOM {
            break;
        }
        until = *period;
    }
    let until = until.min(period_of(read));
    (oldest < until).then_some((oldest, until))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::history::PERIOD_MS;

    fn periods(rows: &[(i64, i32, i64)]) -> Vec<PeriodRows> {
        let of = |(period, days, row_count): &(i64, i32, i64)| PeriodRows {
            period: Timestamp(*period),
            days: *days,
            row_count: *row_count,
        };
        rows.iter().map(of).collect()
    }

    fn until(rows: &[(i64, i32, i64)], limit: i64) -> Option<(i64, i64)> {
        read_until(rows, limit, i64::MAX)
    }

    fn read_until(rows: &[(i64, i32, i64)], limit: i64, read: i64) -> Option<(i64, i64)> {
        let bounds = bounds(&periods(rows), limit, Timestamp(read));
        bounds.map(|(oldest, until)| (oldest.0, until.0))
    }

    #[test]
    fn what_fits_stays() {
        assert_eq!(until(&[], 0), None);
        assert_eq!(until(&[(1, 0, 50), (2, 0, 50)], 100), None);
    }

    #[test]
    fn the_oldest_goes_first_and_leaves_some_room() {
        let rows = [(1, 0, 10), (2, 0, 10), (3, 0, 40), (4, 0, 45)];
        assert_eq!(until(&rows, 104), Some((1, 2)));
        assert_eq!(until(&rows, 100), Some((1, 2)));
        assert_eq!(until(&rows, 96), Some((1, 3)));
        assert_eq!(until(&rows, 50), Some((1, 4)));
    }

    #[test]
    fn schedules_with_a_retention_of_their_own_count_in_the_same_period() {
        assert_eq!(until(&[(1, 0, 10), (1, 3, 10), (2, 0, 60), (2, 3, 35)], 100), Some((1, 2)));
    }

    #[test]
    fn the_newest_period_stays_however_large_it_is() {
        assert_eq!(until(&[(1, 0, 1), (2, 0, 1_000)], 100), Some((1, 2)));
        assert_eq!(until(&[(2, 0, 1_000)], 100), None);
    }

    #[test]
    fn periods_that_were_not_read_to_the_end_stay() {
        let period = |number: i64| number * PERIOD_MS;
        let rows = [1, 2, 3, 4].map(|number| (period(number), 0, 100));
        assert_eq!(until(&rows, 150), Some((period(1), period(4))));
        assert_eq!(read_until(&rows, 150, period(3) + 5), Some((period(1), period(3))));
        assert_eq!(read_until(&rows, 150, period(2) - 1), None);
    }
}

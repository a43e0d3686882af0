//! The cached counts of namespaces, and the usage that open transactions add to them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Notify;
use uuid::Uuid;

use crate::{commands::CommandError, model::Quotas, store::quotas::Usage};

/// How long a count stays valid.
const FRESH: Duration = Duration::from_secs(10);

/// How long to wait for other saving transactions of this process. After that, their schedules
/// count as saved.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts of namespaces, and the schedules being saved in them.
#[derive(Debug, Default)]
pub(in crate::commands) struct QuotaCounter {
    namespaces: Mutex<HashMap<Uuid, OfNamespace>>,
    /// Signals that a transaction has ended.
    ended: Notify,
}

#[derive(Debug, Default)]
struct OfNamespace {
    count: Option<QuotaCount>,
    /// The usage that was admitted for each open transaction, by transaction number. The counts of
    /// other transactions do not include this usage.
    unsettled: HashMap<u64, Usage>,
    /// The sum of all usage that was ever admitted.
    admitted: Usage,
    /// The number of requests that are making an exact count. Meanwhile nothing is admitted without
    /// a lock.
    counting: u32,
}

impl OfNamespace {
    fn unsettled_but(&self, order: Option<u64>) -> Usage {
        let others = self.unsettled.iter().filter(|(number, _)| Some(**number) != order);
        others.fold(Usage::default(), |sum, (_, more)| sum.plus(*more))
    }

    fn take_down(&mut self, order: u64, more: Usage) {
        let of_order = self.unsettled.entry(order).or_default();
        *of_order = of_order.plus(more);
        self.admitted = self.admitted.plus(more);
    }
}

/// The usage that was admitted for a transaction. Dropped when the transaction has ended.
#[derive(Debug)]
pub(in crate::commands) struct AdmittedUsage {
    counted: Arc<QuotaCounter>,
    namespace: Uuid,
    order: u64,
}

impl Drop for AdmittedUsage {
    fn drop(&mut self) {
        if let Some(of) = self.counted.lock().get_mut(&self.namespace) {
            of.unsettled.remove(&self.order);
        }
        self.counted.ended.notify_waiters();
    }
}

/// Marks that a request is making an exact count.
pub(super) struct CountGuard<'a> {
    counted: &'a QuotaCounter,
    namespace: Uuid,
}

impl Drop for CountGuard<'_> {
    fn drop(&mut self) {
        if let Some(of) = self.counted.lock().get_mut(&self.namespace) {
            of.counting = of.counting.saturating_sub(1);
        }
    }
}

/// A namespace's known usage just before a count without a lock.
pub(super) struct BeforeCount {
    /// The usage that open transactions are adding.
    unsettled: Usage,
    /// The sum of all usage that was ever admitted.
    admitted: Usage,
}

/// A count of a namespace's usage, with its limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuotaCount {
    pub(super) at: Instant,
    pub(super) limits: Quotas,
    pub(super) usage: Usage,
}

impl QuotaCount {
    /// The error for the first limit that `more` would exceed.
    pub(super) fn broken_by(&self, more: Usage) -> Option<CommandError> {
        let schedules = self.usage.schedules + more.schedules;
        if let Some(limit) = self.limits.schedules.filter(|limit| schedules > *limit)
            && more.schedules > 0
        {
            let (used, asked) = (self.usage.schedules, more.schedules);
            return Some(CommandError::Quota { quota: "schedules", limit, used, asked });
        }
        let fires = self.usage.fires_an_hour + more.fires_an_hour;
        if let Some(limit) = self.limits.fires_a_minute
            && fires > limit.saturating_mul(60)
            && more.fires_an_hour > 0
        {
            let minute = |fires: i64| fires.div_euclid(60) + i64::from(fires % 60 > 0);
            let (used, asked) = (minute(self.usage.fires_an_hour), minute(more.fires_an_hour));
            return Some(CommandError::Quota { quota: "firesAMinute", limit, used, asked });
        }
        None
    }

    /// Whether usage with `more` stays below nine tenths of each limit.
    fn is_far_from(&self, more: Usage) -> bool {
        let is_far = |used: i64, limit: Option<i64>, unit: i64| {
            limit.is_none_or(|limit| used.saturating_mul(10) <= limit.saturating_mul(9 * unit))
        };
        is_far(self.usage.schedules + more.schedules, self.limits.schedules, 1)
            && is_far(self.usage.fires_an_hour + more.fires_an_hour, self.limits.fires_a_minute, 60)
    }
}

impl QuotaCounter {
    /// Whether the cached count leaves enough room for `more`. If so, adds it.
    pub(super) fn admits(
        self: &Arc<Self>,
        namespace: Uuid,
        order: u64,
        more: Usage,
        now: Instant,
    ) -> Option<AdmittedUsage> {
        let mut namespaces = self.lock();
        let of = namespaces.get_mut(&namespace).filter(|of| of.counting == 0)?;
        let count = of.count.as_mut()?;
        let is_fresh = now.saturating_duration_since(count.at) < FRESH;
        if !is_fresh || !count.is_far_from(more) {
            return None;
        }
        count.usage = count.usage.plus(more);
        of.take_down(order, more);
        Some(AdmittedUsage { counted: Arc::clone(self), namespace, order })
    }

    /// Stops other transactions from being admitted without a lock.
    pub(super) fn begin(&self, namespace: Uuid) -> CountGuard<'_> {
        self.lock().entry(namespace).or_default().counting += 1;
        CountGuard { counted: self, namespace }
    }

    /// Waits until the other admitted transactions of this process are committed or rolled back.
    /// Returns the usage of those that are still open, because one of them may be waiting for this
    /// one.
    pub(super) async fn settled_but(&self, namespace: Uuid, order: u64) -> Usage {
        let unsettled = || {
            let namespaces = self.lock();
            let of = namespaces.get(&namespace);
            of.map_or(Usage::default(), |of| of.unsettled_but(Some(order)))
        };
        let settled = async {
            loop {
                let mut ended = std::pin::pin!(self.ended.notified());
                ended.as_mut().enable();
                if unsettled() == Usage::default() {
                    break;
                }
                ended.await;
            }
        };
        // After a timeout, the usage of the open transactions is added below.
        let _ = tokio::time::timeout(PATIENCE, settled).await;
        unsettled()
    }

    /// Stores an exact count, and that `more` was admitted.
    pub(super) fn admit(
        self: &Arc<Self>,
        namespace: Uuid,
        order: u64,
        more: Usage,
        mut count: QuotaCount,
    ) -> AdmittedUsage {
        count.usage = count.usage.plus(more);
        let mut namespaces = self.lock();
        let of = namespaces.entry(namespace).or_default();
        of.count = Some(count);
        of.take_down(order, more);
        AdmittedUsage { counted: Arc::clone(self), namespace, order }
    }

    /// The usage that a count without a lock may not see; `None` if a count with the lock is in
    /// progress.
    pub(super) fn before(&self, namespace: Uuid) -> Option<BeforeCount> {
        let mut namespaces = self.lock();
        let of = namespaces.entry(namespace).or_default();
        (of.counting == 0)
            .then(|| BeforeCount { unsettled: of.unsettled_but(None), admitted: of.admitted })
    }

    /// Stores a count that was made without a lock, plus the usage that it may not have seen.
    pub(super) fn set(&self, namespace: Uuid, mut count: QuotaCount, before: &BeforeCount) {
        let mut namespaces = self.lock();
        let of = namespaces.entry(namespace).or_default();
        count.usage = count.usage.plus(before.unsettled);
        count.usage = count.usage.plus(of.admitted.minus(before.admitted));
        of.count = Some(count);
    }

    pub(super) fn forget(&self, namespace: Uuid) {
        if let Some(of) = self.lock().get_mut(&namespace) {
            of.count = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, OfNamespace>> {
        self.namespaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_near_a_limit_are_counted_exactly() {
        let limits = Quotas { schedules: Some(100), fires_a_minute: Some(60), ..Quotas::default() };
        let usage = Usage { schedules: 80, fires_an_hour: 0 };
        let count = QuotaCount { at: crate::clock::Clock::system().instant(), limits, usage };
        let more = |schedules, fires_an_hour| Usage { schedules, fires_an_hour };
        assert!(count.is_far_from(more(10, 3_240)));
        assert!(!count.is_far_from(more(11, 0)));
        assert!(!count.is_far_from(more(1, 3_241)));
        assert!(count.broken_by(more(20, 3_600)).is_none());
        let schedules = count.broken_by(more(21, 0)).unwrap();
        assert!(schedules.to_string().contains("100"), "{schedules}");
        assert!(count.broken_by(more(1, 3_601)).is_some());
        let over = QuotaCount { usage: more(200, 9_000), ..count };
        assert!(over.broken_by(more(0, 0)).is_none(), "what uses no more is let through");
    }
}

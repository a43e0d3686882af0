//! The quotas of a namespace: sets them, and enforces them when schedules are saved.
//!
//! A namespace's usage is counted only now and then and cached; schedules saved by this process
//! since then are added. Only if the usage comes near a limit does the saving transaction count
//! again. It takes a lock on the namespace, and first waits for all transactions of this process
//! that were admitted without the lock. So the limit holds whatever other requests save at the same
//! time.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;
use sea_orm::ConnectionTrait;
use serde::{Deserialize, Serialize};
use serde_json::json;
use timetable::Timetable;
use tokio::sync::Notify;
use uuid::Uuid;

use super::{BadInput, Call, CommandError, Commands, audit::Entry};
use crate::{
    access::Owner,
    model::{OwnQuotas, Quotas, check},
    store::{DatabaseTransaction, history::History, namespaces, quotas::Usage},
};

/// How long a count stays valid.
const FRESH: Duration = Duration::from_secs(10);

/// Maximum number of schedules to count if there is no limit.
const MAX_COUNTED: i64 = 1_000_000;

/// The largest quota that can be set.
pub const MAX_QUOTA: i64 = 1_000_000_000_000_000;

/// How long to wait for other saving transactions of this process. After that, their schedules
/// count as saved.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts of namespaces, and the schedules being saved in them.
#[derive(Debug, Default)]
pub(super) struct QuotaCounter {
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
pub(super) struct Admitted {
    counted: Arc<QuotaCounter>,
    namespace: Uuid,
    order: u64,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        if let Some(of) = self.counted.lock().get_mut(&self.namespace) {
            of.unsettled.remove(&self.order);
        }
        self.counted.ended.notify_waiters();
    }
}

/// Marks that a request is making an exact count.
struct Counting<'a> {
    counted: &'a QuotaCounter,
    namespace: Uuid,
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        if let Some(of) = self.counted.lock().get_mut(&self.namespace) {
            of.counting = of.counting.saturating_sub(1);
        }
    }
}

/// A namespace's known usage just before a count without a lock.
struct BeforeCount {
    /// The usage that open transactions are adding.
    unsettled: Usage,
    /// The sum of all usage that was ever admitted.
    admitted: Usage,
}

#[derive(Clone, Copy, Debug)]
struct QuotaCount {
    at: Instant,
    limits: Quotas,
    usage: Usage,
}

impl QuotaCount {
    /// The error for the first limit that `more` would exceed.
    fn broken_by(&self, more: Usage) -> Option<CommandError> {
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
    fn admits(
        self: &Arc<Self>,
        namespace: Uuid,
        order: u64,
        more: Usage,
        now: Instant,
    ) -> Option<Admitted> {
        let mut namespaces = self.lock();
        let of = namespaces.get_mut(&namespace).filter(|of| of.counting == 0)?;
        let count = of.count.as_mut()?;
        let is_fresh = now.saturating_duration_since(count.at) < FRESH;
        if !is_fresh || !count.is_far_from(more) {
            return None;
        }
        count.usage = count.usage.plus(more);
        of.take_down(order, more);
        Some(Admitted { counted: Arc::clone(self), namespace, order })
    }

    /// Stops other transactions from being admitted without a lock.
    fn begin(&self, namespace: Uuid) -> Counting<'_> {
        self.lock().entry(namespace).or_default().counting += 1;
        Counting { counted: self, namespace }
    }

    /// Waits until the other admitted transactions of this process are committed or rolled back.
    /// Returns the usage of those that are still open, because one of them may be waiting for this
    /// one.
    async fn settled_but(&self, namespace: Uuid, order: u64) -> Usage {
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
    fn admit(
        self: &Arc<Self>,
        namespace: Uuid,
        order: u64,
        more: Usage,
        mut count: QuotaCount,
    ) -> Admitted {
        count.usage = count.usage.plus(more);
        let mut namespaces = self.lock();
        let of = namespaces.entry(namespace).or_default();
        of.count = Some(count);
        of.take_down(order, more);
        Admitted { counted: Arc::clone(self), namespace, order }
    }

    /// The usage that a count without a lock may not see; `None` if a count with the lock is in
    /// progress.
    fn before(&self, namespace: Uuid) -> Option<BeforeCount> {
        let mut namespaces = self.lock();
        let of = namespaces.entry(namespace).or_default();
        (of.counting == 0)
            .then(|| BeforeCount { unsettled: of.unsettled_but(None), admitted: of.admitted })
    }

    /// Stores a count that was made without a lock, plus the usage that it may not have seen.
    fn set(&self, namespace: Uuid, mut count: QuotaCount, before: &BeforeCount) {
        let mut namespaces = self.lock();
        let of = namespaces.entry(namespace).or_default();
        count.usage = count.usage.plus(before.unsettled);
        count.usage = count.usage.plus(of.admitted.minus(before.admitted));
        of.count = Some(count);
    }

    fn forget(&self, namespace: Uuid) {
        if let Some(of) = self.lock().get_mut(&namespace) {
            of.count = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, OfNamespace>> {
        self.namespaces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Quotas after a command.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct SetQuotas {
    /// The namespace.
    pub id: Uuid,
}

/// A namespace's quotas and its usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedQuotas {
    /// The effective limits.
    pub limits: Quotas,
    /// The limits set for this namespace.
    pub own: OwnQuotas,
    /// Usage by schedules.
    pub usage: Usage,
    /// Runs in progress.
    pub live_runs: i64,
    /// Bytes of log lines today, as counted by this node.
    pub log_bytes_today: i64,
    /// The history that is kept.
    pub history: History,
    /// The latest instant before which settled history was removed because of the quota of rows;
    /// `None` if that never happened.
    pub cut: Option<Timestamp>,
}

impl Commands {
    /// Refuses a change that exceeds the quotas of the namespaces. Takes locks in the same order
    /// everywhere.
    pub(super) async fn admit(
        &self,
        tx: &DatabaseTransaction,
        more: BTreeMap<Uuid, Usage>,
    ) -> Result<(), (Uuid, Box<CommandError>)> {
        for (namespace, more) in more {
            let admitted = self.admit_one(tx, namespace, more).await;
            admitted.map_err(|error| (namespace, Box::new(error)))?;
        }
        Ok(())
    }

    pub(super) async fn admit_one(
        &self,
        tx: &DatabaseTransaction,
        namespace: Uuid,
        more: Usage,
    ) -> Result<(), CommandError> {
        let order = tx.number();
        if let Some(admitted) = self.counted.admits(namespace, order, more, self.clock.instant()) {
            tx.keep(admitted);
            return Ok(());
        }
        self.store.lock_quotas(tx, namespace).await?;
        // The previous holder of the lock may have made a count that suffices.
        if let Some(admitted) = self.counted.admits(namespace, order, more, self.clock.instant()) {
            tx.keep(admitted);
            return Ok(());
        }
        let counting = self.counted.begin(namespace);
        // Transactions that were admitted far from the limit hold no lock, and a count does not see
        // them until they end.
        let unsettled = self.counted.settled_but(namespace, order).await;
        let mut count = self.count(tx, namespace).await?;
        count.usage = count.usage.plus(unsettled);
        if let Some(error) = count.broken_by(more) {
            return Err(error);
        }
        tx.keep(self.counted.admit(namespace, order, more, count));
        drop(counting);
        Ok(())
    }

    /// Admits schedules without a lock if no limit is near; returns `None` if one is. The caller
    /// must keep the result until the schedules are saved.
    pub(super) async fn admit_far_from_quotas(
        &self,
        more: &BTreeMap<Uuid, Usage>,
    ) -> Result<Option<Vec<Admitted>>, CommandError> {
        let order = DatabaseTransaction::next_number();
        let mut all = Vec::with_capacity(more.len());
        for (namespace, more) in more {
            let admits = || self.counted.admits(*namespace, order, *more, self.clock.instant());
            if let Some(admitted) = admits() {
                all.push(admitted);
                continue;
            }
            let Some(before) = self.counted.before(*namespace) else { return Ok(None) };
            let count = self.count(self.store.read(), *namespace).await?;
            self.counted.set(*namespace, count, &before);
            let Some(admitted) = admits() else { return Ok(None) };
            all.push(admitted);
        }
        Ok(Some(all))
    }

    async fn count(
        &self,
        connection: &impl ConnectionTrait,
        namespace: Uuid,
    ) -> Result<QuotaCount, CommandError> {
        let (usage, set) = self.store.usage(connection, namespace, MAX_COUNTED).await?;
        let limits = OwnQuotas::of_column(set.as_ref()).over(self.quotas);
        Ok(QuotaCount { at: self.clock.instant(), limits, usage })
    }

    /// Sets the given quotas of a namespace; 0 means no limit, and an absent quota falls back to
    /// the server's configuration.
    pub async fn set_quotas(
        &self,
        right: &Owner,
        namespace: &str,
        own: OwnQuotas,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<SetQuotas, CommandError> {
        let fields = [
            ("quotas.schedules", own.schedules),
            ("quotas.firesAMinute", own.fires_a_minute),
            ("quotas.liveRuns", own.live_runs),
            ("quotas.logBytesADay", own.log_bytes_a_day),
            ("quotas.logBytesARun", own.log_bytes_a_run),
            ("quotas.logBytes", own.log_bytes),
            ("quotas.historyRows", own.history_rows),
        ];
        for (field, value) in fields {
            if let Some(value) = value.filter(|value| !(0..=MAX_QUOTA).contains(value)) {
                let help = format!("give 1 to {MAX_QUOTA}, or 0 for no limit");
                return Err(BadInput::new(field, value, "is not a quota", help).into());
            }
        }
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = namespaces::by_name(&tx, namespace).await?;
        let row = row.ok_or_else(|| CommandError::not_found("namespace", namespace))?;
        let set = (own != OwnQuotas::default()).then(|| json!(own));
        namespaces::set_quotas(&tx, row.id, set.clone()).await?;
        let entry = Entry {
            action: "namespace.quotas",
            namespace: Some(row.id),
            subject_id: Some(row.id),
            subject: namespace,
            reason,
            before: Some(json!({ "quotas": row.quotas })),
            after: Some(json!({ "quotas": set })),
        };
        self.audit(&tx, right.who(), entry).await?;
        let done = SetQuotas { id: row.id };
        self.remember(&tx, right.who(), call, &done).await?;
        self.store.commit(tx).await?;
        self.counted.forget(row.id);
        Ok(done)
    }

    /// A namespace's quotas and its usage.
    pub async fn used_quotas(&self, id: Uuid, name: &str) -> Result<UsedQuotas, CommandError> {
        let (usage, set) = self.store.usage(self.store.read(), id, MAX_COUNTED).await?;
        let own = OwnQuotas::of_column(set.as_ref());
        let now = self.clock.now();
        let live_runs = self.store.live_runs_of(id, now.into()).await?;
        let log_bytes_today = self.cluster.meter().log_bytes(name, now);
        let history = self.store.history_of(id, self.retention.days, now).await?;
        let cut = self.store.cut_of(id).await?;
        let limits = own.over(self.quotas);
        Ok(UsedQuotas { limits, own, usage, live_runs, log_bytes_today, history, cut })
    }
}

/// How many times a schedule fires in an hour: sixty times the count in the minute that begins with
/// its next fire. If that minute has only one fire, the time until the following fire decides.
pub(super) fn fires_an_hour(timetable: &Timetable, now: DateTime<Utc>) -> i64 {
    let Some(first) = timetable.next(now) else { return 0 };
    let minute = first.at + TimeDelta::minutes(1);
    let mut count = 1;
    for fire in timetable.fires(first.at, first.at + TimeDelta::hours(1)) {
        if fire.at < minute {
            count += 1;
        } else {
            let gap = (fire.at - first.at).num_seconds().max(1);
            return if count == 1 { 3_600 / gap } else { count * 60 };
        }
    }
    if count == 1 { 0 } else { count * 60 }
}

#[cfg(test)]
mod tests {
    use timetable::Definition;

    use super::*;

    fn an_hour(expression: &str) -> i64 {
        let definition = Definition {
            expressions: vec![expression.to_owned()],
            zone: "UTC".to_owned(),
            dst: timetable::DstPolicy::default(),
            anchor: DateTime::UNIX_EPOCH,
            start: None,
            end: None,
            jitter: Duration::ZERO,
            seed: [0; 16],
        };
        let now = "2026-03-01T00:10:00Z".parse().unwrap();
        fires_an_hour(&Timetable::new(&definition).unwrap(), now)
    }

    #[test]
    fn the_rate_is_that_of_the_busiest_minute() {
        let cases = [
            ("* * * * * *", 3_600),
            ("*/5 * * * * *", 720),
            ("*/5 * 9-17 * * *", 720),
            ("* * * * *", 60),
            ("*/15 * * * *", 4),
            ("@hourly", 1),
            ("@daily", 0),
            ("@yearly", 0),
        ];
        for (expression, expected) in cases {
            assert_eq!(an_hour(expression), expected, "{expression}");
        }
    }

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

//! This node's usage per namespace, compared with the quotas.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    model::{OwnQuotas, Quotas},
    store::history::WrittenLog,
};

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// This node's usage per namespace, compared with quotas. Cheap to clone; clones share the counts.
/// A restart begins at zero, and each node counts only its own usage.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    usual: Quotas,
    own: HashMap<Uuid, OwnQuotas>,
    names: HashMap<String, Uuid>,
    fires: HashMap<Uuid, MeterWindow>,
    /// Bytes of log lines per day, by the name of the
    /// namespace, because attempts know only the name.
    log: HashMap<String, MeterWindow>,
    /// The bytes of log lines that the database counts for
    /// namespaces with a quota, by the namespace's name.
    kept: HashMap<String, i64>,
    /// The bytes of log lines that this node has written and not added to the
    /// database's counts, by the namespace's name.
    fresh: HashMap<String, Fresh>,
}

/// Bytes of log lines that the database does not count yet.
#[derive(Clone, Debug, Default)]
struct Fresh {
    bytes: i64,
    by_schedule: HashMap<Option<Uuid>, i64>,
}

/// The attempt that prints a log line.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Printer<'a> {
    /// The name of the namespace.
    pub(in crate::engine) namespace: &'a str,
    /// The schedule, if the run has one.
    pub(in crate::engine) schedule_id: Option<Uuid>,
    /// Number of bytes that the run has printed so far.
    pub(in crate::engine) of_run: &'a AtomicI64,
}

/// A quota of log bytes that is used up, with its limit in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum LogQuota {
    /// The quota of a single run.
    Run(i64),
    /// The quota of the log lines that are kept for the namespace.
    Kept(i64),
    /// The namespace's quota for one day.
    Day(i64),
}

impl LogQuota {
    /// The quota's label in metrics.
    pub(in crate::engine) fn label(self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Kept(_) => "kept",
            Self::Day(_) => "day",
        }
    }
}

impl fmt::Display for LogQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(limit) => write!(f, "the run has used its quota of {limit} bytes of log"),
            Self::Kept(limit) => {
                write!(f, "the namespace has used its quota of {limit} bytes of kept log")
            }
            Self::Day(limit) => {
                write!(f, "the namespace has used its quota of {limit} bytes of log a day")
            }
        }
    }
}

/// The number of units used since the start of a minute or a day.
#[derive(Clone, Copy, Debug, Default)]
struct MeterWindow {
    number: i64,
    used: i64,
}

impl MeterWindow {
    /// Takes up to `wanted` of the units that are left of `limit` in the window with this number.
    fn take(&mut self, number: i64, wanted: i64, limit: i64) -> i64 {
        if self.number != number {
            *self = Self { number, used: 0 };
        }
        let taken = wanted.min((limit - self.used).max(0));
        self.used += taken;
        taken
    }

    /// Gives back units that were taken in the window with this number.
    fn give_back(&mut self, number: i64, unused: i64) {
        if self.number == number {
            self.used = (self.used - unused).max(0);
        }
    }

    fn used(self, number: i64) -> i64 {
        if self.number == number { self.used } else { 0 }
    }
}

impl Meter {
    pub(in crate::engine) fn new(usual: Quotas) -> Self {
        Self { inner: Arc::new(Mutex::new(Inner { usual, ..Inner::default() })) }
    }

    /// Sets the quotas of namespaces that have their own, by id and name.
    pub(in crate::engine) fn set(&self, own: impl IntoIterator<Item = (Uuid, String, OwnQuotas)>) {
        let mut inner = self.lock();
        (inner.own, inner.names) = (HashMap::new(), HashMap::new());
        for (id, name, quotas) in own {
            inner.own.insert(id, quotas);
            inner.names.insert(name, id);
        }
    }

    /// The quotas that apply to a namespace.
    pub fn quotas(&self, namespace: Uuid) -> Quotas {
        self.lock().quotas(namespace)
    }

    /// The quotas of namespaces without quotas of their own.
    pub(in crate::engine) fn usual(&self) -> Quotas {
        self.lock().usual
    }

    /// Counts fires of a namespace that should start. Returns how many of them may start.
    pub(in crate::engine) fn take_fires(
        &self,
        namespace: Uuid,
        wanted: i64,
        now: DateTime<Utc>,
    ) -> i64 {
        let mut inner = self.lock();
        let Some(limit) = inner.quotas(namespace).fires_a_minute else { return wanted };
        let minute = now.timestamp_millis().div_euclid(MINUTE_MS);
        inner.fires.entry(namespace).or_default().take(minute, wanted, limit)
    }

    /// Gives back fires that were counted at `now` and did not start after all.
    pub(in crate::engine) fn give_back_fires(
        &self,
        namespace: Uuid,
        unused: i64,
        now: DateTime<Utc>,
    ) {
        let minute = now.timestamp_millis().div_euclid(MINUTE_MS);
        let mut inner = self.lock();
        if let Some(window) = inner.fires.get_mut(&namespace) {
            window.give_back(minute, unused);
        }
    }

    /// Counts a log line. If a quota is used up, returns that quota as an error.
    pub(in crate::engine) fn take_log(
        &self,
        printer: Printer<'_>,
        bytes: usize,
        now: DateTime<Utc>,
    ) -> Result<(), LogQuota> {
        let Printer { namespace, schedule_id, of_run } = printer;
        let mut inner = self.lock();
        let quotas = inner.quotas_of(namespace);
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let run = of_run.load(Ordering::Relaxed).saturating_add(bytes);
        if let Some(limit) = quotas.log_bytes_a_run.filter(|limit| run > *limit) {
            return Err(LogQuota::Run(limit));
        }
        let kept = inner.kept_log(namespace).saturating_add(bytes);
        if let Some(limit) = quotas.log_bytes.filter(|limit| kept > *limit) {
            return Err(LogQuota::Kept(limit));
        }
        if let Some(limit) = quotas.log_bytes_a_day {
            // Part of a line would be useless, so the line that
            // does not fit uses up the rest of the quota.
            if inner.take_day(namespace, bytes, limit, now) < bytes {
                return Err(LogQuota::Day(limit));
            }
        }
        of_run.store(run, Ordering::Relaxed);
        inner.written(namespace, schedule_id, bytes);
        Ok(())
    }

    /// Counts a log line that is written even though a quota is used up.
    pub(in crate::engine) fn count_log(
        &self,
        printer: Printer<'_>,
        bytes: usize,
        now: DateTime<Utc>,
    ) {
        let Printer { namespace, schedule_id, of_run } = printer;
        let mut inner = self.lock();
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        if let Some(limit) = inner.quotas_of(namespace).log_bytes_a_day {
            inner.take_day(namespace, bytes, limit, now);
        }
        of_run.fetch_add(bytes, Ordering::Relaxed);
        inner.written(namespace, schedule_id, bytes);
    }

    /// The bytes of log lines that this node has written and not added to the database's counts.
    pub(in crate::engine) fn fresh_log(&self) -> Vec<WrittenLog> {
        let inner = self.lock();
        let of = |(namespace, fresh): (&String, &Fresh)| {
            let rows = fresh.by_schedule.iter().map(|(schedule_id, bytes)| WrittenLog {
                namespace: namespace.clone(),
                schedule_id: *schedule_id,
                bytes: *bytes,
            });
            rows.collect::<Vec<_>>()
        };
        inner.fresh.iter().flat_map(of).collect()
    }

    /// Records that the database now counts these bytes of log lines.
    pub(in crate::engine) fn added_log(&self, added: &[WrittenLog]) {
        let mut inner = self.lock();
        for WrittenLog { namespace, schedule_id, bytes } in added {
            if let Some(kept) = inner.kept.get_mut(namespace) {
                *kept += bytes;
            }
            let Some(fresh) = inner.fresh.get_mut(namespace) else { continue };
            fresh.bytes -= bytes;
            if let Some(of_schedule) = fresh.by_schedule.get_mut(schedule_id) {
                *of_schedule -= bytes;
            }
            fresh.by_schedule.retain(|_, bytes| *bytes > 0);
        }
        inner.fresh.retain(|_, fresh| !fresh.by_schedule.is_empty());
    }

    /// Sets the bytes of log lines that the database counts for each namespace.
    pub(in crate::engine) fn set_kept_log(&self, kept: impl IntoIterator<Item = (String, i64)>) {
        self.lock().kept = kept.into_iter().collect();
    }

    /// The namespaces that have used up their quota of kept log lines, each with its limit.
    pub(in crate::engine) fn full_logs(&self) -> Vec<(String, i64)> {
        let inner = self.lock();
        let full = inner.kept.keys().filter_map(|name| {
            let limit = inner.quotas_of(name).log_bytes?;
            (inner.kept_log(name) >= limit).then(|| (name.clone(), limit))
        });
        full.collect()
    }

    /// Number of bytes of a namespace's log lines that this node has counted today.
    pub fn log_bytes(&self, namespace: &str, now: DateTime<Utc>) -> i64 {
        let day = now.timestamp_millis().div_euclid(DAY_MS);
        self.lock().log.get(namespace).map_or(0, |window| window.used(day))
    }

    /// Number of a namespace's fires that this node has started in the current minute.
    pub fn fires(&self, namespace: Uuid, now: DateTime<Utc>) -> i64 {
        let minute = now.timestamp_millis().div_euclid(MINUTE_MS);
        self.lock().fires.get(&namespace).map_or(0, |window| window.used(minute))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn quotas_of(&self, namespace: &str) -> Quotas {
        self.names.get(namespace).map_or(self.usual, |id| self.quotas(*id))
    }

    /// Takes up to `bytes` of what is left of a namespace's daily quota.
    /// Returns the number of bytes taken.
    fn take_day(&mut self, namespace: &str, bytes: i64, limit: i64, now: DateTime<Utc>) -> i64 {
        let day = now.timestamp_millis().div_euclid(DAY_MS);
        let window = match self.log.get_mut(namespace) {
            Some(window) => window,
            None => self.log.entry(namespace.to_owned()).or_default(),
        };
        window.take(day, bytes, limit)
    }

    /// Records bytes of log lines that this node writes.
    fn written(&mut self, namespace: &str, schedule_id: Option<Uuid>, bytes: i64) {
        let fresh = match self.fresh.get_mut(namespace) {
            Some(fresh) => fresh,
            None => self.fresh.entry(namespace.to_owned()).or_default(),
        };
        fresh.bytes += bytes;
        *fresh.by_schedule.entry(schedule_id).or_default() += bytes;
    }

    /// Size of a namespace's log lines, including those that this node has just written.
    fn kept_log(&self, namespace: &str) -> i64 {
        let kept = self.kept.get(namespace).copied().unwrap_or_default();
        kept + self.fresh.get(namespace).map_or(0, |fresh| fresh.bytes)
    }

    fn quotas(&self, namespace: Uuid) -> Quotas {
        self.own.get(&namespace).copied().unwrap_or_default().over(self.usual)
    }
}

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;

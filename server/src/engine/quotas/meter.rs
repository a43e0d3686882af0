use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::model::{OwnQuotas, Quotas};

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// This node's counts per namespace, against its quotas. Cheap to clone; clones share the counts. A
/// restart begins at zero, and each node counts only its own use.
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
    /// By namespace name, which is what attempts know.
    log: HashMap<String, MeterWindow>,
}

/// The count since the start of a minute or a day.
#[derive(Clone, Copy, Debug, Default)]
struct MeterWindow {
    number: i64,
    used: i64,
}

impl MeterWindow {
    /// Takes up to `wanted` units of what is left of `limit` in the window with this number.
    fn take(&mut self, number: i64, wanted: i64, limit: i64) -> i64 {
        if self.number != number {
            *self = Self { number, used: 0 };
        }
        let taken = wanted.min((limit - self.used).max(0));
        self.used += taken;
        taken
    }

    fn used(self, number: i64) -> i64 {
        if self.number == number { self.used } else { 0 }
    }
}

impl Meter {
    pub(in crate::engine) fn new(usual: Quotas) -> Self {
        Self { inner: Arc::new(Mutex::new(Inner { usual, ..Inner::default() })) }
    }

    /// Sets the namespaces' own quotas: id, name, quotas.
    pub(in crate::engine) fn set(&self, own: impl IntoIterator<Item = (Uuid, String, OwnQuotas)>) {
        let mut inner = self.lock();
        (inner.own, inner.names) = (HashMap::new(), HashMap::new());
        for (id, name, quotas) in own {
            inner.own.insert(id, quotas);
            inner.names.insert(name, id);
        }
    }

    /// The quotas of a namespace.
    pub fn quotas(&self, namespace: Uuid) -> Quotas {
        self.lock().quotas(namespace)
    }

    /// The quotas of namespaces without their own.
    pub(in crate::engine) fn usual(&self) -> Quotas {
        self.lock().usual
    }

    /// Counts fires of a namespace that should start; returns how many may.
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

    /// Counts a log line of a namespace; returns the quota as an error if it is used up.
    pub(in crate::engine) fn take_log(
        &self,
        namespace: &str,
        bytes: usize,
        now: DateTime<Utc>,
    ) -> Result<(), i64> {
        let mut inner = self.lock();
        let quotas = match inner.names.get(namespace).copied() {
            Some(id) => inner.quotas(id),
            None => inner.usual,
        };
        let Some(limit) = quotas.log_bytes_a_day else { return Ok(()) };
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let day = now.timestamp_millis().div_euclid(DAY_MS);
        let window = match inner.log.get_mut(namespace) {
            Some(window) => window,
            None => inner.log.entry(namespace.to_owned()).or_default(),
        };
        // Part of a line would be useless: the line that does not fit uses up the rest of the
        // quota.
        if window.take(day, bytes, limit) == bytes { Ok(()) } else { Err(limit) }
    }

    /// How many bytes of a namespace's log this node has counted today.
    pub fn log_bytes(&self, namespace: &str, now: DateTime<Utc>) -> i64 {
        let day = now.timestamp_millis().div_euclid(DAY_MS);
        self.lock().log.get(namespace).map_or(0, |window| window.used(day))
    }

    /// How many fires of a namespace this node has started this minute.
    pub fn fires(&self, namespace: Uuid, now: DateTime<Utc>) -> i64 {
        let minute = now.timestamp_millis().div_euclid(MINUTE_MS);
        self.lock().fires.get(&namespace).map_or(0, |window| window.used(minute))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn quotas(&self, namespace: Uuid) -> Quotas {
        self.own.get(&namespace).copied().unwrap_or_default().over(self.usual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    #[test]
    fn fires_are_counted_by_the_minute() {
        let id = Uuid::from_u128(1);
        let meter = Meter::new(Quotas { fires_a_minute: Some(5), ..Quotas::default() });
        assert_eq!(meter.take_fires(id, 3, at(1)), 3);
        assert_eq!(meter.take_fires(id, 3, at(59)), 2);
        assert_eq!(meter.take_fires(id, 3, at(59)), 0);
        assert_eq!(meter.fires(id, at(59)), 5);
        assert_eq!(meter.take_fires(id, 3, at(60)), 3);
        assert_eq!(meter.take_fires(Uuid::from_u128(2), 3, at(59)), 3, "of another namespace");
        let own = OwnQuotas { fires_a_minute: Some(0), ..OwnQuotas::default() };
        meter.set([(id, "shop".to_owned(), own)]);
        assert_eq!(meter.take_fires(id, 3_000, at(60)), 3_000);
    }

    #[test]
    fn a_line_that_does_not_fit_uses_the_quota_of_the_day_up() {
        let meter = Meter::new(Quotas { log_bytes_a_day: Some(10), ..Quotas::default() });
        assert_eq!(meter.take_log("shop", 7, at(0)), Ok(()));
        assert_eq!(meter.take_log("shop", 7, at(0)), Err(10));
        assert_eq!(meter.take_log("shop", 1, at(0)), Err(10));
        assert_eq!(meter.take_log("other", 1, at(0)), Ok(()));
        assert_eq!(meter.log_bytes("shop", at(0)), 10);
        assert_eq!(meter.take_log("shop", 1, at(86_400)), Ok(()));
        let own = OwnQuotas { log_bytes_a_day: Some(2), ..OwnQuotas::default() };
        meter.set([(Uuid::from_u128(1), "shop".to_owned(), own)]);
        assert_eq!(meter.take_log("shop", 2, at(86_400)), Err(2));
    }
}

//! Counts the engine's statements where they are sent to the database.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use carillon::store::Store;

use crate::spread::percentile;

/// The beginning of the statement that claims due schedules.
const CLAIM: &str = "SELECT id, namespace_id, version, expressions, zone";

/// Counts statements, except those that begin and end a transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statements {
    count: Arc<AtomicU64>,
    claims: Arc<Mutex<Vec<Duration>>>,
}

impl Statements {
    /// A store whose statements are counted from now on.
    pub(crate) fn watch(&self, store: &Store) -> Store {
        let seen = self.clone();
        store.clone().with_stopwatch(move |sql, took| {
            seen.count.fetch_add(1, Relaxed);
            if sql.starts_with(CLAIM) {
                seen.claims.lock().unwrap_or_else(PoisonError::into_inner).push(took);
            }
        })
    }

    /// Number of statements so far.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Discards the claims so far.
    pub(crate) fn forget_claims(&self) {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The 99th percentile of the claim statement, in milliseconds; 0 if there was none.
    pub(crate) fn claim_p99_ms(&self) -> f64 {
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner).clone();
        claims.sort_unstable();
        percentile(&claims, 99).unwrap_or_default().as_secs_f64() * 1_000.0
    }
}

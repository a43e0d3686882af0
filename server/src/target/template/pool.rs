//! Runs rendering on the blocking pool, away from the event loop. A deadline and a limit per
//! namespace keep any namespace from occupying all threads.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::Semaphore;

use super::filling::{self, Names};
use crate::{clock::Clock, target::Target};

/// Maximum number of targets of one namespace that are rendered at the same time on one node.
const MAX_AT_ONCE: usize = 2;

/// Maximum time for rendering one target, including the wait for its turn. A shorter timeout of the
/// task takes precedence.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Why a target was not rendered.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfilled {
    /// A template cannot be rendered.
    #[error("{0}")]
    Refused(String),
    /// Rendering took longer than the deadline.
    #[error("filling in its templates took longer than {} ms", .0.as_millis())]
    TooLong(Duration),
    /// The rendering thread panicked.
    #[error("filling in its templates broke down; this is a defect of Carillon, please report it")]
    Defect,
}

/// Limits the concurrent renderings of each namespace.
#[derive(Debug, Default)]
pub(in crate::target) struct Pool {
    turns: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// Stops the work when its caller is gone.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Pool {
    /// The target with its templates rendered, within the invocation's timeout.
    pub(in crate::target) async fn fill_in(
        &self,
        clock: &Clock,
        target: &Target,
        names: &Names<'_>,
    ) -> Result<Target, Unfilled> {
        let limit = names.invocation.timeout.min(MAX_TIME);
        let work = self.work(target, names);
        clock.timeout(limit, work).await.unwrap_or(Err(Unfilled::TooLong(limit)))
    }

    async fn work(&self, target: &Target, names: &Names<'_>) -> Result<Target, Unfilled> {
        let turns = self.turns(&names.invocation.namespace);
        // The semaphore is never closed, so this cannot fail.
        let turn = turns.acquire_owned().await.map_err(|_| Unfilled::Defect)?;
        let stop = Stop(Arc::default());
        let (target, names, stopped) = (target.clone(), names.json(), Arc::clone(&stop.0));
        let filled = tokio::task::spawn_blocking(move || {
            // The turn is held until the thread is free again, even if the caller is gone.
            let _turn = turn;
            filling::filled_in(target, names, stopped)
        });
        let filled = filled.await.map_err(|_| Unfilled::Defect)?;
        filled.map_err(|error| Unfilled::Refused(error.to_string()))
    }

    pub(super) fn turns(&self, namespace: &str) -> Arc<Semaphore> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        // A semaphore with further references is in use, so it is kept.
        turns.retain(|name, kept| name == namespace || Arc::strong_count(kept) > 1);
        let new = || Arc::new(Semaphore::new(MAX_AT_ONCE));
        Arc::clone(turns.entry(namespace.to_owned()).or_insert_with(new))
    }
}

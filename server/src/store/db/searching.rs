//! The time limit of database searches.
//!
//! A search may have no index. Then rows are compared one by one until a page is full, and if
//! hardly any row matches, that means all rows. So a search ends after a while with an error that
//! says how to narrow it, whether or not its caller is still waiting.
//!
//! PostgreSQL enforces the limit itself. SQLite calls a handler at intervals, which decides whether
//! to continue. The handler belongs to a connection, so searches on SQLite have connections of
//! their own, called lanes. As a second benefit, searches take no connections from other readers.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use sea_orm::{
    ConnectionTrait, DatabaseConnection, DbErr, EntityTrait, FromQueryResult, QueryTrait, Select,
    Statement, TransactionOptions,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use super::{error::code, primary::DatabaseLink, rows::KeyRow};
use crate::{
    clock::Clock,
    store::{Store, StoreError},
};

/// Maximum number of concurrent searches on SQLite.
pub(in crate::store) const LANES: usize = 2;
/// The approximate number of steps between two calls of SQLite's handler.
/// It is called every few tenths of a millisecond.
pub(in crate::store) const STEPS: i32 = 10_000;

/// The time limit, and the connections for searches.
#[derive(Clone, Debug)]
pub(in crate::store) struct Searching {
    limit: Duration,
    /// The connections for searches; `None` on PostgreSQL.
    lanes: Option<SearchLanes>,
}

/// The deadline of the statement on a connection. Clones share the deadline.
#[derive(Clone, Debug)]
pub(in crate::store) struct StatementDeadline {
    origin: Instant,
    nanos: Arc<AtomicU64>,
}

impl StatementDeadline {
    /// A deadline that has already passed.
    pub(in crate::store) fn new() -> Self {
        Self { origin: Clock::system().instant(), nanos: Arc::default() }
    }

    /// Sets the deadline to this time from now.
    fn allow(&self, time: Duration) {
        let until = self.origin.elapsed().saturating_add(time).as_nanos();
        self.nanos.store(u64::try_from(until).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Ends the current statement, because its caller no longer waits.
    fn end(&self) {
        self.nanos.store(0, Ordering::Relaxed);
    }

    /// Whether the statement may continue.
    pub(in crate::store) fn goes_on(&self) -> bool {
        self.origin.elapsed() < Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }
}

/// A connection that runs one search at a time.
#[derive(Clone, Debug)]
struct SearchLane {
    link: DatabaseLink,
    until: StatementDeadline,
}

#[derive(Clone, Debug)]
struct SearchLanes {
    free: Arc<Mutex<Vec<SearchLane>>>,
    places: Arc<Semaphore>,
}

/// A lane in use. Its user may return the lane before the search on it has ended.
struct Busy {
    lane: Option<SearchLane>,
    free: Arc<Mutex<Vec<SearchLane>>>,
    _place: OwnedSemaphorePermit,
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(lane) = self.lane.take() {
            lane.until.end();
            self.free.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
        }
    }
}

impl SearchLanes {
    async fn take(&self) -> Option<(SearchLane, Busy)> {
        let place = self.places.clone().acquire_owned().await.ok()?;
        let lane = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        let busy = Busy { lane: Some(lane.clone()), free: self.free.clone(), _place: place };
        Some((lane, busy))
    }
}

impl Searching {
    /// Searches on the connections for reading: the server enforces the limit.
    pub(in crate::store) fn by_server(limit: Duration) -> Self {
        Self { limit, lanes: None }
    }

    /// Searches on connections of their own, which check the deadline.
    pub(in crate::store) fn in_lanes(
        limit: Duration,
        lanes: Vec<(DatabaseConnection, StatementDeadline)>,
    ) -> Self {
        let places = Arc::new(Semaphore::new(lanes.len()));
        let lane =
            |(connection, until)| SearchLane { link: DatabaseLink::fixed(connection), until };
        let free = Arc::new(Mutex::new(lanes.into_iter().map(lane).collect()));
        Self { limit, lanes: Some(SearchLanes { free, places }) }
    }

    /// The same searches, with changed links to the same connections.
    pub(in crate::store) fn mapped(self, change: impl Fn(DatabaseLink) -> DatabaseLink) -> Self {
        if let Some(lanes) = &self.lanes {
            let mut free = lanes.free.lock().unwrap_or_else(PoisonError::into_inner);
            for lane in free.iter_mut() {
                lane.link = change(lane.link.clone());
            }
        }
        self
    }

    /// Closes the connections for searches.
    pub(in crate::store) async fn close(self) -> Result<(), DbErr> {
        let Some(lanes) = self.lanes else { return Ok(()) };
        let free = std::mem::take(&mut *lanes.free.lock().unwrap_or_else(PoisonError::into_inner));
        for lane in free {
            lane.link.close().await?;
        }
        Ok(())
    }
}

impl Store {
    /// The rows that a statement finds.
    /// If the statement is a search, the time limit of searches applies.
    pub(in crate::store) async fn found<M: FromQueryResult>(
        &self,
        statement: Statement,
        is_search: bool,
    ) -> Result<Vec<M>, StoreError> {
        let rows = M::find_by_statement(statement);
        if !is_search {
            return Ok(rows.all(self.read()).await?);
        }
        let limit = self.searching.limit;
        let too_long = || StoreError::SearchTooLong { limit };
        let Some(lanes) = &self.searching.lanes else {
            let tx = self.read().begin(TransactionOptions::default()).await?;
            // PostgreSQL would take 0 as no limit.
            let most = limit.as_millis().max(1);
            tx.execute_unprepared(&format!("SET LOCAL statement_timeout = {most}")).await?;
            let found = rows.all(&tx).await;
            tx.rollback().await?;
            return found.map_err(|error| if is_ended(&error) { too_long() } else { error.into() });
        };
        let taken = Clock::system().timeout(limit.max(MIN_WAIT), lanes.take()).await;
        let (lane, _busy) = taken.ok().flatten().ok_or_else(too_long)?;
        // After an abandoned search, this waits until that search has ended, which is soon.
        let tx = lane.link.begin(TransactionOptions::default()).await?;
        lane.until.allow(limit);
        let found = rows.all(&tx).await;
        tx.rollback().await?;
        found.map_err(|error| if is_ended(&error) { too_long() } else { error.into() })
    }

    /// The keys that a query of a column `id` finds, within the time limit of searches.
    pub(in crate::store) async fn found_keys<E: EntityTrait>(
        &self,
        query: Select<E>,
        is_search: bool,
    ) -> Result<Vec<Uuid>, StoreError> {
        let statement = query.build(self.dialect().backend());
        let rows: Vec<KeyRow> = self.found(statement, is_search).await?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }
}

/// The shortest time that a search waits for a lane.
const MIN_WAIT: Duration = Duration::from_secs(1);

/// Whether a statement was ended early, by PostgreSQL's
/// code `query_canceled` or SQLite's INTERRUPT.
fn is_ended(error: &DbErr) -> bool {
    matches!(code(error).as_deref(), Some("57014" | "9"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_continues_within_its_time_limit() {
        let until = StatementDeadline::new();
        assert!(!until.goes_on());
        until.allow(Duration::from_secs(3_600));
        assert!(until.clone().goes_on());
        until.end();
        assert!(!until.goes_on());
    }
}

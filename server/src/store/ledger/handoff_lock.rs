//! The lock between hand-offs and changes of schedules.
//!
//! Hand-offs share it, and a change that keeps schedules from firing as they did takes it for
//! itself, to be answered only when no run can start any more on what it has changed. Only
//! PostgreSQL has it: SQLite's one writer is one lock for all.

use sea_orm::ConnectionTrait;

use crate::store::{DatabaseTransaction, StoreError};

/// Names the advisory lock.
const NAME: i64 = 0x6361_7269_6861_6e64;

/// A change waits for the lock for so long at first, then for twice as long each time, up to the
/// ceiling, and lets others pass for as long in between: where many hand-offs are under way it
/// takes a longer wait to see the last of them off.
const FIRST_WAIT_MS: u32 = 50;
const LONGEST_WAIT_MS: u32 = 1_000;

/// Some twenty seconds of waiting and letting pass: longer than a transaction in which nothing is
/// said keeps its locks.
const TRIES: u32 = 13;

/// Takes a hand-off's share; until the transaction ends.
pub(in crate::store) async fn share(transaction: &DatabaseTransaction) -> Result<(), StoreError> {
    let lock = format!("SELECT pg_advisory_xact_lock_shared({NAME})");
    transaction.execute_unprepared(&lock).await?;
    Ok(())
}

/// Waits until the hand-offs that are under way have ended; until the transaction ends no other
/// begins.
///
/// PostgreSQL lets nobody share a lock that somebody waits to have alone. Behind one hand-off that
/// hangs, its node frozen or cut off, such a wait would hold up the hand-offs of all nodes: so it is
/// a short one, made again and again.
pub(in crate::store) async fn take(transaction: &DatabaseTransaction) -> Result<(), StoreError> {
    let lock = format!("SELECT pg_advisory_xact_lock({NAME})");
    let mut wait = FIRST_WAIT_MS;
    for tries_left in (0..TRIES).rev() {
        let begin = format!("SAVEPOINT before_lock; SET LOCAL lock_timeout = {wait}");
        transaction.execute_unprepared(&begin).await?;
        let error = match transaction.execute_unprepared(&lock).await {
            Ok(_) => return Ok(()),
            Err(error) => StoreError::from(error),
        };
        if tries_left == 0 || !error.is_lock_refused() {
            return Err(error);
        }
        let pass = format!(
            "ROLLBACK TO SAVEPOINT before_lock; RELEASE SAVEPOINT before_lock; \
             SELECT pg_sleep({wait} / 1000.0)"
        );
        transaction.execute_unprepared(&pass).await?;
        wait = (wait * 2).min(LONGEST_WAIT_MS);
    }
    Ok(())
}

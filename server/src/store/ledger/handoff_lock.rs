//! The lock between hand-offs and changes of schedules.
//!
//! Hand-offs hold it shared. A change that stops schedules from firing as before takes it
//! exclusively, so that it returns only when no run can start any more from the old state. Only
//! PostgreSQL needs it: on SQLite, the single writer already acts as that lock.

use sea_orm::ConnectionTrait;

use crate::store::{DatabaseTransaction, StoreError};

/// The id of the advisory lock.
const NAME: i64 = 0x6361_7269_6861_6e64;

/// How long a change first waits for the lock; doubled each time, up to the longest. In between, it
/// lets hand-offs pass for as long: with many hand-offs in progress, it takes a longer wait until
/// the last of them has ended.
const FIRST_WAIT_MS: u32 = 50;
const LONGEST_WAIT_MS: u32 = 1_000;

/// About twenty seconds of waiting and letting others pass: longer than an idle transaction can
/// keep its locks.
const TRIES: u32 = 13;

/// Takes a hand-off's share of the lock until the transaction ends.
pub(in crate::store) async fn share(transaction: &DatabaseTransaction) -> Result<(), StoreError> {
    let lock = format!("SELECT pg_advisory_xact_lock_shared({NAME})");
    transaction.execute_unprepared(&lock).await?;
    Ok(())
}

/// Waits until the hand-offs in progress have ended; no other one begins until the transaction
/// ends.
///
/// PostgreSQL grants no shared lock while an exclusive request is waiting. Behind a hand-off that
/// hangs because its node is frozen or cut off, such a request would hold up the hand-offs of all
/// nodes: so each wait is short, and repeated.
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

//! The lock between hand-offs and changes of schedules.
//!
//! Hand-offs hold this lock shared. A change that stops schedules from firing as before takes
//! it exclusively, so it does not return while a run can still start from the old state.
//! Only PostgreSQL needs the lock: on SQLite, the single writer already acts as one.

use sea_orm::ConnectionTrait;

use crate::store::{DatabaseTransaction, StoreError};

/// The id of the advisory lock.
const NAME: i64 = 0x6361_7269_6861_6e64;

/// How long a change first waits for the lock, and the longest wait.
/// The wait doubles each time, and between two waits the change lets hand-offs pass for as long.
/// The more hand-offs are in progress, the longer it must wait until the last of them has ended.
const FIRST_WAIT_MS: u32 = 50;
const LONGEST_WAIT_MS: u32 = 1_000;

/// Maximum number of waits. With the pauses between them they take about twenty seconds, which is
/// longer than an idle transaction can keep its locks.
const TRIES: u32 = 13;

/// Takes the lock for a hand-off, shared with others, until the transaction ends.
pub(in crate::store) async fn share(transaction: &DatabaseTransaction) -> Result<(), StoreError> {
    let lock = format!("SELECT pg_advisory_xact_lock_shared({NAME})");
    transaction.execute_unprepared(&lock).await?;
    Ok(())
}

/// Waits until the hand-offs in progress have ended.
/// No other hand-off begins before the transaction ends.
///
/// PostgreSQL grants no shared lock while an exclusive request is waiting. If a hand-off hangs
/// because its node is frozen or cut off, such a request would delay the hand-offs of all nodes.
/// So each wait is short, and is repeated.
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

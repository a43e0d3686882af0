//! Reasons to search for the primary: what errors reveal
//! about the server, and how the keeper is told.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr, sqlx};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A reason to search for the primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store) enum SuspicionReason {
    /// A regular check, because another server may have been promoted.
    Routine,
    /// An answer takes long, or no connection is free.
    Silence,
    /// The server rejects writes.
    ReadOnly,
    /// A connection broke, or a statement exceeded its time limit.
    Broken,
    /// The server does not answer on an idle connection,
    /// so other connections are probably dead, too.
    Deaf,
}

/// Tells the keeper that it should check the servers.
#[derive(Debug, Default)]
pub(super) struct Suspicion {
    reason: Mutex<Option<SuspicionReason>>,
    raised: Notify,
    /// The number of the pool in use. Reports about earlier pools are ignored.
    pub(super) generation: AtomicU64,
    /// Cancelled when the store is closed.
    pub(super) closed: CancellationToken,
    /// Notifies of each pool that replaces another one.
    pub(super) renewed: Arc<Notify>,
}

impl Suspicion {
    pub(super) fn raise(&self, reason: SuspicionReason, generation: u64) {
        if generation < self.generation.load(Ordering::Relaxed) {
            return;
        }
        let mut raised = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        *raised = (*raised).max(Some(reason));
        drop(raised);
        self.raised.notify_one();
    }

    /// Waits for the next reason.
    pub(super) async fn raised(&self) -> SuspicionReason {
        loop {
            if let Some(reason) = self.take() {
                return reason;
            }
            self.raised.notified().await;
        }
    }

    /// The more serious of `reason` and the reason raised so far, which is cleared.
    pub(super) fn graver(&self, reason: SuspicionReason) -> SuspicionReason {
        self.take().map_or(reason, |raised| raised.max(reason))
    }

    /// Takes and clears the reason raised so far.
    pub(super) fn take(&self) -> Option<SuspicionReason> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The error for callers that waited for a server that no longer answers.
pub(super) fn lost() -> DbErr {
    let error = io::Error::new(
        io::ErrorKind::ConnectionAborted,
        "the database does not answer; looking for its primary",
    );
    DbErr::Conn(RuntimeErr::SqlxError(Arc::new(sqlx::Error::Io(error))))
}

/// The reason to search for the primary that an error gives; `None` if it gives none.
pub(super) fn reason(error: &DbErr) -> Option<SuspicionReason> {
    if matches!(error, DbErr::ConnectionAcquire(ConnAcquireErr::Timeout)) {
        return Some(SuspicionReason::Silence);
    }
    let (DbErr::Conn(error) | DbErr::Exec(error) | DbErr::Query(error)) = error else {
        return None;
    };
    let RuntimeErr::SqlxError(error) = error else { return None };
    of_driver(error)
}

/// The reason to search for the primary that an error of the driver gives.
pub(in crate::store) fn of_driver(error: &sqlx::Error) -> Option<SuspicionReason> {
    match error.as_database_error() {
        Some(error) => of_code(error.code()?.as_ref()),
        None => matches!(
            error,
            sqlx::Error::Io(_)
                | sqlx::Error::Tls(_)
                | sqlx::Error::Protocol(_)
                | sqlx::Error::WorkerCrashed
        )
        .then_some(SuspicionReason::Broken),
    }
}

fn of_code(code: &str) -> Option<SuspicionReason> {
    match code {
        // The code read_only_sql_transaction: the server is a standby.
        "25006" => Some(SuspicionReason::ReadOnly),
        // The codes admin_shutdown, crash_shutdown and cannot_connect_now.
        "57P01" | "57P02" | "57P03" => Some(SuspicionReason::Broken),
        // The class connection_exception.
        code if code.starts_with("08") => Some(SuspicionReason::Broken),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_connection_is_a_reason_to_look_and_a_bad_statement_is_none() {
        assert_eq!(reason(&lost()), Some(SuspicionReason::Broken));
        assert_eq!(of_code("25006"), Some(SuspicionReason::ReadOnly));
        assert_eq!(of_code("57P01"), Some(SuspicionReason::Broken));
        for code in ["23505", "40001", "55P03", "42P01"] {
            assert_eq!(of_code(code), None, "{code}");
        }
        assert_eq!(reason(&DbErr::Custom("x".to_owned())), None);
    }

    #[tokio::test]
    async fn the_gravest_reason_is_kept() {
        let suspicion = Suspicion::default();
        suspicion.raise(SuspicionReason::Broken, 0);
        suspicion.raise(SuspicionReason::Silence, 0);
        assert_eq!(suspicion.raised().await, SuspicionReason::Broken);
        assert_eq!(suspicion.take(), None);
        suspicion.raise(SuspicionReason::Deaf, 0);
        assert_eq!(
            suspicion.graver(SuspicionReason::Silence),
            SuspicionReason::Deaf,
            "by the same look"
        );
        suspicion.raise(SuspicionReason::Silence, 0);
        assert_eq!(suspicion.graver(SuspicionReason::Broken), SuspicionReason::Broken);
        assert_eq!(suspicion.take(), None);
        suspicion.generation.store(1, Ordering::Relaxed);
        suspicion.raise(SuspicionReason::Broken, 0);
        assert_eq!(suspicion.take(), None, "of a pool that is replaced");
    }
}

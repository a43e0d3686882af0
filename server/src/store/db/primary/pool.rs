//! The connections to the current server, each for its purpose.

use sea_orm::{DatabaseConnection, sqlx::postgres::PgConnectOptions};
use tokio_util::sync::CancellationToken;

/// The connections that are in use now.
#[derive(Clone, Debug)]
pub(super) struct DatabasePool {
    pub(super) reading: DatabaseConnection,
    pub(super) writing: DatabaseConnection,
    /// A connection that nothing else uses; on SQLite, the connection that writes.
    pub(super) beating: DatabaseConnection,
    /// How to open another connection to the server; `None` on SQLite.
    pub(super) server: Option<PgConnectOptions>,
    /// Cancelled when this life of the server is given up.
    /// That notifies all callers that wait for the server.
    pub(super) lost: CancellationToken,
    /// The number of pools that existed before this one.
    pub(super) generation: u64,
}

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum ConnectionPurpose {
    Reading,
    Writing,
    /// Sends heartbeats, and reads which other nodes are alive.
    Beating,
}

impl DatabasePool {
    pub(super) fn connection(&self, purpose: ConnectionPurpose) -> &DatabaseConnection {
        match purpose {
            ConnectionPurpose::Reading => &self.reading,
            ConnectionPurpose::Writing => &self.writing,
            ConnectionPurpose::Beating => &self.beating,
        }
    }
}

/// The pool through which a statement was sent.
#[derive(Clone, Debug)]
pub(in crate::store) struct UsedPool {
    /// Cancelled when the server of the pool is given up.
    pub(in crate::store) lost: CancellationToken,
    pub(super) generation: u64,
}

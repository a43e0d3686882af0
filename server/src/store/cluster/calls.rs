//! Calls between nodes, sent with PostgreSQL's LISTEN and NOTIFY.
//!
//! Each node receives and sends calls on a connection of its own outside the pool,
//! because a pooled connection receives nothing while it is idle.
//! A call is committed without waiting for the disk, because it carries no data that must survive.
//!
//! The driver's listener reconnects on its own, but only after some errors, and does not report
//! which calls it missed.
//! So here every error ends the connection, and the caller opens another one and reads the tables.
//! A half-open connection causes no error: only a regular [`Wire::ping`] detects it.

use std::{sync::Arc, time::Duration};

use crate::{
    clock::Clock,
    store::{
        Store, StoreError,
        db::primary::{SuspicionReason, UsedPool, of_driver},
    },
};
use sea_orm::{
    DbErr, RuntimeErr,
    sqlx::{
        self,
        postgres::{PgListener, PgPoolOptions},
    },
};

/// The channel on which all nodes of one database listen.
const CHANNEL: &str = "carillon";

/// The connection's name in the server's list of sessions.
const SESSION: &str = "carillon calls";

/// How long the database server may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection that receives and sends calls.
#[derive(Debug)]
pub struct Wire {
    listener: PgListener,
    held: UsedPool,
    store: Store,
}

impl Store {
    /// Opens a connection for calls to the other nodes;
    /// `None` on SQLite, which serves only one process.
    pub async fn wire(&self) -> Result<Option<Wire>, StoreError> {
        let Some((server, held)) = self.read.server().await? else { return Ok(None) };
        let session = server
            .application_name(SESSION)
            .options([("synchronous_commit", "off"), ("client_min_messages", "warning")]);
        let open = async {
            let pool = PgPoolOptions::new()
                .max_connections(1)
                .max_lifetime(None)
                .idle_timeout(None)
                .acquire_timeout(PATIENCE)
                .connect_with(session)
                .await?;
            let mut listener = PgListener::connect_with(&pool).await?;
            listener.eager_reconnect(false);
            listener.listen(CHANNEL).await?;
            Ok(listener)
        };
        // A failure to open a new connection says nothing about existing ones.
        match Clock::system().timeout(PATIENCE * 2, open).await {
            Ok(Ok(listener)) => Ok(Some(Wire { listener, held, store: self.clone() })),
            Ok(Err(error)) => Err(broken(self, &held, of_driver(&error), error)),
            Err(_) => {
                Err(broken(self, &held, Some(SuspicionReason::Silence), sqlx::Error::PoolTimedOut))
            }
        }
    }
}

impl Wire {
    /// Waits for the next call, including this node's own. Dropping this future loses no call.
    pub async fn heard(&mut self) -> Result<String, StoreError> {
        let heard = tokio::select! {
            heard = self.listener.try_recv() => heard,
            // The reason was already logged when the connection was given up.
            () = self.held.lost.cancelled() => {
                return Err(broken(&self.store, &self.held, None, sqlx::Error::WorkerCrashed));
            }
        };
        match heard {
            Ok(Some(call)) => Ok(call.payload().to_owned()),
            Ok(None) => {
                let reason = Some(SuspicionReason::Broken);
                Err(broken(&self.store, &self.held, reason, sqlx::Error::WorkerCrashed))
            }
            Err(error) => Err(broken(&self.store, &self.held, of_driver(&error), error)),
        }
    }

    /// Sends a call to all nodes, including this one.
    pub async fn call(&mut self, text: &str) -> Result<(), StoreError> {
        let call = sqlx::query("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(text);
        let called = async { call.execute(&mut self.listener).await.map(|_| ()) };
        in_time(&self.store, &self.held, called).await
    }

    /// Checks that the connection is alive.
    pub async fn ping(&mut self) -> Result<(), StoreError> {
        let asked = async { sqlx::query("SELECT 1").execute(&mut self.listener).await.map(|_| ()) };
        in_time(&self.store, &self.held, asked).await
    }
}

async fn in_time<T>(
    store: &Store,
    held: &UsedPool,
    asked: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, StoreError> {
    match Clock::system().timeout(PATIENCE, asked).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(broken(store, held, of_driver(&error), error)),
        Err(_) => Err(broken(store, held, Some(SuspicionReason::Deaf), sqlx::Error::PoolTimedOut)),
    }
}

fn broken(
    store: &Store,
    held: &UsedPool,
    reason: Option<SuspicionReason>,
    error: sqlx::Error,
) -> StoreError {
    if let Some(reason) = reason {
        store.read.suspect(reason, held);
    }
    StoreError::Database(DbErr::Conn(RuntimeErr::SqlxError(Arc::new(error))))
}

//! What nodes call to each other, by PostgreSQL's LISTEN and NOTIFY.
//!
//! One connection of a node's own hears and calls. It is no part of the pool: a pooled connection
//! that listens would hear nothing while it lies in the pool. A call is committed without waiting
//! for the disk: it carries nothing that must survive.
//!
//! The driver's listener connects again by itself, but does so only after some errors, and keeps
//! silent about what it missed. So here every error ends the connection, and whoever uses it opens
//! another one and looks at the tables. A connection that is half open says nothing at all: that
//! takes a [`Wire::ping`] now and then.

use std::{sync::Arc, time::Duration};

use crate::{
    clock::Clock,
    store::{
        Store, StoreError,
        db::primary::{Held, Reason, of_driver},
    },
};
use sea_orm::{
    DbErr, RuntimeErr,
    sqlx::{
        self,
        postgres::{PgListener, PgPoolOptions},
    },
};

/// All nodes of one database hear it.
const CHANNEL: &str = "carillon";

/// What the connection is called in the server's list of sessions.
const SESSION: &str = "carillon calls";

/// The server has so long to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection that hears and calls.
#[derive(Debug)]
pub struct Wire {
    listener: PgListener,
    held: Held,
    store: Store,
}

impl Store {
    /// Opens a wire to the other nodes; none on SQLite, which serves one process.
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
        // That there is no connection to be had says nothing about those that there are.
        match Clock::system().timeout(PATIENCE * 2, open).await {
            Ok(Ok(listener)) => Ok(Some(Wire { listener, held, store: self.clone() })),
            Ok(Err(error)) => Err(broken(self, &held, of_driver(&error), error)),
            Err(_) => Err(broken(self, &held, Some(Reason::Silence), sqlx::Error::PoolTimedOut)),
        }
    }
}

impl Wire {
    /// Waits for the next call, this node's own included. Nothing is missed if it is not awaited to
    /// its end.
    pub async fn heard(&mut self) -> Result<String, StoreError> {
        let heard = tokio::select! {
            heard = self.listener.try_recv() => heard,
            // Whoever gave it up knows why.
            () = self.held.lost.cancelled() => {
                return Err(broken(&self.store, &self.held, None, sqlx::Error::WorkerCrashed));
            }
        };
        match heard {
            Ok(Some(call)) => Ok(call.payload().to_owned()),
            Ok(None) => {
                let reason = Some(Reason::Broken);
                Err(broken(&self.store, &self.held, reason, sqlx::Error::WorkerCrashed))
            }
            Err(error) => Err(broken(&self.store, &self.held, of_driver(&error), error)),
        }
    }

    /// Calls to all.
    pub async fn call(&mut self, text: &str) -> Result<(), StoreError> {
        let call = sqlx::query("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(text);
        let called = async { call.execute(&mut self.listener).await.map(|_| ()) };
        in_time(&self.store, &self.held, called).await
    }

    /// Whether the connection is alive.
    pub async fn ping(&mut self) -> Result<(), StoreError> {
        let asked = async { sqlx::query("SELECT 1").execute(&mut self.listener).await.map(|_| ()) };
        in_time(&self.store, &self.held, asked).await
    }
}

async fn in_time<T>(
    store: &Store,
    held: &Held,
    asked: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, StoreError> {
    match Clock::system().timeout(PATIENCE, asked).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(broken(store, held, of_driver(&error), error)),
        Err(_) => Err(broken(store, held, Some(Reason::Deaf), sqlx::Error::PoolTimedOut)),
    }
}

fn broken(store: &Store, held: &Held, reason: Option<Reason>, error: sqlx::Error) -> StoreError {
    if let Some(reason) = reason {
        store.read.suspect(reason, held);
    }
    StoreError::Database(DbErr::Conn(RuntimeErr::SqlxError(Arc::new(error))))
}

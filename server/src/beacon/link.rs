use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use redis::{
    AsyncConnectionConfig, Client, FromRedisValue, Pipeline, RedisError, aio::MultiplexedConnection,
};

use crate::config::RedisUrl;

/// One connection, which many callers may use at once. The first error closes it, and the next
/// heartbeat opens a new one. Until then, no caller waits for a server that is away.
pub(super) struct RedisLink {
    client: Client,
    address: String,
    patience: Duration,
    connection: Mutex<Option<MultiplexedConnection>>,
}

impl RedisLink {
    /// A link without a connection yet.
    pub(super) fn new(url: &RedisUrl, patience: Duration) -> Result<Self, RedisError> {
        let client = Client::open(url.expose())?;
        let address = url.address().to_owned();
        Ok(Self { client, address, patience, connection: Mutex::default() })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Whether there is a connection, as far as is known.
    pub(super) fn is_up(&self) -> bool {
        self.current().is_some()
    }

    /// Opens a connection.
    pub(super) async fn connect(&self, patience: Duration) -> Result<(), RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(patience))
            .set_response_timeout(Some(self.patience));
        let made = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        self.set(Some(made));
        Ok(())
    }

    /// Sends the commands together; returns their answers.
    pub(super) async fn ask<T: FromRedisValue>(
        &self,
        commands: &Pipeline,
    ) -> Result<T, RedisError> {
        let Some(mut connection) = self.current() else {
            return Err(std::io::Error::from(std::io::ErrorKind::NotConnected).into());
        };
        let answer = commands.query_async(&mut connection).await;
        if answer.is_err() {
            self.give_up();
        }
        answer
    }

    /// Stops using this connection.
    pub(super) fn give_up(&self) {
        self.set(None);
    }

    fn current(&self) -> Option<MultiplexedConnection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, connection: Option<MultiplexedConnection>) {
        *self.connection.lock().unwrap_or_else(PoisonError::into_inner) = connection;
    }
}
